"""Layers around those that were taken out of a program run alike."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import cache
from typing import Any, cast

import pytest

from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.forms.choice import Choice
from shardc.frontend.text import read
from shardc.graph import Graph
from shardc.graph.marks import LAYER, TIMES
from shardc.passes import insert_reshards, running
from shardc.passes.pipeline import run_to
from shardc.planning.machines import load
from shardc.planning.meshes import mesh_of
from shardc.planning.program.costs.rates import Rates
from shardc.planning.program.problem.layers import groups, run_alike
from shardc.planning.program.problem.setup import setup
from shardc.planning.program.search.improve import improve
from shardc.planning.program.search.repeats import repeats_of
from shardc.rewrite.folding.equal_layers import equal_layers
from tests.unit.rewrite.folding.programs import LAYER as MLP
from tests.unit.rewrite.folding.programs import LONG, forward, step, there_and_back


@cache
def planned(text: str) -> Graph:
    """The folded program that is planned."""
    found: list[Graph] = []

    class Seen(Exception):
        pass

    def see(graph: Graph, **how: Any) -> None:
        found.append(graph)
        raise Seen

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(insert_reshards, "Planner", see)
        options = {"fold-layers": {"worth": 8}}
        with pytest.raises(Seen):
            run_to(make_context(), read(text, "layers.shard"), "local", options=options)
    return found[0]


def further(layers: int) -> str:
    """A network whose layers read what the one before the last two gave."""
    text = forward(layers)
    for number in range(layers):
        line = MLP.format(f"p{number}")
        before = f"y{number - 2} + " if number > 1 else ""
        text = text.replace(line, f"    y{number} = x\n" + line.replace("= x", f"= {before}x", 1))
    return text


def places(graph: Graph) -> dict[int, tuple[int, ...]]:
    """Stack, stretch, step and layer of operations that are of one."""
    noted = ((node.id, node.attrs.get(LAYER, ())) for node in graph.main.body.nodes)
    found = ((node, cast("tuple[int, ...]", place)) for node, place in noted)
    return {node: place for node, place in found if len(place) == 4 and place[1] >= 0}


@pytest.mark.parametrize(("text", "reach"), [(forward(19), 1), (step(19), 1), (further(19), 3)])
def test_layers_that_read_each_other_at_the_cut_run_alike(text: str, reach: int) -> None:
    graph = planned(text)
    alike, place = run_alike(graph), places(graph)
    cut = 1 + max(place[node.id][3] for node in graph.main.body.nodes if TIMES in node.attrs)
    assert {place[node][3] for node in alike} == {*range(cut - 1 - reach, cut + 1 + reach)}
    assert all(place[node][:3] == slot for node, slot in alike.items())
    nodes = graph.main.body.nodes
    assert all(len({nodes[number].name for number in group}) == 1 for group in groups(graph, alike))


LOOPED = MLP + "    y = x\n    for t in range(3) carrying y: y = tanh(y @ {0}.up) @ {0}.down\n    x = x + y\n"


@pytest.mark.parametrize("text", [step(19), there_and_back(20), forward(19, LOOPED)])
def test_their_plan_is_one(text: str) -> None:
    graph = planned(text)
    problem = setup(graph, graph.main, Rates(load("balanced"), mesh_of(graph)))
    repeats = repeats_of(problem)
    assert repeats is not None
    before = problem.total()[:4]
    assert repeats.problem.total()[:4] == before
    improve(problem)
    assert problem.total()[:4] <= before
    chosen = {variable.node.id: variable.choice for variable in problem.variables}
    found: dict[Hashable, set[Choice]] = {}
    for node in problem.alike.keys() & chosen.keys():
        found.setdefault(problem.alike[node], set()).add(chosen[node])
    assert {len(each) for each in found.values()} == {1}


@pytest.mark.parametrize("text", [step(11), there_and_back(11), step(20), forward(12, LOOPED)])
def test_layers_at_the_cut_correspond(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def whole(*_: object) -> None:
        raise AssertionError("all layers are compiled after all")

    monkeypatch.setattr(running.Run, "_back", whole)
    run_to(make_context(), read(text, "layers.shard"), "local", options={"fold-layers": {"worth": 20}})


def whole(layers: int) -> tuple[Graph, Mapping[int, Hashable]]:
    """A propagated step from which no layer is taken out, and its layers."""
    module = read(step(layers, layer=LONG), "layers.shard")
    run_to(make_context(), module, "sharded", options={"fold-layers": {"worth": 10**9}})
    snap, before = snapshot(module), str(module)
    alike = equal_layers(snap)
    assert str(module) == before
    return snap.graph, alike


def test_layers_that_stay_are_planned_as_one() -> None:
    graph, alike = whole(12)
    assert len(alike) > len(graph.main.body.nodes) / 2
    assert {len(group) for group in groups(graph, alike)} == {10}  # but the first and the last
    rates = Rates(load("balanced"), mesh_of(graph))
    apart, together = (setup(graph, graph.main, rates, each) for each in ({}, alike))
    for problem in (apart, together):
        improve(problem)
    assert together.total()[0] <= apart.total()[0]


def test_layers_of_small_programs_are_planned_each_for_itself() -> None:
    assert not whole(3)[1]
