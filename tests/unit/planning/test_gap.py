"""What is said of plans that are too large to be proved best in one piece: never more than the least."""

from typing import cast

import numpy as np
import pytest

from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.passes.pipeline import PASSES, run_to
from shardc.planning.machines import load
from shardc.planning.program import gap, plan_program
from shardc.planning.program.integer import solve
from shardc.planning.program.integer.network import Network
from shardc.planning.program.search import exact

MLP = """
mesh pod[data=2, model=4]

def main(x: f32[32@data, 64], w1: f32[64, 128@model], w2: f32[128@model, 64]) -> f32[32@data, 64]:
    h = tanh(x @ w1)
    return x + h @ w2
"""
LEAST = 2 * 3 * 16 * 64 * 4 // 4  # an all-reduce over model of the local result


def planned():
    with collecting():
        module = read(MLP, "prog.shard", {}, None)
        run_to(make_context(), module, "sharded")
        for name in ("require-rules", "join-slices"):
            PASSES[name]()().apply(make_context(), module)
        problem = plan_program(snapshot(module).graph, machine=load("bytes")).problem
    return problem


def test_one_linear_program(monkeypatch):
    """Where the integer program is too large, the linear one may still be exact."""
    monkeypatch.setattr(exact, "SMALL", 0)
    monkeypatch.setattr(solve, "SMALL", 0)
    problem = planned()
    assert problem.proof is not None
    assert problem.total()[0] == problem.proof.ticks == LEAST
    assert problem.proof.method.startswith("linear program")


@pytest.mark.parametrize("window", [1, 60, 10_000])
def test_parts(monkeypatch, window):
    monkeypatch.setattr(exact, "RELAXED", 0)
    monkeypatch.setattr(gap, "WINDOW", window)
    problem = planned()
    assert problem.proof is None
    found = gap.proof(problem)
    assert found is not None and found.ticks <= LEAST
    assert window < 10_000 or found.ticks == LEAST


def test_work_is_bounded(monkeypatch):
    """The first window alone is looked at, and the bound is less."""
    monkeypatch.setattr(exact, "RELAXED", 0)
    monkeypatch.setattr(gap, "WINDOW", 1)
    problem = planned()
    all_of_them = gap.proof(problem)
    monkeypatch.setattr(gap, "WORK", 0)
    first = gap.proof(problem)
    assert all_of_them is not None and first is not None
    assert first.ticks <= all_of_them.ticks <= LEAST
    assert first.method == "linear program" != all_of_them.method


class Endless:
    """A program that every solution lacks a row of."""

    def __init__(self) -> None:
        self.asked = 0

    def lacking(self, columns):
        self.asked += 1
        return [([(0, 1.0)], 0.0, 1.0)]


def test_rows_that_raise_no_bound_are_not_added_for_ever():
    """As long as each round is worth it, and PATIENCE rounds that are not."""
    program, costs = Endless(), np.array([10.0, 1.0])
    lacking = gap._patiently(cast(Network, program), costs, worth=2.0)
    rising = [np.array([share, 0.0]) for share in (0.1, 0.4, 0.7, 1.0)]
    flat = [np.array([1.0, share]) for share in (0.1, 0.5, *[0.9] * gap.PATIENCE)]
    more = [bool(lacking(columns)) for columns in (*rising, *flat)]
    assert more == [True] * (3 + gap.PATIENCE) + [False] * 3
    assert program.asked == 3 + gap.PATIENCE


def test_nothing_is_known_of_what_is_too_large(monkeypatch):
    monkeypatch.setattr(exact, "ASSIGNMENTS", 1)
    monkeypatch.setattr(gap, "ASSIGNMENTS", 1)
    assert gap.proof(planned()) is None
