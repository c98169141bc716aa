"""What plans of one program share: choices, and the paths between layouts where prices are equal."""

from __future__ import annotations

import numpy as np
import pytest

from shardc.analysis.phases import BETWEEN
from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.forms.choice import Ways
from shardc.frontend.read import read
from shardc.graph import Graph
from shardc.layout import Mesh
from shardc.options import Options
from shardc.passes.pipeline import run_to
from shardc.planning.machines import Combined, load
from shardc.planning.program import Counted, plan_program
from shardc.planning.program.costs.bounds import Bounds
from shardc.planning.program.costs.prices import Prices
from shardc.planning.program.costs.rates import Rates
from shardc.planning.program.integer import choices
from shardc.planning.program.problem import menu
from shardc.planning.program.remembered import known
from shardc.planning.reshard.distances import distances
from shardc.planning.reshard.runs import alone, atoms_for

PROGRAM = """
mesh pod[data=2, model=4]

def main(x: f32[4096@data, 512], w: f32[512, 512@model], v: f32[512@model, 512]) -> f32[512, 512]:
    h = relu(x @ w)
    return x.T @ tanh(h @ v)
"""
SHARED = (Combined("all-reduce", ("model",), 4, 1),)


@pytest.fixture
def graph(monkeypatch: pytest.MonkeyPatch) -> Graph:
    monkeypatch.setattr(known, "_RECENT", {})
    monkeypatch.setattr(menu, "_MENUS", {})
    with collecting():
        module = read(PROGRAM, Options(language="shard"))
        run_to(make_context(), module, "sharded")
    return snapshot(module).graph


def test_the_next_plan_lists_no_choices(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    h100 = load("h100-infiniband")
    anew = plan_program(graph, machine=h100, counted=(Counted(SHARED),)).problem
    menu._MENUS.clear()
    plan_program(graph, machine=h100)

    def fail(*asked: object) -> None:
        raise AssertionError("choices were listed again")

    monkeypatch.setattr(choices, "listed", fail)
    monkeypatch.setattr(Ways, "every", fail)
    found = plan_program(graph, machine=h100, counted=(Counted(SHARED),)).problem
    assert found.total() == anew.total()
    assert [each.choice for each in found.variables] == [each.choice for each in anew.variables]


def test_another_mesh_has_another_menu() -> None:
    one, other = Mesh("m", (("x", 2),)), Mesh("m", (("x", 4),))
    assert menu.menu_of(one) is menu.menu_of(one)
    assert menu.menu_of(other) is not menu.menu_of(one)


def test_of_too_much_all_is_forgotten(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_program(graph)
    kept = menu.menu_of(plan.problem.mesh)
    assert kept is plan.problem.menu
    monkeypatch.setattr(menu, "KEPT", kept.size - 1)
    assert menu.menu_of(plan.problem.mesh) is not kept


def test_paths_are_shared_where_prices_are_equal(graph: Graph) -> None:
    """Bytes take as long whichever collectives share latency; what comes before the first one does not."""
    mesh = plan_program(graph).problem.mesh
    layouts = [plan_program(graph).problem.given(value) for value in graph.main.body.args]
    type = graph.type(graph.main.body.args[0])
    atoms = atoms_for(alone(mesh.several), (2,))
    own, shared, same = (
        Prices(atoms, Rates(load("h100-infiniband"), mesh, shares)) for shares in ((), SHARED, SHARED)
    )
    for prices in (own, shared, same):
        prices(type, layouts[0], layouts[1])
    bounds = [each.bounds for each in (own, shared, same) if isinstance(each.bounds, Bounds)]
    mine, other, equal = (each.tables[2, BETWEEN].delays for each in bounds)
    assert mine is not None and other is not None and equal is not None
    assert mine.sent is other.sent
    assert mine.before is not other.before
    assert other.before is equal.before


def test_not_all_paths_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    ways = distances(atoms_for(alone(Mesh("m", (("x", 2), ("y", 3))).several), (1,)), 1).ways
    ones = np.ones(len(ways.collectives.kinds))
    first = ways.timed(ones)
    assert ways.timed(1.0 * ones) is first
    for length in range(2, 70):
        ways.timed(length * ones)
    assert ways.timed(ones) is not first
