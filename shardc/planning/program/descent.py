"""Finding good choices: each operation by itself, then groups of operations that only gain together.

Descent by single operations stops at the first plan that no one operation can improve. Four moves go on from
there, each kept only if it makes the plan cheaper:

* *meet*: all operations that share a copy of a value take it as it comes instead, or as another copy;
* *carry*: a loop carries a partial sum, which is reduced once after it;
* *flow*: a partial result flows through the whole region it can reach, up to the sums where it meets others;
* *region* (program/regions.py): one operation runs in another way, and its neighbours follow as far as they
  gain.

Deterministic: program order, first best wins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from heapq import heappop, heappush
from itertools import islice

from shardc.forms.choice import Choice
from shardc.layout import Sharding
from shardc.planning.program.candidates import candidates
from shardc.planning.program.cheapest import cheapest
from shardc.planning.program.problem import Problem, Slot, Total, Variable
from shardc.planning.program.regions import change_regions

SWEEPS = 8
ALONE = 16  # operations that a single partial result is followed through


def descend(problem: Problem) -> None:
    """Change the problem's choices for cheaper ones until nothing tried is cheaper."""
    for _ in range(SWEEPS):
        settle(problem)
        if not change_regions(problem):
            break


def follow(problem: Problem) -> None:
    """Let what is made from constants be made as its consumer needs it, last things first."""
    for variable in reversed(problem.variables):
        if len(variable.node.results) == 1 and variable.node.results[0] in problem.free:
            need = problem.given(variable.node.results[0])
            options = [c for c in candidates(problem, variable) if c.results == (need,)]
            variable.choice = cheapest(problem, variable, options) or variable.choice
    problem.free.clear()


def settle(problem: Problem) -> None:
    """Improve by single operations, kept values and flows until none of them helps."""
    for sweep in range(SWEEPS):
        order = problem.variables if sweep % 2 == 0 else problem.variables[::-1]
        moved = [variable for variable in order if problem.open(variable) and _single(problem, variable)]
        met = [value for value in problem.values if _meet(problem, value)]
        flowed = [region for region in _regions(problem) if _flow(problem, region)]
        carried = [slot for slot in problem.slots if _carry(problem, slot)]
        if not moved and not met and not flowed and not carried:
            return


def _single(problem: Problem, variable: Variable) -> bool:
    """Give one operation its best choice under the others' choices; whether that changed it."""
    best = cheapest(problem, variable, [variable.choice, *candidates(problem, variable)])
    changed = best is not None and best is not variable.choice
    variable.choice = best or variable.choice
    return changed


def _meet(problem: Problem, value: int) -> bool:
    """Let all consumers that share a copy of a value take it as it comes, or as they all can take it.

    None of them gains alone: the copy stays as long as one consumer needs it.
    """
    for need in problem.needs(value):
        users = problem.users(value, need)
        if len(users) > 1 and not any(variable.fixed for variable in users):
            for layout in _common(problem, users, value, need):
                if _attempt(
                    problem, users, lambda variable, layout=layout: _taking(problem, variable, value, layout)
                ):
                    return True
    return False


def _common(problem: Problem, users: list[Variable], value: int, need: Sharding) -> list[Sharding]:
    """The layouts in which all users can take a value, but for `need`; as it comes first."""
    ways = [
        {c.operands[i]: None for c in candidates(problem, user) for i in _places(user, value)}
        for user in users
    ]
    given = problem.given(value)
    shared = [
        layout for layout in ways[0] if all(layout in way for way in ways) and layout not in (need, given)
    ]
    return [given, *shared]


def _places(variable: Variable, value: int) -> list[int]:
    return [i for i, operand in enumerate(variable.node.operands) if operand == value]


def _taking(problem: Problem, variable: Variable, value: int, layout: Sharding) -> Choice | None:
    """The cheapest choice of an operation that takes `value` in a layout."""
    places, options = _places(variable, value), candidates(problem, variable)
    return cheapest(problem, variable, [c for c in options if all(c.operands[i] == layout for i in places)])


def _carry(problem: Problem, slot: Slot) -> bool:
    """Let a loop carry what its body adds up as the partial sum it comes as, if that is cheaper."""
    returned = slot.end.node.operands[slot.index]
    adder = problem.producer[returned][0] if returned in problem.producer else None
    if adder is None or not problem.open(adder) or not set(slot.args) & set(adder.node.operands):
        return False
    terms = [problem.given(v) for v in adder.node.operands if v not in slot.args]
    now, choice = slot.layout(), adder.choice
    around = [slot.loop, slot.end, adder]
    cost = problem.cost(around)
    held = [axis for dim in now.dims for axis in dim.axes]
    for term in terms:
        clash = any(axis.overlaps(other) for axis in term.unreduced for other in held)
        if term.unreduced and not now.unreduced and not clash:
            problem.carry(slot, replace(now, unreduced=term.unreduced, kind=term.kind))
            adder.choice = cheapest(problem, adder, candidates(problem, adder)) or choice
            if problem.cost(around) < cost:
                return True
            problem.carry(slot, now)
            adder.choice = choice
    return False


def _flow(problem: Problem, region: list[Variable]) -> bool:
    """Let partial results flow through a region, as far as is cheapest; whether they get anywhere."""
    before = [variable.choice for variable in region]
    least = change = (0, 0, 0, 0, 0)
    reached = 0
    for count, variable in enumerate(region, start=1):
        old = problem.cost([variable])
        variable.choice = _partial(problem, variable) or variable.choice
        new = problem.cost([variable])
        change = _sum(change, _sum(new, old, -1))
        if change < least:
            least, reached = change, count
    for variable, choice in zip(region[reached:], before[reached:], strict=True):
        variable.choice = choice
    return reached > 0


def _sum(one: Total, other: Total, times: int = 1) -> Total:
    moved, collectives, steps, work, late = (a + times * b for a, b in zip(one, other, strict=True))
    return moved, collectives, steps, work, late


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


def _regions(problem: Problem) -> list[list[Variable]]:
    """What the partial results at hand could flow through: for each one alone, then where several meet."""
    sources = [v for v in problem.variables if any(result.unreduced for result in v.choice.results)]
    place = {variable: number for number, variable in enumerate(problem.variables)}
    alone = [list(islice(_reach(problem, place, [source]), ALONE)) for source in sources]
    together = list(_reach(problem, place, sources))
    regions = [region for region in alone if region]
    meeting = [region for region in _connected(together) if region not in regions]
    return regions + meeting


def _reach(problem: Problem, place: dict[Variable, int], sources: Iterable[Variable]) -> Iterator[Variable]:
    """The operations that partial results of the sources could flow through, in program order."""
    coming = sorted(place[source] for source in sources)  # a heap
    reached: set[int] = set()
    last = -1
    while coming:
        now = heappop(coming)
        if now == last:
            continue
        last, variable = now, problem.variables[now]
        if now in reached:
            yield variable
        for user, index in (
            pair for value in variable.node.results for pair in problem.consumers.get(value, [])
        ):
            if place[user] > now and any(index in group for _, group in user.flows):
                reached.add(place[user])
                heappush(coming, place[user])


def _connected(variables: list[Variable]) -> list[list[Variable]]:
    """The variables in groups that hand values to each other, each in program order."""
    group_of: dict[int, list[Variable]] = {}
    groups: list[list[Variable]] = []
    for variable in variables:
        own = [variable]
        for value in variable.node.operands:
            other = group_of.get(value)
            if other is not None and other is not own:
                other.extend(own)
                groups = [group for group in groups if group is not own]
                group_of = {v: other if g is own else g for v, g in group_of.items()}
                own = other
        if own[0] is variable:
            groups.append(own)
        group_of.update(dict.fromkeys(variable.node.results, own))
    order = {id(variable): index for index, variable in enumerate(variables)}
    return [sorted(group, key=lambda variable: order[id(variable)]) for group in groups]


def _partial(problem: Problem, variable: Variable) -> Choice | None:
    """The cheapest choice of an operation among those with the most axes left unreduced."""
    options = [variable.choice, *candidates(problem, variable)]
    most = max(_unreduced(choice) for choice in options)
    return cheapest(problem, variable, [c for c in options if _unreduced(c) == most]) if most else None


def _unreduced(choice: Choice) -> int:
    return sum(len(result.unreduced) for result in choice.results)
