"""Axes that always stand together keep their order."""

from __future__ import annotations

from itertools import product
from math import prod

import pytest

from bench.ablation import propagated
from shardc.planning.machines import load, with_axes
from shardc.planning.program import plan_program
from shardc.planning.program.choices import every
from shardc.planning.program.exact import ASSIGNMENTS, atoms_of_program
from shardc.planning.program.rates import Rates
from shardc.planning.program.setup import setup
from shardc.planning.program.together import groups_of, in_runs, runs

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
    groups = groups_of(problem, atoms_of_program(problem)[0])
    return [" ".join(axis.name for axis in group) for group in groups]


@pytest.mark.parametrize(
    ("types", "groups"),
    [
        (("8@(a, b)", "8", "8@(a, b)"), ["a b", "c"]),
        (("8@(a, b)", "8@c", "8"), ["a b", "c"]),
        (("8@(a, b, c)", "8", "8@(a, b, c)"), ["a b c"]),
        (("8@(a, b)", "8", "8@a"), ["a", "b", "c"]),
        (("8@(b, a)", "8", "8"), ["a", "b", "c"]),
        (("8@(a, c)", "8", "8"), ["a", "b", "c"]),
        (("8", "8", "8"), ["a b c"]),
    ],
)
def test_which_stand_together(types: tuple[str, ...], groups: list[str]) -> None:
    x, y, z = types
    text = f"mesh m[a=2, b=2, c=2]\n\ndef main(x: f32[{x}, {y}]) -> f32[{z}, 8]:\n    return x + 1\n"
    assert names(problem_of(text)) == groups


def test_on_different_links_they_are_apart() -> None:
    assert names(problem_of(relaxed(2, 2), "h100-infiniband")) == ["a0 a1"]
    assert names(problem_of(relaxed(2, 2), "h100-infiniband", a0="InfiniBand")) == ["a0", "a1"]


def test_runs_are_counted() -> None:
    for atoms, places in product(range(1, 5), range(1, 4)):
        assert runs(atoms, places) == sum(map(in_runs, product(range(places), repeat=atoms)))


def test_more_axes_of_as_many_devices_are_few_more_choices() -> None:
    def choices(*sizes: int) -> int:
        problem = problem_of(relaxed(*sizes))
        found = every(problem, atoms_of_program(problem)[0], ASSIGNMENTS).choices
        return sum(map(len, found.values()))

    assert choices(4, 4) < 3 * choices(16)
    assert choices(2, 2, 2, 2) < 13 * choices(16)  # in any order 80 times as many


def test_the_plan_is_that_on_one_axis() -> None:
    plans = [
        plan_program(propagated(relaxed(*sizes), "prog.shard")) for sizes in ((16,), (4, 4), (2, 2, 2, 2))
    ]
    assert prod(plan.collectives for plan in plans) == 8
    assert {plan.problem.total()[:2] for plan in plans} == {plans[0].problem.total()[:2]}
