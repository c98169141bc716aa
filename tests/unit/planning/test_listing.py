"""Only those ways to run an operation are listed that are asked for."""

from __future__ import annotations

import pytest

from shardc.forms.choice import Choice
from shardc.layout import size_of
from shardc.planning.program.integer.choices import every, without
from shardc.planning.program.integer.listing import listed, places_now, stated
from shardc.planning.program.integer.together import Groups
from shardc.planning.program.problem.candidates import candidates
from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.problem.variables import Variable, kept
from shardc.planning.program.search.exact import ASSIGNMENTS, groups_of_program
from tests.unit.planning.test_together import problem_of

SPLIT = """mesh m[a=2, b=2, c=2, d=2]

def main(x: f32[64@(c, a, b), 64@d], w: f32[64@d, 64]) -> f32[64@(c, a, b), 64]:
    return tanh(x) @ w
"""


def problem() -> Problem:
    return problem_of(SPLIT)


def options(problem: Problem, variable: Variable, name: str | None) -> list[Choice]:
    groups = groups_of_program(problem)
    if name is not None:
        groups = Groups(tuple((atom,) for atom in groups.atoms))
    held = None if name is None else places_now(problem, variable, groups.atoms, frozenset({name}))
    return [*listed(problem, variable, groups, (), stated(problem, variable), held, ASSIGNMENTS)]


def opened(problem: Problem) -> list[Variable]:
    return [v for v in problem.variables if problem.open(v) and v.rule is not None]


@pytest.mark.parametrize("name", ["a", "b", "c", "d"])
def test_other_axes_stay_in_their_order(name: str) -> None:
    """Of six orders of three axes on a dimension, two of which stay, the three with the two in order."""
    given = problem()
    for variable in opened(given):
        now = variable.choice
        found = options(given, variable, name)
        assert found
        for choice in found:
            pairs = zip((*choice.operands, *choice.results), (*now.operands, *now.results), strict=True)
            free = frozenset({name})
            assert all(without(layout, free)[:-1] == without(known, free)[:-1] for layout, known in pairs)


@pytest.mark.parametrize("strict", [True, False])
def test_results_stay_as_they_are(strict: bool) -> None:
    given = problem()
    given.expected, given.strict = True, strict
    for variable in opened(given):
        stays = list(map(given.layout, variable.node.results))
        found = options(given, variable, None)
        assert found
        for choice in found:
            assert all(kept(layout, made, strict) for layout, made in zip(stays, choice.results, strict=True))


def test_nothing_else_is_left_out() -> None:
    """With the results kept, the same choices as those of all that keep them."""
    given = problem()
    groups = groups_of_program(given)
    whole = every(given, groups, 10 * ASSIGNMENTS).choices
    given.expected = True
    some = every(given, groups, ASSIGNMENTS).choices
    for variable, choices in whole.items():
        admits = given.admits(variable)
        assert {*some[variable]} == {c for c in choices if admits(c) or c is variable.choice}


def test_wishes_of_several_tensors_split_nothing_unevenly() -> None:
    """Rows over a as they come, and over b as they are needed: eight rows over sixteen are neither."""
    given = problem_of("""mesh m[a=4, b=4]

def main(x: f32[8@a, 64]) -> (f32[8@a, 64], f32[8@b, 64]):
    y = tanh(sin(x))
    return y, y
""")
    layouts = [
        layout
        for variable in opened(given)
        for choice in candidates(given, variable)
        for layout in (*choice.operands, *choice.results)
    ]
    assert layouts
    assert all(8 % size_of(layout.dims[0].axes) == 0 for layout in layouts)
