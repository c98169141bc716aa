"""Good choices for a whole program: from two starts, repeats planned once, small programs proved best.

The first start is what propagation found. Where the plan it leads to is not proved best, the second is what
propagation would find if data came before state (data_first.py).
"""

from __future__ import annotations

from collections.abc import Callable

from shardc.forms.choice import Choice
from shardc.layout import Sharding
from shardc.planning.program.candidates import build, wishes
from shardc.planning.program.data_first import data_first
from shardc.planning.program.descent import descend, follow, settle
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
        _improve(repeats.problem, lambda problem: False)
        repeats.write_back()
        problem.refused = repeats.problem.refused
    follow(problem)


Prove = Callable[[Problem], bool]
"""Takes the best plan; whether there is nothing left to search."""


def _improve(problem: Problem, prove: Prove) -> None:
    expected = _expected(problem) if problem.rates.flat and not problem.rates.free else None
    _search(problem, prove)
    _start_again(problem)
    layouts = argument_layouts(problem)
    if layouts:
        first = _SavedChoices(problem)
        split_results(problem, layouts)
        _search(problem, prove)
        if not problem.worth(first.cost, problem.total()):
            first.restore()
    if expected is not None:
        _keep_expected(problem, expected)


def _keep_expected(problem: Problem, expected: _SavedChoices) -> None:
    """Take the plan in propagation's own layouts unless another is quicker, or as quick in fewer collectives,
    and by enough for those that it has more."""
    found = problem.total()
    if found[:2] >= expected.cost[:2] or not problem.pays(expected.cost, found):
        problem.refuse(found)
        expected.proof = problem.proof
        expected.restore()


def _search(problem: Problem, prove: Prove) -> None:
    """The local search, which goes on where the program is too large to be solved.

    Where work is free its plan is the one that others with more collectives are compared with.
    """
    if problem.rates.free:
        descend(problem)
        problem.modest = problem.total()
        prove(problem)
        return
    settle(problem)
    if not prove(problem):
        descend(problem)


def _expected(problem: Problem) -> _SavedChoices:
    """The best plan in propagation's own layouts: no other has more collectives for little."""
    start = _SavedChoices(problem)
    problem.expected = True
    descend(problem)
    problem.expected, problem.modest = False, problem.total()
    found = _SavedChoices(problem)
    start.restore()
    return found


def _proved_best(problem: Problem) -> bool:
    return problem.proof is not None and problem.proof.ticks >= problem.total()[0]


def _start_again(problem: Problem) -> None:
    """Take the plan that data before state leads to, if it is cheaper and the one at hand not proved best."""
    layouts = {} if _proved_best(problem) or problem.refused else data_first(problem.graph)
    if layouts:
        first = _SavedChoices(problem)
        _restart(problem, layouts)
        descend(problem)
        if first.cost <= problem.total() or not problem.takes(problem.total()):
            first.restore()


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
