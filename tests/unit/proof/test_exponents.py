"""The law of exp: ring attention, with a maximum that grows block by block, is proved equal to attention."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.dialects.text import print_module
from shardc.frontend.text import read
from shardc.graph import Graph
from shardc.passes.pipeline import run_to
from shardc.proof import field
from shardc.proof.certificate import LOCAL, certificate
from shardc.proof.check import Refused, check
from shardc.proof.exponents import FACTORS, meeting, power_of_h
from shardc.proof.prove import Proof, Verdict, prove
from shardc.proof.report import lines

RING = """
mesh ring[r=4]
size S = 32, D = 8

def plain(q: f32[S@r, D], k: f32[S@r, D], v: f32[S@r, D]) -> f32[S@r, D]:
    return softmax(q @ transpose(k) / 8.0, 1) @ v

@shard_map
def main(q: f32[S@r, D], k: f32[S@r, D], v: f32[S@r, D]) -> f32[S@r, D]:
    s = q @ transpose(k) * 0.125
    m = max(s, 1, keepdims=True)
    p = exp(s - m)
    l = sum(p, 1, keepdims=True)
    acc = p @ v
    for i in range(3) carrying k, v, m, l, acc:
        k = ppermute(k, "r", perm=[(0, 1), (1, 2), (2, 3), (3, 0)])
        v = ppermute(v, "r", perm=[(0, 1), (1, 2), (2, 3), (3, 0)])
        s = q @ transpose(k) * 0.125
        new = maximum(m, max(s, 1, keepdims=True))
        p = exp(s - new)
        scale = exp(m - new)
        l = l * scale + sum(p, 1, keepdims=True)
        acc = acc * scale + p @ v
        m = new
    return acc / l
"""
DOUBLE = RING.replace("return acc / l", "return exp(acc / l)").replace(
    "return softmax(q @ transpose(k) / 8.0, 1) @ v", "return exp(softmax(q @ transpose(k) / 8.0, 1) @ v)"
)


@cache
def _compiled(text: str) -> tuple[Graph, Graph, tuple[str, str]]:
    plain, ring = (read(text, "test.shard", {}, entry) for entry in ("plain", "main"))
    first, whole = print_module(plain), snapshot(plain).graph
    run_to(make_context(), ring, "local")
    return whole, snapshot(ring).graph, (first, print_module(ring))


def _proof(text: str) -> Proof:
    return prove(*_compiled(text)[:2])


def test_ring_attention_is_proved() -> None:
    proof = _proof(RING)
    assert proof.verdict is Verdict.PROVED and proof.law, proof.reason
    assert "exp(a + b) = exp(a) exp(b)" in lines(proof)[0]


FAULTS = {
    "the own block alone": ("range(3)", "range(0)"),
    "a block twice": ("range(3)", "range(4)"),
    "values that go the other way": ('v = ppermute(v, "r", perm=[(0, 1), (1, 2), (2, 3), (3, 0)])',
                                     'v = ppermute(v, "r", perm=[(1, 0), (2, 1), (3, 2), (0, 3)])'),
    "sums that are not scaled": ("l = l * scale", "l = l"),
    "results that are not scaled": ("acc = acc * scale", "acc = acc"),
    "a scale the other way": ("scale = exp(m - new)", "scale = exp(new - m)"),
    "a maximum that is not kept": ("        m = new\n", ""),
    "another temperature": ("transpose(k) * 0.125\n        new", "transpose(k) * 0.25\n        new"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_faults_differ(name: str) -> None:
    right, wrong = FAULTS[name]
    assert right in RING
    assert _proof(RING.replace(right, wrong)).verdict is Verdict.DIFFERS


def test_an_exp_of_what_needs_the_law_is_not_proved() -> None:
    """The results agree as arguments of a function; as exponents there is no law of them."""
    assert _proof(DOUBLE).verdict is Verdict.NOT_PROVED


def test_certificates_by_the_law_hold() -> None:
    whole, local, texts = _compiled(RING)
    claimed = certificate((prove(whole, local), texts, LOCAL))
    assert check(*texts, claimed).chance < 1e-6
    with pytest.raises(Refused):
        check(*texts, claimed.replace('"law_of_exp": true', '"law_of_exp": false'))


LOGARITHM = (
    RING.replace(
        "    return softmax(q @ transpose(k) / 8.0, 1) @ v",
        "    return log(sum(exp(q @ transpose(k) / 8.0), 1)) * 2.0",
    )
    .replace("return acc / l", "return (m + log(l))[:, 0] * 2.0")
    .replace("-> f32[S@r, D]", "-> f32[S@r]")
)


def test_the_logarithm_of_a_sum_of_exponentials_is_compared_as_a_pair() -> None:
    """The running maximum and sum of ring attention, beside the sum without a maximum."""
    whole, local, texts = _compiled(LOGARITHM)
    proof = prove(whole, local)
    assert proof.verdict is Verdict.PROVED and proof.law, proof.reason
    assert check(*texts, certificate((proof, texts, LOCAL))).chance < 1e-6


WAYS = {
    "a sum": ("l + m", Verdict.PROVED),
    "two sums": ("(l + m * 2.0) - m", Verdict.PROVED),
    "a difference": ("-((0.0 - m) - l)", Verdict.PROVED),
    "a difference from the logarithm": ("l - (0.0 - m)", Verdict.PROVED),
    "half of the maximum": ("l + m * 0.5", Verdict.DIFFERS),
    "the maximum taken away": ("l - m", Verdict.DIFFERS),
    "another logarithm": ("m + l * 0.5", Verdict.DIFFERS),
    "laws of products of logarithms": ("m + 0.5 * log(s * s)", Verdict.NOT_PROVED),
}
PLAIN = """mesh m[x=4]
def plain(x: f32[8@x, 16]) -> f32[8, 16]:
    return x - log(sum(exp(x), 1))[:, None]

def main(x: f32[8@x, 16]) -> f32[8, 16]:
    m = max(x, 1)
    s = sum(exp(x - m[:, None]), 1)
    l = log(s)
    return x - (WAY)[:, None]
"""


@pytest.mark.parametrize("way", WAYS)
def test_ways_to_add_a_maximum_to_a_logarithm(way: str) -> None:
    text, verdict = WAYS[way]
    proof = _proof(PLAIN.replace("WAY", text))
    assert proof.verdict is verdict, proof.reason
    assert proof.law == (verdict is Verdict.PROVED)


@pytest.mark.parametrize(
    "name", ["the own block alone", "sums that are not scaled", "a maximum that is not kept"]
)
def test_faults_in_a_logarithm_differ(name: str) -> None:
    right, wrong = FAULTS[name]
    assert _proof(LOGARITHM.replace(right, wrong)).verdict is Verdict.DIFFERS


@given(st.lists(st.tuples(*[st.integers(0, 2**60 - 2)] * 2), min_size=1, max_size=5))
def test_powers_turn_sums_into_products(pairs: list[tuple[int, int]]) -> None:
    a, b = (np.array(side, np.uint64) for side in zip(*pairs, strict=True))
    with field.modulo(60):
        total = field.add(a, b)
    assert total.tolist() == [(x + y) % (2**60 - 1) for x, y in pairs]
    assert power_of_h(total).tolist() == field.multiply(power_of_h(a), power_of_h(b)).tolist()


@given(st.lists(st.tuples(*[st.integers(0, 2**60 - 2)] * 2), min_size=1, max_size=5), st.integers(-99, 99))
def test_arithmetic_modulo_the_order(pairs: list[tuple[int, int]], count: int) -> None:
    order = 2**60 - 1
    a, b = (np.array(side, np.uint64) for side in zip(*pairs, strict=True))
    with field.modulo(60):
        assert field.multiply(a, b).tolist() == [x * y % order for x, y in pairs]
        assert field.subtract(a, b).tolist() == [(x - y) % order for x, y in pairs]
        assert field.rotate(a, count).tolist() == [x * pow(2, count, order) % order for x, _ in pairs]
        assert int(field.total(a, [0])) == sum(x for x, _ in pairs) % order
    assert field.add(a, b).tolist() == [(x + y) % field.PRIME for x, y in pairs]


def test_the_order_and_the_chance_that_exponents_meet() -> None:
    product = 1
    for factor in FACTORS:
        product *= factor
    assert product == 2**60 - 1
    assert meeting(1) < 1e-15 and meeting(4) < 1e-9 and meeting(10**6) == 1
