"""The best of some ways to run one operation, while all others run as they do."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from shardc.forms.choice import Choice
from shardc.planning.program.problem.problem import Problem, inner_cost
from shardc.planning.program.problem.variables import Total, Variable, work_of

NEAR = 1e-9  # of the ticks: what rounding may add to a bound

KnownCosts = dict[tuple[object, ...], tuple[int, int, int]]
"""The cost of values, by the layouts that the operation gives them."""


def cheapest(problem: Problem, variable: Variable, options: Iterable[Choice]) -> Choice | None:
    """The option that costs least under the others' choices; the first of equals, None of none."""
    current, best, least = variable.choice, None, None
    known: KnownCosts = {}
    for choice in options:
        variable.choice = choice
        cost = _cost_alone(problem, variable, known, inf if least is None else least[0])
        if cost is not None and (least is None or cost < least):
            best, least = choice, cost
    variable.choice = current
    return best


def _cost_alone(problem: Problem, variable: Variable, known: KnownCosts, most: float) -> Total | None:
    """The cost of an operation and of all values it touches; None once it is seen to be above `most` ticks,
    since most choices are dearer by their work and by the least that changes of layout take, which need a
    search each to be known.

    Of the values' costs many are the same for several choices, and so `known`.
    """
    choice = variable.choice
    ticks, collectives, steps = inner_cost(problem, variable)
    if ticks + problem.toll * collectives > most:
        return None
    keys = [
        (value, *[choice.operands[i] for i in operands], *[choice.results[i] for i in results])
        for value, operands, results in problem.ends(variable)
    ]
    least = [known[key][0] if key in known else _at_least(problem, key[0]) for key in keys]
    left = sum(least)
    for key, some in zip(keys, least, strict=True):
        if ticks + left + problem.toll * collectives > (1 + NEAR) * most:
            return None
        left -= some
        cost = known.get(key)
        if cost is None:
            cost = known[key] = problem.value_cost(key[0])
        ticks, collectives, steps = ticks + cost[0], collectives + cost[1], steps + cost[2]
    ticks += problem.toll * collectives
    late = sum(len(result.unreduced) for result in choice.results)
    return (ticks, collectives, steps, variable.trips * work_of(variable, variable.choice), -late, 0)


def _at_least(problem: Problem, value: int) -> float:
    """Ticks that all reshards of one value take no less than, seen without a search."""
    needs, type = problem.needs(value), problem.graph.type(value)
    return problem.trips(value) * problem.rates.at_least(type, problem.given(value), needs) if needs else 0
