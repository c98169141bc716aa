"""Absolute values of what is never below zero: proved equal to it, and of nothing else."""

from __future__ import annotations

import pytest

from shardc.compilation import lower
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.graph import Graph
from shardc.options import Options
from shardc.proof.prove import Verdict, prove


def _compiled(size: str, result: str) -> tuple[Graph, Graph]:
    types = "x: f32[32, 64@y], g: f32[32]"
    text = f"mesh m[y=4]\ndef f({types}) -> f32[32]:\n    s = {size}\n{result}\n"
    module = read(text, "signs.shard", {}, "f")
    return snapshot(module.clone()).graph, lower(module, Options(machine="bytes"))


BY_SIGN = """\
    q = g / abs(s)
    test = s >= 0.0
    return where(test, q, 0.0) + -where(test, 0.0, q)"""

EQUAL = {
    "a sum of powers": ("sum(exp(x), 1)", "    return log(abs(s))", "    return log(s)"),
    "a sum of squares": ("sum(x * x, 1)", "    return log(abs(s))", "    return log(s)"),
    "a choice by no sign": ("sum(exp(x), 1)", BY_SIGN, "    return g / s"),
}
OTHER = {
    "a sum": ("sum(x, 1)", "    return log(abs(s))", "    return log(s)"),
    "powers less a number": ("sum(exp(x), 1) - 1.0", "    return abs(s)", "    return s"),
    "a choice by a sign": ("sum(x, 1)", BY_SIGN, "    return g / abs(s)"),
}


@pytest.mark.parametrize("name", [*EQUAL, *OTHER])
def test_sizes(name: str) -> None:
    size, with_sign, without = (EQUAL | OTHER)[name]
    whole, _ = _compiled(size, with_sign)
    _, local = _compiled(size, without)
    assert (prove(whole, local).verdict is Verdict.PROVED) == (name in EQUAL)
