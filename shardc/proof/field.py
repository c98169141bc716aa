"""Arithmetic modulo the Mersenne prime p = 2^61 - 1, on arrays of uint64 whose elements are below p.

2^61 is 1 modulo p, so a factor of 2^k is a rotation of 61 bits, and a product of 122 bits folds in two.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from math import frexp, ldexp
from typing import Any

import numpy as np
from numpy.typing import NDArray

Residues = NDArray[np.uint64]

BITS = 61
PRIME = (1 << BITS) - 1

MOST = 1e-6
"""The chance of a miss above which nothing is proved."""

_U = np.uint64
_LOW31, _LOW32 = _U((1 << 31) - 1), _U((1 << 32) - 1)


class _Modulus:
    """What residues are taken modulo: 2^bits - 1."""

    def __init__(self, bits: int) -> None:
        self.bits, self.at, self.number = bits, _U(bits), _U((1 << bits) - 1)
        self.middle, self.low = _U(bits - 31), _U((1 << (bits - 31)) - 1)


_now = _Modulus(BITS)


@contextmanager
def modulo(bits: int) -> Generator[None]:
    """Compute modulo 2^bits - 1 inside; what is no field has no inverses."""
    global _now
    before, _now = _now, _Modulus(bits)
    try:
        yield
    finally:
        _now = before


def fold(wide: Residues) -> Residues:
    """Any uint64 modulo p."""
    below = wide & _now.number
    below += wide >> _now.at
    return _below(below)


def _below(residues: Residues) -> Residues:
    """Numbers below 2p modulo p: what is less than p becomes greater by wrapping around, of which functions
    say nothing, while operators warn where there is one element.
    """
    less = np.subtract(residues, _now.number)
    return np.minimum(residues, less, out=less if less.ndim else None)


def add(a: Residues, b: Residues) -> Residues:
    """a + b."""
    return _below(a + b)


def negate(a: Residues) -> Residues:
    """-a."""
    return _below(_now.number - a)


def subtract(a: Residues, b: Residues) -> Residues:
    """a - b."""
    return _below(a + (_now.number - b))


def multiply(a: Residues, b: Residues) -> Residues:
    """a * b, by halves of 31 bits; no partial sum reaches 2^64."""
    a1, a0, b1, b0 = a >> _U(31), a & _LOW31, b >> _U(31), b & _LOW31
    middle = a1 * b0
    middle += a0 * b1
    total = a1 * b1
    total <<= _U(62 - _now.bits)
    total += middle >> _now.middle
    middle &= _now.low
    middle <<= _U(31)
    total += middle
    total += a0 * b0
    return fold(total)


def rotate(a: Residues, count: NDArray[Any] | int) -> Residues:
    """a * 2^count; a count below zero divides. The bits of a go round, so the result is below p too."""
    bits = _now.bits
    by = (
        _U(count % bits) if isinstance(count, int) else (np.asarray(count, np.int64) % bits).astype(np.uint64)
    )
    return ((a << by) & _now.number) | (a >> (_U(bits) - by))


def inverse(a: Residues) -> Residues:
    """1 / a; of 0 it is 0, which is no inverse.

    Products of pairs are inverted, and theirs in turn, so that an element costs three products (Montgomery,
    "Speeding the Pollard and elliptic curve methods of factorization", 1987).
    """
    if a.size and bool((a == a.reshape(-1)[0]).all()):
        one = int(a.reshape(-1)[0])
        return np.full_like(a, pow(one, -1, PRIME) if one else 0)
    zero = a == 0
    elements, levels = np.where(zero, _U(1), a).reshape(-1), list[Residues]()
    while elements.size > _FEW:
        if elements.size % 2:
            elements = np.append(elements, _U(1))
        levels.append(elements)
        elements = multiply(elements[0::2], elements[1::2])
    found = np.array([pow(element, -1, PRIME) for element in elements.tolist()], np.uint64)
    for level in reversed(levels):
        pairs = np.empty_like(level)
        pairs[0::2] = multiply(found[: level.size // 2], level[1::2])
        pairs[1::2] = multiply(found[: level.size // 2], level[0::2])
        found = pairs
    return np.where(zero, _U(0), found[: zero.size].reshape(zero.shape))


_FEW = 32
"""So few elements are inverted one by one."""


def total(a: Residues, axes: Sequence[int]) -> Residues:
    """The sum over the axes, of at most 2^31 elements."""
    low = np.add.reduce(a & _LOW32, axis=tuple(axes), dtype=np.uint64)
    high = np.add.reduce(a >> _U(32), axis=tuple(axes), dtype=np.uint64)
    return add(fold(low), rotate(fold(high), 32))


def of_integers(values: NDArray[Any]) -> Residues:
    """Integers and truth values of any width."""
    if values.dtype.kind in "ub":
        return fold(values.astype(np.uint64))
    wide = values.astype(np.int64)
    size = fold(np.where(wide < 0, -wide, wide).view(np.uint64))
    return np.where(wide < 0, negate(size), size)


def of_floats(values: NDArray[np.float64]) -> Residues:
    """Finite floats as the rational numbers m * 2^e that they are."""
    mantissa, exponent = np.frexp(values)
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    return rotate(of_integers(whole), exponent.astype(np.int64) - 53)


def of_float(value: float) -> np.uint64:
    """One finite float, as of_floats has it."""
    mantissa, exponent = frexp(value)
    return _U(int(ldexp(mantissa, 53)) * (1 << (exponent - 53) % _now.bits) % int(_now.number))


def limbs(a: Residues, bits: int) -> list[NDArray[np.float64]]:
    """The digits in base 2^bits, lowest first, as floats."""
    mask = _U((1 << bits) - 1)
    return [((a >> _U(at)) & mask).astype(np.float64) for at in range(0, _now.bits, bits)]


def of_limb_sums(sums: NDArray[np.float64], at: int) -> Residues:
    """Whole numbers below 2^53, times 2^at."""
    return rotate(fold(sums.astype(np.uint64)), at)


def distinct(a: Residues) -> Residues:
    """The sorted residues, each once. np.unique hashes them, which takes ten times as long for millions."""
    found = np.sort(a, axis=None)
    return found[np.append(True, found[1:] != found[:-1])[: found.size]]


def random(rng: np.random.Generator, shape: tuple[int, ...]) -> Residues:
    """Uniform elements."""
    return fold(rng.integers(0, PRIME, shape, np.uint64))


def key_of(*parts: object) -> int:
    """64 bits that stand for a function's name, its attributes and the draw."""
    return int.from_bytes(blake2b(repr(parts).encode(), digest_size=8).digest(), "little")


def hashed(key: int, arguments: Sequence[Residues]) -> Residues:
    """A random function, drawn with the key, of the arguments at each place.

    Each argument goes through SplitMix64's finaliser (Steele, Lea and Flood, 2014) twice.
    """
    state = np.asarray(key, np.uint64)
    for argument in arguments:
        state = _mixed(np.add(_mixed(state ^ argument), _U(key | 1)))
    return fold(np.asarray(state) >> _U(3))


def _mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Functions, since what wraps around is no matter of warnings."""
    state = np.add(state, _GOLDEN)
    state = np.multiply(state ^ (state >> _30), _FIRST)
    state = np.multiply(state ^ (state >> _27), _SECOND)
    return state ^ (state >> _31)


_GOLDEN, _FIRST, _SECOND = map(_U, (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
_27, _30, _31 = map(_U, (27, 30, 31))
