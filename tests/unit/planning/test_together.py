"""Axes that always stand together go together."""

from __future__ import annotations

from math import prod

import pytest

from bench.ablation import propagated
from shardc.planning.machines import load, with_axes
from shardc.planning.program import plan_program
from shardc.planning.program.costs.rates import Rates
from shardc.planning.program.integer.choices import every
from shardc.planning.program.problem.setup import setup
from shardc.planning.program.search.exact import ASSIGNMENTS, groups_of_program

RELAXED = """
mesh pod[{mesh}]

def main(f: f32[9, 256@({axes}), 256], w: f32[9]) -> f32[9, 256@({axes}), 256]:
    for t in range(100) carrying f:
        rho = sum(f, axis=0)
        f = f + 0.6 * (w[:, None, None] * rho - f)
        f = concatenate([f[0:3], roll(f[3:6], 1, axis=1), roll(f[6:9], -1, axis=1)], axis=0)
    return f
"""


def relaxed(*sizes: int) -> str:
    axes = [f"a{number}" for number in range(len(sizes))]
    mesh = ", ".join(f"{axis}={size}" for axis, size in zip(axes, sizes, strict=True))
    return RELAXED.format(mesh=mesh, axes=", ".join(axes))


def problem_of(text: str, machine: str = "balanced", **links: str):
    graph = propagated(text, "prog.shard")
    (mesh,) = graph.meshes.values()
    return setup(graph, graph.main, Rates(with_axes(load(machine), links), mesh))


def names(problem) -> list[str]:
    return [" ".join(axis.name for axis in group) for group in groups_of_program(problem).each]


@pytest.mark.parametrize(
    ("types", "groups"),
    [
        (("8@(a, b)", "8", "8@(a, b)"), ["a b", "c"]),
        (("8@(a, b)", "8@c", "8"), ["a b", "c"]),
        (("8@(a, b, c)", "8", "8@(a, b, c)"), ["a", "b c"]),
        (("8@(a, b)", "8", "8@a"), ["a", "b", "c"]),
        (("8@(b, a)", "8", "8"), ["a", "b", "c"]),
        (("8@(a, c)", "8", "8"), ["a", "b", "c"]),
        (("8", "8", "8"), ["a", "b c"]),
    ],
)
def test_which_stand_together(types: tuple[str, ...], groups: list[str]) -> None:
    x, y, z = types
    text = f"mesh m[a=2, b=2, c=2]\n\ndef main(x: f32[{x}, {y}]) -> f32[{z}, 8]:\n    return x + 1\n"
    assert names(problem_of(text)) == groups


def test_on_different_links_they_are_apart() -> None:
    assert names(problem_of(relaxed(2, 2, 2, 2), "h100-infiniband")) == ["a0 a1", "a2 a3"]
    links = {"a0": "InfiniBand"}
    assert names(problem_of(relaxed(2, 2, 2, 2), "h100-infiniband", **links)) == ["a0", "a1 a2 a3"]


def test_all_of_a_group_are_free_at_once() -> None:
    given = problem_of("mesh m[a=2, b=2, c=2]\n\ndef main(x: f32[8@(a, b)]) -> f32[8@c]:\n    return x + 1\n")
    assert groups_of_program(given).apart() == [{"a", "b"}, {"c"}]


def test_more_axes_of_as_many_devices_are_no_more_choices() -> None:
    def choices(*sizes: int) -> int:
        problem = problem_of(relaxed(*sizes))
        found = every(problem, groups_of_program(problem), ASSIGNMENTS).choices
        return sum(map(len, found.values()))

    assert choices(2, 2, 2, 2) == choices(4, 4)
    assert choices(2, 2, 2, 2, 2) == choices(4, 8)


STEP = """
mesh pod[{mesh}]

def main(x: f32[64@({data}), 128], w: f32[128, 256@({model})]) -> f32[128, 256@({model})]:
    h = relu(x @ w)
    d = h * ((h @ w.T - x) @ w)
    return w - 0.1 * (x.T @ d)
"""


def test_a_step_on_five_axes_is_that_on_two() -> None:
    two = STEP.format(mesh="x=8, m=4", data="x", model="m")
    five = STEP.format(mesh="a=2, b=2, c=2, d=2, e=2", data="a, b, c", model="d, e")
    found = [plan_program(propagated(text, "prog.shard")) for text in (two, five)]
    assert found[0].problem.proof == found[1].problem.proof
    assert found[0].problem.total()[:2] == found[1].problem.total()[:2]
    one, other = (
        [tuple(dim.parts for dim in layout.dims) for layout in plan.layouts.values()] for plan in found
    )
    assert one == other


def test_the_plan_is_that_on_one_axis() -> None:
    plans = [
        plan_program(propagated(relaxed(*sizes), "prog.shard")) for sizes in ((16,), (4, 4), (2, 2, 2, 2))
    ]
    assert prod(plan.collectives for plan in plans) == 8
    assert {plan.problem.total()[:2] for plan in plans} == {plans[0].problem.total()[:2]}
