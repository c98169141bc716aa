"""Draws in which floats have any order: decisions that differ where no drawn argument would show it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from shardc.compilation import lower
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.graph import Graph
from shardc.options import Options
from shardc.proof import arithmetic, values
from shardc.proof.any_order import AnyOrder
from shardc.proof.drawing import Run, doubted
from shardc.proof.draws import ANY_ORDER, EACH_ONCE, Draw
from shardc.proof.each_once import EachOnce
from shardc.proof.order import ordered
from shardc.proof.prove import Verdict, prove
from shardc.proof.reduced import reduced
from shardc.proof.report import lines

SHORT = 1 << 22
ORDER = AnyOrder(7, ((-2.0, 0.5), (0.5, 3.0), (0.5, 0.5)))


def _stack(count: int, layer: str, other: str = "", at: int = -1) -> str:
    weights = ", ".join(f"u{i}: f32[32, 64@y], d{i}: f32[64@y, 32]" for i in range(count))
    body = "".join(f"    {(other if i == at else layer).format(i=i)}\n" for i in range(count))
    body = body.replace("; ", "\n    ")
    types = f"x: f32[32, 32], {weights}"
    return f"mesh m[y=4]\ndef f({types}) -> f32[32, 32]:\n    x = tanh(x)\n{body}    return x * 2.0\n"


def _compiled(text: str) -> tuple[Graph, Graph]:
    module = read(text, "order.shard", {}, "f")
    return snapshot(module.clone()).graph, lower(module, Options(machine="bytes"))


WHERE = "h{i} = x @ u{i}; h{i} = where(h{i} > 0.5, h{i}, h{i} * 0.1); x = x * 0.9 + h{i} @ d{i} * 0.01"
CLIP = "h{i} = clip(x @ u{i} * 0.1, -20.0, 20.0); x = tanh(x * 0.9 + h{i} @ d{i} * 0.01)"
ROUND = "h{i} = round(x @ u{i} * 8.0) * 0.125; x = x * 0.9 + tanh(h{i} @ d{i}) * 0.5"
MAXIMUM = "m{i} = max(x[:, 0:32], 1, keepdims=True); x = tanh(x @ u{i}) @ d{i} * 0.5 + x * 0.5 - 0.25 * m{i}"
ABSOLUTE = "x = tanh(x @ u{i}) @ d{i} * 0.5 + where(abs(x) < 3.0, x * 0.5, x * 0.25 + 0.75)"
GREATEST = "x = x * 0.5 + where(max(x, 1, keepdims=True) > 0.0, tanh(x @ u{i}) @ d{i} * 0.01, 0.5)"

FAULTS = {
    "a threshold 0.001 off": (WHERE, "> 0.5", "> 0.501"),
    "or at the threshold": (WHERE, "> 0.5", ">= 0.5"),
    "a far clip": (CLIP, "20.0)", "21.0)"),
    "where a rounding goes on": (ROUND, "* 8.0)", "* 8.0 + 0.001)"),
    "a maximum over one too few": (MAXIMUM, "0:32", "0:31"),
    "a maximum with a number": (MAXIMUM, "0.25 * m{i}", "0.25 * maximum(m{i}, -9.0)"),
    "a threshold of a maximum": (GREATEST, "> 0.0", "> 0.002"),
    "a threshold of sizes": (ABSOLUTE, "< 3.0", "< 3.01"),
}


PLACES = [(fault, 6, 3) for fault in FAULTS] + [
    (fault, *p) for fault in [*FAULTS][:3] for p in [(4, 0), (14, 6)]
]


@pytest.mark.parametrize(("fault", "count", "at"), PLACES)
def test_a_decision_that_differs_in_one_layer(fault: str, count: int, at: int) -> None:
    layer, right, wrong = FAULTS[fault]
    whole, local = _compiled(_stack(count, layer))
    _, other = _compiled(_stack(count, layer, layer.replace(right, wrong), at))
    for most in (SHORT, None) if count == 4 else (SHORT,):
        proof = prove(whole, local, most=most)
        assert proof.verdict is Verdict.PROVED and ANY_ORDER in {draw.kind for draw in proof.draws}
        assert prove(whole, other, most=most).verdict is not Verdict.PROVED


def test_what_any_order_tells_apart_is_said() -> None:
    whole, _ = _compiled(_stack(4, WHERE))
    _, other = _compiled(_stack(4, WHERE, WHERE.replace("> 0.5", "> 0.501"), 1))
    (line,) = lines(prove(whole, other, most=SHORT))
    assert re.fullmatch(
        r"not proved: equal in \d+ draws, but not if floats had any other order: .*:[789]:.*", line
    )


LOOP = """
mesh m[y=4]
def f(x: f32[32, 32], ws: f32[9, 32, 32@y]) -> f32[32, 32]:
    for w in ws carrying x:
        h = x @ w * 0.1
        x = x * 0.9 + where(h > 0.5, h, tanh(h))
    return x
"""


@pytest.mark.parametrize("most", [SHORT, None])
def test_a_decision_that_differs_in_a_loop(most: int | None) -> None:
    whole, local = _compiled(LOOP)
    assert prove(whole, local, most=most).verdict is Verdict.PROVED
    assert (
        prove(whole, _compiled(LOOP.replace("> 0.5", "> 0.501"))[1], most=most).verdict is not Verdict.PROVED
    )


def test_a_choice_among_right_values_that_is_the_result() -> None:
    """No value of the wrong program is one that the other does not have."""
    body = "where(max(x, 1, keepdims=True) > 0.0, x, 0.0)"
    text = f"mesh m[y=4]\ndef f(x: f32[32@y, 8]) -> f32[32@y, 8]:\n    return {body}\n"
    proof = prove(_compiled(text)[0], _compiled(text.replace("> 0.0", "> 1e-5"))[1], most=SHORT)
    assert proof.verdict is not Verdict.PROVED and "select at order.shard:3:" in "\n".join(lines(proof))


def _drawn(*shape: int) -> np.ndarray:
    return values.draw(np.random.default_rng(1), shape, np.ones(shape))


def test_literals_are_where_they_are_and_others_anywhere() -> None:
    drawn = _drawn(400)
    places, _ = ORDER.places(drawn)
    opposite, _ = ORDER.places(arithmetic.negate(drawn))
    assert (places == -opposite).all() and (places < -0.5).any() and (places > 0.5).any()
    assert (places == 0.5).sum() > 20
    assert ORDER.places(values.whole(np.array([0.25, 7.0])))[0].tolist() == [0.25, 7.0]


def test_a_maximum_is_of_all_that_it_is_taken_of() -> None:
    """In any order, at the place of the greatest, and but for what cannot be the greatest."""
    a, b, c = _drawn(3, 50)
    mask, infinity = values.whole(np.array(-1e9)), values.whole(np.array(-np.inf))
    for function in (arithmetic.maximum, arithmetic.minimum):
        with ordered(ORDER):
            one = function(function(a, b), c)
            other = function(c, function(b, a))
            assert values.same(one, other).all() and not values.same(one, function(a, b)).any()
            assert values.same(function(one, one), one).all()
            winners = [arithmetic.compare(each, one, "EQ") for each in (a, b, c)]
            assert np.logical_or.reduce(winners).all() and not np.logical_and.reduce(winners).any()
    with ordered(ORDER):
        assert values.same(arithmetic.maximum(arithmetic.maximum(a, mask), infinity), a).all()
        assert values.same(
            arithmetic.maximum(arithmetic.negate(a), arithmetic.negate(b)),
            arithmetic.negate(arithmetic.minimum(a, b)),
        ).all()


ARGMAX = """
mesh m[y=4]
def f(x: f32[16, 64@y], m: f32[16, 64@y]) -> (i32[16], f32[16]):
    z = where(m > 0.0, x, -1e9)
    return argmax(z, 1), max(z, 1)
"""


def test_what_is_right_is_so_in_any_order() -> None:
    proof = prove(*_compiled(ARGMAX))
    assert proof.verdict is Verdict.PROVED and ANY_ORDER in {draw.kind for draw in proof.draws}


TWICE = """
mesh m[y=4]
def f(x: f32[16@y, 8], u: f32[16@y, 8]) -> f32[8]:
    return max(x, 0) + {}
"""


def test_a_maximum_may_be_taken_of_a_value_twice() -> None:
    """As where every device begins with the same elements; of another value it may not."""
    whole, _ = _compiled(TWICE.format("max(maximum(x, u), 0)"))
    _, twice = _compiled(TWICE.format("max(maximum(maximum(x, u), max(x, 0, keepdims=True)), 0)"))
    _, other = _compiled(TWICE.format("max(maximum(maximum(x, u), max(u[:4], 0, keepdims=True)), 0)"))
    _, wrong = _compiled(TWICE.format("max(maximum(maximum(x, 0.5 * u), max(x, 0, keepdims=True)), 0)"))
    proof = prove(whole, twice)
    assert proof.verdict is Verdict.PROVED and EACH_ONCE in {draw.kind for draw in proof.draws}, proof.reason
    assert prove(whole, other).verdict is Verdict.PROVED
    assert prove(whole, wrong).verdict is Verdict.DIFFERS


def test_values_that_are_joined_again() -> None:
    """The least is of the different values, too, and of the least literal."""
    a, b, c = _drawn(3, 50)
    half, one = values.whole(np.array(0.5)), values.whole(np.array(1.0))
    for function, number in ((arithmetic.maximum, one), (arithmetic.minimum, half)):
        with ordered(EachOnce(7, ORDER.intervals)):
            left = function(function(function(a, b), half), function(function(c, a), one))
            right = function(function(a, function(b, c)), number)
            assert values.same(left, right).all()
            assert values.same(function(left, a), left).all()
            assert not values.same(left, function(function(a, b), number)).any()


def test_a_suspicion_that_no_draw_allays() -> None:
    """What differs in any order is doubted where the draws that would say more are none."""
    whole, local = _compiled(TWICE.format("max(x, 0)"))
    run = Run(reduced(whole, local), whole, 3, [ANY_ORDER])
    doubted(run, Draw(1, ANY_ORDER), "here")
    assert run.kinds[0] == EACH_ONCE and run.doubt is None and run.doubts() == "here"
    run.draws.append(Draw(2, EACH_ONCE))
    assert run.doubts() is None
