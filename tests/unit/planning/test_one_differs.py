"""A program in which one layer differs is planned from the plan that it would have if none did."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any, cast

import pytest

from shardc.dialects.context import make_context
from shardc.forms.choice import Choice, replicated_choice
from shardc.frontend.text import read
from shardc.graph import Graph, Node
from shardc.graph.marks import LAYER
from shardc.ops import hlo
from shardc.passes import insert_reshards
from shardc.passes.pipeline import run_to
from shardc.planning.effort import counting
from shardc.planning.machines import load
from shardc.planning.meshes import mesh_of
from shardc.planning.program import plan_program
from shardc.planning.program.costs.rates import Rates
from shardc.planning.program.problem.canonical import lines_of
from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.problem.setup import setup
from shardc.planning.program.remembered import known, layers_alike, one_differs
from shardc.planning.program.remembered.all_alike import all_alike
from shardc.planning.program.remembered.layers_alike import Layers
from shardc.planning.program.search import repeats
from shardc.rewrite.folding import apart
from tests.unit.rewrite.folding.programs import LAYER as MLP
from tests.unit.rewrite.folding.programs import SPLIT, forward, step, there_and_back
from tests.unit.rewrite.folding.test_stacks import edited


@pytest.fixture(autouse=True)
def _of_another_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """A layer that differs is one of another kind, in whatever it is as others."""
    monkeypatch.setattr(apart, "MOST", 0)


LONG = (
    "    x = x + gelu(sin(cos(x * {0}.gain)) @ {0}.up) @ {0}.down\n    x = x * sigmoid(exp(-abs(x)) + 2.0)\n"
)
ANNOTATED = MLP.replace("x = x", "x: f32[8@data, 16@model] = x")


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


TANH = MLP.replace("gelu", "tanh")
SIN = MLP.replace("gelu", "sin")
FORWARD = {
    "another function": (forward(19), edited(forward(19), (9, TANH))),
    "few layers before": (forward(19), edited(forward(19), (8, TANH))),
    "so few layers after that none goes out": (forward(19), edited(forward(19), (11, TANH))),
    "fewer before than stay of a stack": (forward(19), edited(forward(19), (5, TANH))),
    "fewer after than stay of a stack": (forward(19), edited(forward(19), (13, TANH))),
    "as many before as stay before a cut": (forward(19), edited(forward(19), (4, TANH))),
    "as many after as stay before a cut": (forward(19), edited(forward(19), (14, TANH))),
    "the middle of a layer": (
        forward(19, LONG),
        edited(forward(19, LONG), (9, LONG.replace("cos", "tanh")), layer=LONG),
    ),
    "an operation more": (
        forward(19, LONG),
        edited(forward(19, LONG), (8, LONG.replace("cos(x", "cos(abs(x)")), layer=LONG),
    ),
    "an argument more": (
        forward(19),
        edited(forward(19), (9, MLP.replace(" * {0}.gain", " * {0}.gain * more"))).replace(
            "main(", "main(more: f32[8, 16], "
        ),
    ),
    "operands in another order": (
        there_and_back(24),
        there_and_back(24).replace("x = x + h12 @ p12.down", "x = h12 @ p12.down + x"),
    ),
}
ONE = {
    **{name: text for name, (_, text) in FORWARD.items()},
    "a step": edited(step(23), (11, TANH)),
    "a step with few layers before": edited(step(23), (6, TANH)),
    "a step with few layers after": edited(step(23), (16, TANH)),
    "read again": there_and_back(24, 12),
    "read again, of an odd count": there_and_back(25, 12),
}

FUNCTIONS = [("sin", "cos", "tanh", "sigmoid")[i * i // 3 % 4] for i in range(45)]
LONGER = MLP + "".join(f"    x = {function}(x)\n" for function in FUNCTIONS)
OTHER = LONGER.replace("gelu", "tanh")
LARGE = {
    "long layers": edited(forward(15, LONGER), (7, OTHER), layer=LONGER),
    "a step of long layers": edited(step(17, layer=LONGER), (8, OTHER), layer=LONGER),
}
"""Of which fewer layers stay at the cut."""


@pytest.mark.parametrize("name", FORWARD)
def test_without_what_differs_it_is_the_other_program(name: str) -> None:
    other, text = FORWARD[name]
    alike = all_alike(planned(text))
    assert alike is not None
    assert [*lines_of(alike.graph)] == [*lines_of(planned(other))]


@pytest.mark.parametrize("place", [3, 7, 10])
def test_so_it_is_of_long_layers(place: int) -> None:
    """Two before the one that differs are a stack."""
    alike = all_alike(planned(edited(forward(15, LONGER), (place, OTHER), layer=LONGER)))
    assert alike is not None
    assert [*lines_of(alike.graph)] == [*lines_of(planned(forward(15, LONGER)))]


def test_without_what_differs_it_is_the_same_whatever_that_is() -> None:
    ones, others = (all_alike(planned(edited(step(23), (11, other)))) for other in (TANH, SIN))
    assert ones is not None and others is not None
    assert [*lines_of(ones.graph)] == [*lines_of(others.graph)]


@pytest.mark.parametrize("name", ONE)
def test_all_but_what_differs_stands_for_something(name: str) -> None:
    graph = planned(ONE[name])
    alike = all_alike(graph)
    assert alike is not None
    left = {node.id: node for node in alike.graph.main.body.nodes}
    for node in graph.main.body.nodes:
        layer = (
            cast("tuple[int, ...]", node.attrs[LAYER])[3] if node.operands and LAYER in node.attrs else None
        )
        assert layer not in (2, 3) or node.id in alike.stands  # others may belong to the layer that differs
        if node.id in alike.stands:
            like = left[alike.stands[node.id]]
            assert like.name == node.name
            assert alike.graph.types(like.results) == graph.types(node.results)


def test_a_layer_of_both_stacks_has_its_arguments_once() -> None:
    """Each weight has its new one."""
    alike = all_alike(planned(ONE["a step"]))
    assert alike is not None
    weights, news = alike.graph.main.body.args[:-2], alike.graph.main.body.results[1:]
    assert Counter(alike.graph.types(weights)) == Counter(alike.graph.types(news))


def test_two_that_differ_are_taken_out_one_by_one() -> None:
    first = all_alike(planned(edited(forward(31), (9, TANH), (20, TANH))))
    assert first is not None
    alike = all_alike(first.graph)
    assert alike is not None
    assert [*lines_of(alike.graph)] == [*lines_of(planned(forward(31)))]


@pytest.mark.parametrize(
    "text",
    [
        forward(19),
        edited(forward(19), (9, ANNOTATED)),
        forward(19).replace("p9: Layer", "p9: Split").replace("record", f"{SPLIT}\nrecord", 1),
        edited(forward(20), *((i, LONG) for i in range(10, 20))),
    ],
    ids=["none", "an annotated value", "an annotated argument", "two kinds"],
)
def test_other_programs_are_planned_as_they_are(text: str) -> None:
    assert all_alike(planned(text)) is None


@pytest.fixture
def classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal operations are planned as one in programs of any size."""
    monkeypatch.setattr(repeats, "MANY", 20)


@pytest.mark.parametrize(
    ("name", "machine"),
    [
        *((name, "balanced") for name in ONE if "odd" not in name),
        *((name, "balanced") for name in LARGE),
        ("a step", "bytes"),
        ("another function", "h100-infiniband"),
    ],
)
@pytest.mark.usefixtures("classes")
def test_the_plan_is_no_worse(name: str, machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = planned((ONE | LARGE)[name])
    monkeypatch.setattr(known, "_RECENT", {})

    def problem() -> Problem:
        return setup(graph, graph.main, Rates(load(machine), mesh_of(graph), ()))

    whole, beside = problem(), problem()
    known.improved(whole)
    monkeypatch.setattr(known, "_RECENT", {})
    known.improved(beside, alike=True)
    assert beside.total()[:2] <= whole.total()[:2]
    assert not any(variable.fixed for variable in beside.variables if beside.open(variable))


@pytest.mark.usefixtures("classes")
def test_only_what_differs_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan of the program in which no layer differs is remembered."""
    graphs = [planned(edited(step(23), (11, other))) for other in (TANH, SIN)]
    monkeypatch.setattr(known, "_RECENT", {})
    monkeypatch.setattr(known, "MUCH", 0)
    plan_program(graphs[0])

    def fail(*_: object) -> None:
        raise AssertionError("the plan was looked for")

    monkeypatch.setattr(known, "improve", fail)
    monkeypatch.setattr(one_differs, "setup", fail)
    assert plan_program(graphs[1]).time is not None


@pytest.mark.usefixtures("classes")
@pytest.mark.parametrize("name", ["a step", "another function"])
def test_with_what_is_remembered_the_plan_is_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = planned(ONE[name])
    monkeypatch.setattr(known, "_RECENT", {})
    monkeypatch.setattr(known, "MUCH", 0)

    def choices() -> tuple[list[Choice], int]:
        problem = setup(graph, graph.main, Rates(load("balanced"), mesh_of(graph), ()))
        with counting() as effort:
            known.improved(problem, alike=True)
        return [variable.choice for variable in problem.variables], effort.entries

    found = choices()
    assert len(known._RECENT) == 2
    known._RECENT.popitem()  # its own; that of the program in which no layer differs stays
    assert choices() == found


@pytest.mark.usefixtures("classes")
def test_a_plan_of_what_differs_with_more_collectives_has_to_pay_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As those of whole programs do (search/preference.py)."""
    graph, totals = planned(ONE["a step"]), list[tuple[int, ...]]()

    def whole(problem: Problem, few: bool = False) -> None:
        for variable in filter(problem.open, problem.variables):
            variable.choice = replicated_choice(variable.op, problem.mesh)

    def look(problem: Problem) -> None:
        totals.append(problem.total()[:2])

    monkeypatch.setattr(known, "_RECENT", {})
    known.improved(setup(graph, graph.main, Rates(load("balanced"), mesh_of(graph), ())), alike=True)
    monkeypatch.setattr(one_differs, "by_axis", whole)
    for name in ("settle", "follow"):
        monkeypatch.setattr(one_differs, name, look)
    known.improved(setup(graph, graph.main, Rates(load("balanced"), mesh_of(graph), ())), "anew", alike=True)
    before, tried, taken = totals
    assert before == taken < tried


def test_layers_that_do_not_correspond_have_no_count_in_common() -> None:
    """Of a place one stack has an operation of two operands, the other one of one."""
    value = iter(range(9)).__next__
    add, negate = (
        Node(0, op.name, (value(),) * n, (value(),), {}) for op, n in ((hlo.add, 2), (hlo.negate, 1))
    )
    one, other = Layers(), Layers()
    one.nodes[(0, 0), 1], other.nodes[(0, 0), 1] = add, negate
    assert layers_alike._moved(one, other, 1, 1) is None
    other.nodes[(0, 0), 1] = add
    assert layers_alike._moved(one, other, 1, 1) == {0: 0}
