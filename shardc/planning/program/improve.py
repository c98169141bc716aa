"""Good choices for a whole program: from two starts, repeats planned once, small programs proved best.

The first start is what propagation found. Where the plan it leads to is not proved best, the second is what
propagation would find if data came before state (data_first.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from shardc.forms.choice import Choice
from shardc.layout import Sharding
from shardc.planning.program.candidates import build, wishes
from shardc.planning.program.data_first import data_first
from shardc.planning.program.descent import descend, follow
from shardc.planning.program.exact import perfect
from shardc.planning.program.open_results import argument_layouts, split_results
from shardc.planning.program.problem import Problem, Variable
from shardc.planning.program.repeats import repeats_of


def improve(problem: Problem) -> None:
    """Change the problem's choices for cheaper ones."""
    repeats = repeats_of(problem)
    if repeats is None:
        _improve(problem, perfect)
    else:
        _improve(repeats.problem, lambda problem: None)
        repeats.write_back()
        problem.refused = repeats.problem.refused
    follow(problem)


def _improve(problem: Problem, prove: Callable[[Problem], None]) -> None:
    start = _SavedChoices(problem)
    descend(problem)
    if problem.rates.flat and not problem.rates.free and problem.total()[1]:
        _as_expected(problem, start)
    prove(problem)
    if not _proved_best(problem):
        _start_again(problem)
    layouts = argument_layouts(problem)
    if layouts:
        first = _SavedChoices(problem)
        split_results(problem, layouts)
        descend(problem)
        prove(problem)
        if not problem.worth(first.cost, problem.total()):
            first.restore()


def _as_expected(problem: Problem, start: _SavedChoices) -> None:
    """Take the best plan in propagation's own layouts if the one at hand has more collectives for little."""
    found = _SavedChoices(problem)
    start.restore()
    problem.expected = True
    descend(problem)
    problem.expected = False
    problem.modest = problem.total()
    if found.cost <= problem.modest and not problem.pays(problem.modest, found.cost):
        problem.refuse(found.cost)
    elif found.cost <= problem.modest:
        found.restore()


def _proved_best(problem: Problem) -> bool:
    return problem.proof is not None and problem.proof.ticks >= problem.total()[0]


def _start_again(problem: Problem) -> None:
    """Take the plan that data before state leads to, if it is cheaper."""
    layouts = data_first(problem.graph)
    if layouts:
        first = _SavedChoices(problem)
        _restart(problem, layouts)
        descend(problem)
        if first.cost <= problem.total() or _refused(problem):
            first.restore()
        elif problem.proof is not None:
            problem.proof = replace(problem.proof, ticks=min(problem.proof.ticks, problem.total()[0]))


def _refused(problem: Problem) -> bool:
    """Whether the plan at hand is left for its collectives."""
    cost = problem.total()
    refused = problem.modest is not None and not problem.pays(problem.modest, cost)
    if refused:
        problem.refuse(cost)
    return refused


class _SavedChoices:
    """All choices of a problem, to come back to."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.cost, self.proof = problem, problem.total(), problem.proof
        self.choices: dict[Variable, Choice] = {v: v.choice for v in problem.variables}
        self.arguments: dict[int, tuple[Sharding, int]] = dict(problem.arguments)

    def restore(self) -> None:
        """Make the choices the current ones again."""
        self.problem.arguments, self.problem.proof = self.arguments, self.proof
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
