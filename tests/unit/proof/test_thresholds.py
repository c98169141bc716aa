"""Decisions at literals: where they change in either program, and draws between those of both."""

from __future__ import annotations

import pytest

from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.graph import Graph
from shardc.proof.prove import Verdict, prove
from shardc.proof.thresholds import thresholds

SHORT = 1 << 22


def _program(value: str) -> Graph:
    text = f"mesh m[x=2]\ndef main(a: f32[8@x, 8], b: f32[8@x, 8]) -> f32[8@x, 8]:\n    return {value}\n"
    return snapshot(read(text, "test.shard", {}, "main")).graph


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ("where(a > 0.5, a, b)", {0.5}),
        ("where(0.5 > 2.0 * (a - 1.0), a, b)", {1.25}),
        ("where(3.0 / -a < 4.0, a, b)", {-0.75}),
        ("where(transpose(exp(a)) < 1.0, a, b)", {0.0}),
        ("where(sum(a) < 0.25, a, b)", {0.25}),
        ("clip(a, -1.0, 0.5)", {-1.0, 0.5}),
        ("floor(a * 4.0)", {0.0, 0.25}),
        ("round(a + 1.0)", {-0.5, 0.5}),
        ("where(exp(a) < -1.0, a, b)", set()),
        ("where(a > -1e9, a, b)", set()),
        ("where(a > b, a * 2.0, b)", set()),
    ],
)
def test_where_decisions_change(value: str, where: set[float]) -> None:
    graph = _program(value)
    found = thresholds(graph, graph)
    ends = {end for interval in found.intervals for end in interval}
    assert ends >= where and len(ends) == len(where) + 2 * bool(where)
    assert not found.differ


def test_a_point_is_drawn_where_both_are_exact() -> None:
    graph, other = _program("where(a > 0.5, a, b)"), _program("where(a * 2.0 < 1.0, b, a)")
    assert (0.5, 0.5) in thresholds(graph, other).intervals
    third = _program("where(sqrt(a) < 0.25, a, b)")
    assert not any(low == high for low, high in thresholds(third, third).intervals)


def test_constants_that_are_rounded_are_one() -> None:
    """1 / 3 in f32 beside the quotient, as two ways to the same program have them."""
    found = thresholds(_program("where(a > 0.33333334, a, b)"), _program("where(a * 3.0 > 1.0, a, b)"))
    assert not found.differ and len(found.intervals) == 2


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("where(a > 0.5, a, b)", "where(a > 0.5001, a, b)"),
        ("where(a < 100.0, a, b)", "where(a < 101.0, a, b)"),
        ("floor(a * 10.0)", "floor(a * 10.0 + 0.0001)"),
        ("clip(a, -1.0, 0.5)", "clip(a, -1.0, 0.5001)"),
        ("where(max(a, 1, keepdims=True) > 0.5, a, b)", "where(max(a, 1, keepdims=True) > 0.501, a, b)"),
    ],
)
def test_short_proofs_tell_them_apart(right: str, wrong: str) -> None:
    assert prove(_program(right), _program(wrong), most=SHORT).verdict is Verdict.DIFFERS
    proof = prove(_program(right), _program(right), most=SHORT)
    assert proof.verdict is Verdict.PROVED and "thresholds" not in {draw.kind for draw in proof.draws}
