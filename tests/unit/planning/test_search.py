"""Plans that are looked for, from where, and that of propagation."""

from __future__ import annotations

import pytest

from bench.ablation import propagated
from shardc.planning.machines import Combined, load
from shardc.planning.program import Counted, plan_program
from shardc.planning.program.costs.rates import Rates
from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.search import exact, improve

COLUMNS = """
mesh m[x=4]

def main(a: f32[64@x, 64]) -> f32[64@x, 64]:
    b = softmax(a, axis=0)
    c = softmax(b, axis=0)
    return softmax(c, axis=0)
"""
SUM = """
mesh pod[model=4]

def main(
    x: f32[8, 64@model], a: f32[64@model, 32], y: f32[8, 64@model], b: f32[64@model, 32]
) -> f32[8, 32]:
    return x @ a + y @ b
"""


@pytest.mark.parametrize(("text", "sought", "stated"), [(COLUMNS, 1, 6), (SUM, 1, 2)])
def test_without_a_search_there_are_more_collectives(text: str, sought: int, stated: int) -> None:
    graph = propagated(text, "prog.shard")
    found = {
        search: plan_program(graph, machine=load("tpu-v5e"), counted=(Counted(search=search),))
        for search in (True, False)
    }
    assert {search: plan.collectives for search, plan in found.items()} == {True: sought, False: stated}
    assert all(plan.counted.search is search for search, plan in found.items())


def test_without_a_search_layouts_are_those_of_propagation() -> None:
    graph = propagated(SUM, "prog.shard")
    layouts = plan_program(graph, counted=(Counted(search=False),)).layouts
    assert all(layouts[v] == s.layout() for v in layouts if (s := graph.values[v].sharding) is not None)


GATHERED = """
mesh pod[x=8]

def main(x: f32[256@x, 512], v: f32[512@x, 512], w: f32[512@x, 512]) -> f32[256@x, 512]:
    return relu(x @ v) @ w
"""


def test_a_search_begins_at_an_earlier_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is priced with the latency that is counted on now."""
    graph, machine, begun = propagated(GATHERED, "prog.shard"), load("h100-infiniband"), []
    shares = (Combined("all-gather", ("x",), 16, 1),)
    own = plan_program(graph, machine=machine).problem
    earlier = own.changed(rates=Rates(machine, own.mesh, shares)).total()
    search = improve.search

    def noted(problem: Problem) -> None:
        begun.append(problem.total()[:2])
        search(problem)

    monkeypatch.setattr(improve, "search", noted)
    found = plan_program(graph, machine=machine, counted=(Counted(), Counted(shares))).problem.total()
    assert begun[-1] == earlier[:2] and found <= earlier


@pytest.mark.parametrize(("machine", "times"), [("balanced", 1), ("h100-infiniband", 0)])
def test_searches_look_at_data_before_state_where_there_is_no_latency(
    monkeypatch: pytest.MonkeyPatch, machine: str, times: int
) -> None:
    looked, data_first = list[Problem](), improve._data_first

    def noted(problem: Problem) -> improve.SavedChoices:
        looked.append(problem)
        return data_first(problem)

    monkeypatch.setattr(improve, "perfect", lambda problem: improve.Reached.NOT)
    monkeypatch.setattr(improve, "_data_first", noted)
    plan_program(propagated(GATHERED, "prog.shard"), machine=load(machine))
    assert len(looked) == times


RECURRENCE = """
mesh pod[data=2, fsdp=2, model=2]

def main(
    xs: f32[64, 32@(data, fsdp), 4096], v: f32[4096@fsdp, 4096@model], w: f32[4096@model, 4096@fsdp],
    h: f32[32@(data, fsdp), 4096]
) -> f32[32@(data, fsdp), 4096]:
    for x in xs carrying h:
        h = tanh(x @ v + h @ w)
    return h
"""


def test_what_a_loop_carries_has_one_layout_also_where_a_plan_is_given_up() -> None:
    problem = plan_program(propagated(RECURRENCE, "prog.shard")).problem
    assert problem.slots
    for slot in problem.slots:
        assert {problem.given(value) for value in slot.args} == {slot.layout()}


@pytest.mark.parametrize(("machine", "along"), [("balanced", False), ("h100-infiniband", True)])
def test_with_latency_larger_programs_on_several_axes_are_planned_along_these(
    monkeypatch: pytest.MonkeyPatch, machine: str, along: bool
) -> None:
    problem = plan_program(propagated(RECURRENCE, "prog.shard"), machine=load(machine)).problem
    assert exact.whole(problem) is not None
    monkeypatch.setattr(exact, "ALONG", len(problem.variables) - 1)
    assert (exact.whole(problem) is None) == along
