"""Arithmetic modulo p against Python's integers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardc.proof import field
from shardc.proof.field import PRIME

residues = st.integers(0, PRIME - 1) | st.sampled_from([0, 1, 2, PRIME - 1, 1 << 31, (1 << 31) - 1, 1 << 60])
lists = st.lists(st.tuples(residues, residues), min_size=1, max_size=8)


def _arrays(pairs: list[tuple[int, int]]) -> list[np.ndarray]:
    return [np.array(side, np.uint64) for side in zip(*pairs, strict=True)]


@given(lists)
def test_operations(pairs: list[tuple[int, int]]) -> None:
    a, b = _arrays(pairs)
    assert field.add(a, b).tolist() == [(x + y) % PRIME for x, y in pairs]
    assert field.subtract(a, b).tolist() == [(x - y) % PRIME for x, y in pairs]
    assert field.multiply(a, b).tolist() == [x * y % PRIME for x, y in pairs]
    assert field.negate(a).tolist() == [-x % PRIME for x, _ in pairs]
    assert field.inverse(a).tolist() == [pow(x, PRIME - 2, PRIME) for x, _ in pairs]
    assert int(field.total(a, [0])) == sum(x for x, _ in pairs) % PRIME


@given(st.integers(0, 200), st.integers(0, 2**32))
def test_inverses_of_many_elements(count: int, seed: int) -> None:
    a = field.random(np.random.default_rng(seed), (count, 3))
    a[:: 1 + seed % 7, 1] = 0
    found = field.multiply(a, field.inverse(a))
    assert found.shape == a.shape and (found == (a != 0)).all()


@given(residues, st.integers(-200, 200))
def test_rotation_multiplies_by_a_power_of_two(a: int, count: int) -> None:
    (found,) = field.rotate(np.array([a], np.uint64), count)
    assert int(found) == a * pow(2, count, PRIME) % PRIME


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_are_the_fractions_that_they_are(value: float) -> None:
    exact = Fraction(value)
    wanted = exact.numerator * pow(exact.denominator, -1, PRIME) % PRIME
    assert int(field.of_floats(np.array([value]))[0]) == wanted
    assert int(field.of_float(value)) == wanted
    with field.modulo(60):
        assert field.of_float(value) == field.of_floats(np.array([value]))[0]


@pytest.mark.filterwarnings("error")
@given(residues, residues)
def test_single_elements_wrap_around_without_warnings(a: int, b: int) -> None:
    left, right = np.asarray(a, np.uint64), np.asarray(b, np.uint64)
    assert int(field.add(left, right)) == (a + b) % PRIME
    assert int(field.subtract(left, right)) == (a - b) % PRIME
    assert int(field.negate(left)) == -a % PRIME
    assert int(field.hashed(3, [left])) == int(field.hashed(3, [left.reshape(1)])[0])


@given(st.integers(-(2**63), 2**63 - 1))
def test_integers(value: int) -> None:
    assert int(field.of_integers(np.array([value], np.int64))[0]) == value % PRIME


@given(residues, st.sampled_from([16, 21]))
def test_limbs_are_digits(a: int, bits: int) -> None:
    digits = field.limbs(np.array([a], np.uint64), bits)
    assert sum(int(digit[0]) << (bits * place) for place, digit in enumerate(digits)) == a


def test_random_functions_differ_by_key_and_argument() -> None:
    x = np.arange(1000, dtype=np.uint64)
    one, two = field.hashed(1, [x]), field.hashed(2, [x])
    assert len(set(one.tolist())) == 1000
    assert not np.intersect1d(one, two).size
    assert field.hashed(1, [x]).tolist() == one.tolist()
