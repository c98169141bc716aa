"""Finding good choices: each operation in turn, and whole stretches where a partial result could flow on.

Descent by single operations stops at the first plan that no one operation can improve. Letting a partial sum
pass a bias pays only when the sum it meets later is partial too, so for every partial result the whole region
that it could flow through is also tried at once. Deterministic: program order, first best wins.
"""

from __future__ import annotations

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
        flowed = [variable for variable in problem.variables if _flow(problem, variable)]
        if not moved and not flowed:
            return


def _single(problem: Problem, variable: Variable) -> bool:
    """Give one operation its best choice under the others' choices; whether that changed it."""
    current = variable.choice
    best, least = current, problem.cost([variable])
    for choice in candidates(problem, variable):
        variable.choice = choice
        cost = problem.cost([variable])
        if cost < least:
            best, least = choice, cost
    variable.choice = best
    return best is not current


def _flow(problem: Problem, source: Variable) -> bool:
    """Let the partial results of `source` flow as far as they can, if that is cheaper all in all."""
    if not any(result.unreduced for result in source.choice.results):
        return False
    reached = _reach(problem, source)
    if not reached:
        return False
    before = {variable: variable.choice for variable in reached}
    cost = problem.cost(reached)
    for variable in reached:
        variable.choice = _partial(problem, variable) or variable.choice
    if problem.cost(reached) < cost:
        return True
    for variable, choice in before.items():
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
    current, best, least = variable.choice, None, None
    for choice in options:
        if most and _unreduced(choice) == most:
            variable.choice = choice
            cost = problem.cost([variable])
            if least is None or cost < least:
                best, least = choice, cost
    variable.choice = current
    return best


def _unreduced(choice: Choice) -> int:
    return sum(len(result.unreduced) for result in choice.results)
