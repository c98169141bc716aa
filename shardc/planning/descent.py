"""Finding good choices: each operation in turn, and whole stretches where a partial result could flow on.

Descent by single operations stops at the first plan that no one operation can improve. Letting a partial sum
pass a bias pays only when the sum it meets later is partial too, so for every partial result the whole region
that it could flow through is also tried at once; and so is, for every copy that several operations share, to
do without it in all of them. Deterministic: program order, first best wins.
"""

from __future__ import annotations

from collections.abc import Callable

from shardc.forms.choice import Choice
from shardc.layout import KINDS
from shardc.planning.candidates import candidates
from shardc.planning.problem import Problem, Variable

SWEEPS = 8


def improve(problem: Problem) -> None:
    """Change the problem's choices for cheaper ones until nothing tried is cheaper."""
    for sweep in range(SWEEPS):
        order = problem.variables if sweep % 2 == 0 else problem.variables[::-1]
        moved = [variable for variable in order if not variable.fixed and _single(problem, variable)]
        kept = [value for value in problem.values if _keep(problem, value)]
        flowed = [variable for variable in problem.variables if _flow(problem, variable)]
        if not moved and not kept and not flowed:
            return


def _single(problem: Problem, variable: Variable) -> bool:
    """Give one operation its best choice under the others' choices; whether that changed it."""
    best = _cheapest(problem, variable, [variable.choice, *candidates(problem, variable)])
    changed = best is not None and best is not variable.choice
    variable.choice = best or variable.choice
    return changed


def _keep(problem: Problem, value: int) -> bool:
    """Let all consumers that share a copy of a value take it as it comes instead, if that is cheaper.

    None of them gains alone: the copy stays as long as one consumer needs it.
    """
    for need in problem.needs(value):
        users = problem.users(value, need)
        if len(users) > 1 and not any(variable.fixed for variable in users):
            if _attempt(problem, users, lambda variable: _taking(problem, variable, value)):
                return True
    return False


def _taking(problem: Problem, variable: Variable, value: int) -> Choice | None:
    """The cheapest choice of an operation that takes `value` as it is given."""
    given = problem.given(value)
    places = [i for i, operand in enumerate(variable.node.operands) if operand == value]
    options = candidates(problem, variable)
    return _cheapest(problem, variable, [c for c in options if all(c.operands[i] == given for i in places)])


def _flow(problem: Problem, source: Variable) -> bool:
    """Let the partial results of `source` flow as far as they can, if that is cheaper all in all."""
    if not any(result.unreduced for result in source.choice.results):
        return False
    reached = _reach(problem, source)
    if not reached:
        return False
    return _attempt(problem, reached, lambda variable: _partial(problem, variable))


def _attempt(problem: Problem, variables: list[Variable], other: Callable[[Variable], Choice | None]) -> bool:
    """Give each operation, in order, the choice that `other` has for it; keep that if it is cheaper."""
    before = [variable.choice for variable in variables]
    cost = problem.cost(variables)
    for variable in variables:
        variable.choice = other(variable) or variable.choice
    if problem.cost(variables) < cost:
        return True
    for variable, choice in zip(variables, before, strict=True):
        variable.choice = choice
    return False


def _reach(problem: Problem, source: Variable) -> list[Variable]:
    """The operations after `source`, in order, that a partial result of it could flow through."""
    partial = {v for v, s in zip(source.node.results, source.choice.results, strict=True) if s.unreduced}
    start = problem.variables.index(source) + 1
    reached: list[Variable] = []
    for variable in problem.variables[start:]:
        rule = variable.rule
        if rule is None or variable.region is not source.region:
            continue
        flows = any(
            variable.node.operands[i] in partial
            for kind in KINDS
            for group, _ in rule.flows(kind)
            for i in group
        )
        if flows:
            reached.append(variable)
            partial.update(variable.node.results)
    return reached


def _partial(problem: Problem, variable: Variable) -> Choice | None:
    """The cheapest choice of an operation among those with the most axes left unreduced."""
    options = [variable.choice, *candidates(problem, variable)]
    most = max(_unreduced(choice) for choice in options)
    return _cheapest(problem, variable, [c for c in options if _unreduced(c) == most]) if most else None


def _cheapest(problem: Problem, variable: Variable, options: list[Choice]) -> Choice | None:
    """The option that costs least under the others' choices; the first of equals."""
    current, best, least = variable.choice, None, None
    for choice in options:
        variable.choice = choice
        cost = problem.cost([variable])
        if least is None or cost < least:
            best, least = choice, cost
    variable.choice = current
    return best


def _unreduced(choice: Choice) -> int:
    return sum(len(result.unreduced) for result in choice.results)
