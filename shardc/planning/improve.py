"""Good choices for a whole program: from two starts, repeats planned once, small programs proved best.

The first start is what propagation found. Where the plan it leads to is not proved best, the second is what
propagation would find if data came before state (planning/data_first.py).
"""

from __future__ import annotations

from dataclasses import replace

from shardc.forms.choice import Choice
from shardc.layout import Sharding
from shardc.planning.candidates import build, wishes
from shardc.planning.data_first import data_first
from shardc.planning.descent import descend, follow
from shardc.planning.exact import perfect
from shardc.planning.problem import Problem, Variable
from shardc.planning.repeats import repeats_of


def improve(problem: Problem) -> None:
    """Change the problem's choices for cheaper ones."""
    repeats = repeats_of(problem)
    if repeats is None:
        descend(problem)
        perfect(problem)
        if not _proved_best(problem):
            _start_again(problem)
    else:
        descend(repeats.problem)
        _start_again(repeats.problem)
        repeats.write_back()
    follow(problem)


def _proved_best(problem: Problem) -> bool:
    return problem.proof is not None and problem.proof.bytes >= problem.total()[0]


def _start_again(problem: Problem) -> None:
    """Take the plan that data before state leads to, if it is cheaper."""
    layouts = data_first(problem.graph)
    if layouts:
        first = _Plan(problem)
        _restart(problem, layouts)
        descend(problem)
        if first.cost <= problem.total():
            first.restore()
        elif problem.proof is not None:
            problem.proof = replace(problem.proof, bytes=min(problem.proof.bytes, problem.total()[0]))


class _Plan:
    """All choices of a problem, to come back to."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.cost = problem, problem.total()
        self.choices: dict[Variable, Choice] = {v: v.choice for v in problem.variables}
        self.arguments: dict[int, tuple[Sharding, int]] = dict(problem.arguments)

    def restore(self) -> None:
        """Make the choices the current ones again."""
        self.problem.arguments = self.arguments
        for variable, choice in self.choices.items():
            variable.choice = choice


def _restart(problem: Problem, layouts: dict[int, Sharding]) -> None:
    """Let each operation leave its results in these layouts, as far as its rule allows.

    Products stay as divided as they must be.
    """
    problem.layouts = layouts
    for variable in problem.variables:
        if variable.rule is None or not problem.open(variable):
            continue
        node = variable.node
        results = [problem.layout(value) for value in node.results]
        operands = [problem.layout(v) if v in problem.free else problem.given(v) for v in node.operands]
        count = len(operands)
        order = (*range(count, count + len(results)), *range(count))
        choice = build(problem, variable, wishes(problem, variable, (*operands, *results), order))
        if choice is not None and choice.parts >= variable.least_parts:
            variable.choice = choice
