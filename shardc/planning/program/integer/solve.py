"""Taking the best plan that a program of the planning problem (network.py) has.

Reshards are priced by a table of lower bounds first. Where the plan that a solution says costs more than the
solution, those that it uses are priced exactly, and the program is solved again; as long as prices change,
without integrality. On a machine with latency it begins then where it ended, and a large one is left once
prices hardly raise what no plan is below; that of a whole program only if one is near to it. Without latency
many plans take equally long; there each program begins anew, a small one with presolve, so that which of them
is found depends on no other, but for the one with few collectives, which goes on from that with any number.
Where the last solution is no plan of its price, nor with latency near to it, the program is solved anew with
presolve, since of equally good ones another may be one.
"""

from __future__ import annotations

from functools import partial
from math import inf
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from shardc.forms.choice import Choice
from shardc.layout import Sharding
from shardc.planning.program.integer.basis import Basis
from shardc.planning.program.integer.building import again
from shardc.planning.program.integer.highs import (
    COLUMNS,
    Limits,
    Row,
    Solved,
    Vector,
    least,
    minimum,
    total,
)
from shardc.planning.program.integer.network import Network
from shardc.planning.program.integer.solver import ITERATIONS, Found
from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.problem.variables import Slot, Total, Variable

SMALL = 4_000  # columns of an integer program that is always solved: half a second
RELAXED = 40_000  # of all the linear programs that are solved for one: a second or two
TIES = 1_000  # of one in which what equally quick plans take is compared: real sizes have few of them
RISE = 1 / 50  # of a bound, with latency: what prices hardly raise it by, and how near to it a plan is
SWEEPS = 4  # over the operations, to choose among plans of equal cost


class Chosen(Struct, frozen=True):
    """How every operation runs, and the layout of what loops carry."""

    choices: dict[Variable, Choice]
    layouts: dict[Slot, Sharding]

    def take(self, problem: Problem) -> None:
        """Make it the problem's plan."""
        for slot, layout in self.layouts.items():
            problem.carry(slot, layout)
        for variable, choice in self.choices.items():
            variable.choice = choice


class Optimum(Struct, frozen=True):
    """Ticks that no plan of a program is below, and whether the program was solved and not only bounded:
    `whole`, or `nearly` (highs.py).

    `solved` are the columns of all the linear programs that this took together, `last` the one of `net`, if
    that was solved.
    """

    ticks: int
    net: Network
    whole: bool
    nearly: bool
    solved: int
    last: Solved | None

    def at_most(self, few: int) -> Found | None:
        """The solution of the last linear program of at most `few` collectives, which a few steps lead to
        from that of any number; None if it is not known. Asked once."""
        return None if self.last is None else self.last.further([_at_most(self.net.costs()[1], few)])

    def none_below(self, ticks: int, found: Found) -> bool:
        """Whether a solution of few collectives shows that no plan of so few takes fewer ticks."""
        ties = self.net.size <= TIES  # of these the least effort is looked for
        return not ties and least(self.net.costs()[0], found) >= ticks


def take_cheapest(
    net: Network,
    few: float = inf,
    work: int = RELAXED,
    ties: bool = True,
    begun: Found | None = None,
    steps: int = ITERATIONS,
) -> Optimum | None:
    """Take the plan of the fewest ticks, then collectives, of those of at most `few` collectives, if it is
    cheaper than the one at hand.

    Of equally good choices those at hand. A large program is not solved whole if there is nothing to gain.
    None if there is no solution in linear programs of `work` columns together, each of so many `steps`
    (solver.py). Where no more moves are allowed for prices that are not known, the plan is that of prices
    which may be too low. With `ties`, of a whole program, that of least effort is looked for among equally
    quick ones.
    `begun`: the first linear program's solution, if it is known.
    """
    problem, kept = net.problem, taken(net)
    before = best = problem.cost(net.scope)
    plan, bound, whole, nearly, solved = kept, 0, False, False, 0
    last: Solved | None = None
    start: Basis | None = None
    flat = problem.rates.flat
    presolve = flat and net.size <= TIES
    enough = before[0] if net.size > SMALL else inf
    most = SMALL if problem.expected else COLUMNS
    while net.size <= work - solved:
        solved += net.size
        changes = net.prices.changes
        moved, count = net.costs()
        also = [] if few == inf else [_at_most(count, few)]
        limits = Limits(enough, net.size, most, steps, problem.allowance)
        solution = partial(_minimum, net, also=also, presolve=presolve)
        optimum = solution(moved, limits, unsure=net.unsure, start=start, begun=begun)
        last, begun = optimum, None
        if optimum is None:
            break
        little = not flat and net.size > TIES and optimum.whole_bound <= (1 + RISE) * bound
        bound, whole, nearly = max(bound, optimum.whole_bound), optimum.whole, optimum.nearly
        columns = optimum.columns
        equal = [columns]
        if ties and whole and (problem.rates.free or net.size <= TIES):
            also.append(_at_most(moved, optimum.value + 1e-6 * optimum.value + 1e-3))
            wanted = count if problem.rates.free else net.effort()
            fewest = solution(wanted, replace(limits, enough=inf, most=COLUMNS), known=columns)
            columns = fewest.columns if fewest else columns
            equal = [columns] if problem.rates.free else [*equal, columns]
        for each in equal:
            found = _apply(net, each, kept)
            if found < best and found[1] <= few:
                best, plan = found, taken(net)
        cheapest = best[0] <= bound and (not problem.rates.free or best[1] <= total(count, columns))
        if cheapest or bound >= enough:
            break
        net.settle(columns, optimum.reduced)
        near = best[0] <= (1 + RISE) * bound
        if little and (near or not ties):
            break
        if net.prices.changes == changes:
            if presolve or (not flat and near):
                break
            presolve, start = True, None
            continue
        if problem.allowance.moves <= 0:
            whole, nearly = False, True
            break
        if net.size > work - solved:
            break
        done, net, last = net, again(net), None
        start = None if flat else net.start(done, optimum.basis())
        del done, solution, optimum  # the solver has tens of megabytes for each program that it keeps
    plan.take(problem)
    return Optimum(bound, net, whole, nearly, solved, last) if bound or whole else None


def _minimum(net: Network, costs: Vector, limits: Limits, **how: Any) -> Solved | None:
    """What minimum finds of a program's columns; `how` are its other arguments."""
    return minimum(costs, net.rows, net.integral, limits, lacking=net.lacking, **how)


def taken(net: Network) -> Chosen:
    """The plan at hand."""
    return Chosen({v: v.choice for v in net.options}, {slot: slot.layout() for slot in net.every.layouts})


def _chosen(net: Network, columns: Vector) -> Chosen:
    layouts = net.layouts(columns)
    return Chosen(net.choices(columns), {slot: layouts[slot.args[0]] for slot in net.every.layouts})


def _at_most(costs: Vector, limit: float) -> Row:
    return [(int(column), float(costs[column])) for column in np.flatnonzero(costs)], -inf, limit


def _apply(net: Network, columns: Vector, kept: Chosen) -> Total:
    """Take a plan, and of equally good choices those that were `kept`, then those of less work."""
    problem = net.problem
    _chosen(net, columns).take(problem)
    for _ in range(SWEEPS):
        changed = [
            variable
            for variable, options in net.options.items()
            if _settle(net, variable, kept.choices[variable], options)
        ]
        if not changed:
            break
    return problem.cost(net.scope)


def _settle(net: Network, variable: Variable, kept: Choice, options: list[Choice]) -> bool:
    """Give an operation its best choice with no more bytes and no more collectives; whether that changed it.

    Only choices are tried for which no copy need be made that is not there.
    """
    problem, now, first = net.problem, variable.choice, kept is not variable.choice
    places: set[int] | None = None
    for value, index, operand in _ends(variable):
        have = [*problem.needs(value), problem.given(value)]
        first = first and (kept.operands if operand else kept.results)[index] in have
        if places is None or places:
            groups = net.prices.groups(options, index, operand)
            here = {place for layout in have for place in groups.get(layout, ())}
            places = here if places is None else places & here
        if not first and not places:
            return False
    chosen = [options[place] for place in sorted(places or ())]
    there = [*([kept] if first else []), *(choice for choice in chosen if choice is not now)]
    if not there:
        return False
    best, least = now, problem.cost([variable])
    start = least
    for choice in there:
        variable.choice = choice
        cost = problem.cost([variable])
        if cost[0] <= start[0] and cost[1] <= start[1] and cost < least:
            best, least = choice, cost
    variable.choice = best
    return best is not now


def _ends(variable: Variable) -> list[tuple[int, int, bool]]:
    """The values that an operation uses and makes, as the operand (True) or result of which number."""
    operands, results = (list(enumerate(each)) for each in (variable.node.operands, variable.node.results))
    return [*((value, i, True) for i, value in operands), *((value, i, False) for i, value in results)]
