"""Draws in which the per-device program alone cannot decide: what they may say, and what they may not."""

from __future__ import annotations

import numpy as np
import pytest

from shardc.compilation import lower
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.graph import Graph
from shardc.options import Options
from shardc.proof import arithmetic, values
from shardc.proof.lost import LostLast
from shardc.proof.order import order, ordered, signs
from shardc.proof.prove import Verdict, prove
from shardc.proof.values import DrawAgain
from shardc.semantics.arrays import Array

HEAD = "mesh m[y=4]\ndef f(x: f32[4, 16@y]) -> f32[4, 16@y]:\n"
MASKED = """    s = where(arange(16) < 12, x, -1e9)
    e = exp(s - {greatest})
    p = e / sum(e, 1, keepdims=True)
    return p + max(p, 1, keepdims=True)
"""
GREATEST = "max(s, 1, keepdims=True)"
FLOOR = """    e = exp(-1e9 - x * x)
    return x + {floor}
"""


def _compiled(text: str) -> tuple[Graph, Graph]:
    module = read(HEAD + text, "lost.shard", {}, "f")
    return snapshot(module.clone()).graph, lower(module, Options(machine="bytes"))


@pytest.mark.parametrize("most", [None, 1 << 22])
@pytest.mark.parametrize(
    "wrong", ["min(s, 1, keepdims=True)", "1e9", "where(x > 9.0, 0.0, -1e9)"], ids=["least", "far", "mask"]
)
def test_what_is_lost_in_the_program_of_each_device_differs(wrong: str, most: int | None) -> None:
    whole, local = _compiled(MASKED.format(greatest=GREATEST))
    assert prove(whole, local, most=most).verdict is Verdict.PROVED
    _, other = _compiled(MASKED.format(greatest=wrong))
    found = prove(whole, other, most=most)
    assert found.verdict is Verdict.DIFFERS
    assert found.difference is not None and np.isnan(found.difference.have)


def test_what_is_lost_and_no_matter_does_not_differ() -> None:
    whole, _ = _compiled(FLOOR.format(floor="max(maximum(e, 1.0), 1, keepdims=True)"))
    _, other = _compiled(FLOOR.format(floor="maximum(max(e, 1, keepdims=True), 1.0)"))
    found = prove(whole, other)
    assert found.verdict is Verdict.NOT_PROVED and "no draw decides" in found.reason


def test_what_the_global_program_loses_says_nothing() -> None:
    whole, _ = _compiled(MASKED.format(greatest="1e9"))
    _, other = _compiled(MASKED.format(greatest=GREATEST))
    assert prove(whole, other).verdict is Verdict.NOT_PROVED


def _lost(seed: int, *shadows: float) -> Array:
    """Values of random residues beside such shadows."""
    return values.draw(np.random.default_rng(seed), (len(shadows),), np.array(shadows))


def test_the_order_of_what_is_lost_is_that_of_f64() -> None:
    left = _lost(1, 0.0, np.nan, 1.0, np.inf, -np.inf, 2.0)
    right = _lost(2, 0.0, 1.0, np.nan, 3.0, 0.0, 1.0)
    with ordered(LostLast()):
        assert order(left, right).tolist() == [0, 2, 2, 1, -1, 1]
        assert signs(_lost(1, 0.0, -1.0, np.inf)).tolist() == [0.0, -1.0, 1.0]
        for function, numpy in ((arithmetic.maximum, np.maximum), (arithmetic.minimum, np.minimum)):
            wanted = numpy(left["shadow"], right["shadow"])
            assert np.array_equal(function(left, right)["shadow"], wanted, equal_nan=True)
    with pytest.raises(DrawAgain), ordered(LostLast()):
        order(_lost(1, 1.0), _lost(2, 1.0))
