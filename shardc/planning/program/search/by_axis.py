"""Better plans of programs that are too large to be solved whole: one mesh axis after the other, everywhere.

All operations may use one axis otherwise than they do, while the others stay where they are: an operation has
about as many choices as it has dimensions then, however many axes there are, and a program of a thousand
operations is one integer program (network.py). The axis that gains most comes first, where that is soon seen:
what is chosen along the first one is hardly left again. Then axes take turns until none gains. Where that is
too large still, the operations are taken in runs, half of each with the last and half with the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from shardc.analysis.manual import AxisNames
from shardc.layout import LayoutError
from shardc.planning.program.costs.prices import Prices
from shardc.planning.program.integer.building import network
from shardc.planning.program.integer.choices import Every, every
from shardc.planning.program.integer.listing import TooMany
from shardc.planning.program.integer.solve import take_cheapest
from shardc.planning.program.integer.together import Groups
from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.problem.variables import Slot, Variable
from shardc.planning.program.search.exact import atoms_of_program, groups_of_program
from shardc.planning.program.search.saved import SavedChoices

TURNS = 4  # of each axis
ENOUGH = 0.99  # of the time: an axis that gains less is done
WORK = 50_000  # columns of all programs: two seconds
LATE = 125_000  # with latency
ASSIGNMENTS = 20_000  # ways to run all operations along one axis; more are not listed
MANY = 2  # programs along each of the other axes have to be left: else the first axis is taken
RUN = 2_500  # of those that are weighed at once


def by_axis(problem: Problem) -> None:
    """Change the problem's choices for those of a better plan."""
    try:
        search = _Search.of(problem)
    except (TooMany, LayoutError):
        return
    turns = search.groups.apart()
    before, (last, idle) = problem.total()[0], search.steepest(turns)
    gained = problem.total()[0] <= ENOUGH * before
    idle = 0 if gained else idle
    for turn in range(last + 1, last + 1 + (TURNS - 1) * len(turns)):
        before = problem.total()[0]
        if idle >= len(turns) - gained or not search.work or not search.free(turns[turn % len(turns)]):
            return
        gains = problem.total()[0] <= ENOUGH * before
        gained, idle = gained or gains, 0 if gains else idle + 1


class _Search(Struct):
    """A search with so many columns left."""

    problem: Problem
    groups: Groups
    prices: Prices
    work: int

    @staticmethod
    def of(problem: Problem) -> _Search:
        groups, work = groups_of_program(problem), WORK if problem.rates.flat else LATE
        return _Search(problem, groups, problem.prices(atoms_of_program(problem, groups)), work)

    def free(self, axes: AxisNames) -> bool:
        """Take the best plan that differs from the one at hand along some axes; whether all was solved."""
        try:
            for inside, scope in _runs(every(self.problem, self.groups, ASSIGNMENTS, axes)):
                net = network(self.problem, inside, self.prices, most=self.work, scope=scope)
                found = take_cheapest(net, work=self.work, ties=False)
                self.work = 0 if found is None else self.work - found.solved
                if not self.work:
                    return False
        except (TooMany, LayoutError):
            return False
        return True

    def steepest(self, turns: Sequence[AxisNames]) -> tuple[int, int]:
        """Take the best of the plans that differ from the one at hand along some axes each: along which it
        does, and how many were looked at, since some work is left for the next ones."""
        begun = best = SavedChoices(self.problem)
        first, looked, left = 0, 0, self.work
        for axes in turns:
            begun.restore()
            looked, done, found = looked + 1, self.free(axes), SavedChoices(self.problem)
            if found.cost < best.cost:
                best, first = found, looked - 1
            if not done or MANY * (len(turns) - 1) * (left - self.work) > self.work:
                break
        best.restore()
        return first, looked


def _runs(choices: Every) -> Iterator[tuple[Every, list[Variable] | None]]:
    """The choices of so many operations as can be weighed at once, with the operations; None if all can."""
    if sum(map(len, choices.choices.values())) <= RUN:
        yield choices, None
        return
    variables = list(choices.choices)
    start = end = 0
    while end < len(variables):
        size, end = 0, start
        while end < len(variables) and (end == start or size + len(choices.choices[variables[end]]) <= RUN):
            size += len(choices.choices[variables[end]])
            end += 1
        run = {variable: choices.choices[variable] for variable in variables[start:end]}
        bodies = {id(variable.region) for variable in run}
        slots = {slot: held for slot, held in choices.layouts.items() if id(slot.end.region) in bodies}
        yield Every(run, slots), [*run, *_ends(slots)]
        start = max(start + 1, (start + end) // 2)


def _ends(slots: Iterable[Slot]) -> dict[Variable, None]:
    """The loops and the ends of their bodies."""
    return dict.fromkeys(variable for slot in slots for variable in (slot.loop, slot.end))
