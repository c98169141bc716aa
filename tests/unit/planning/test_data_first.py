"""The layouts that a program would have if its data came before its state, where these are others."""

from __future__ import annotations

import pytest

from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.graph import Graph
from shardc.passes.pipeline import run_to
from shardc.planning.program.search import data_first as data_first_module
from shardc.planning.program.search.data_first import data_first
from shardc.propagation.run import Result, propagate

STEP = """mesh m[data=4]

def step(w: f32[{0}], x: f32[8@data, 16]) -> f32[{0}]:
    return w - 0.1 * (x.T @ tanh(x @ w))
"""


@pytest.mark.parametrize(
    ("weights", "others"),
    [
        ("16, 16@data", True),  # propagation splits the product's columns; data first its rows
        ("16@data, 16", False),  # it splits the rows either way
        ("16, 16", False),  # only data are split
    ],
)
def test_layouts(weights: str, others: bool) -> None:
    module = read(STEP.format(weights), "step.shard")
    run_to(make_context(), module, "sharded")
    assert bool(data_first(snapshot(module).graph)) == others


def test_copies_of_constants_are_no_values_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """While shardings are propagated each use of a constant may have a copy, with a value of its own."""
    module = read(STEP.format("16@data, 16"), "step.shard")
    run_to(make_context(), module, "sharded")
    graph = snapshot(module).graph

    def copying(copied: Graph) -> Result:
        found = propagate(copied)
        shardings = found.bodies[0].shardings
        shardings[len(graph.values)] = next(iter(shardings.values()))
        return found

    monkeypatch.setattr(data_first_module, "propagate", copying)
    assert not data_first(graph)
