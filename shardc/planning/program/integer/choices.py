"""Every way to run an operation, for a search that weighs them all.

Each axis splits one factor, waits in partial results that flow through, or holds copies. Factors are split
unevenly only where something in the program is already laid out so.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from shardc.analysis.manual import AxisNames
from shardc.forms.choice import Choice
from shardc.layout import Axis, Sharding
from shardc.ops import Trait, has
from shardc.planning.program.integer.listing import TooMany, listed, places_now, roughly, stated
from shardc.planning.program.integer.together import Groups
from shardc.planning.program.problem.candidates import laid_out, made
from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.problem.variables import Slot, Variable, kept

Waiting = dict[int, frozenset[tuple[Axis, str]]]
"""For each value the atoms over which it could come out as a partial result, with its kind."""


TWICE = 2  # some assignments are no choices, or equal ones; in no program that was measured half of them


class Every(Struct, frozen=True):
    """All choices of the variables that are open, in program order, and all layouts of what loops carry."""

    choices: dict[Variable, list[Choice]]
    layouts: dict[Slot, list[Sharding]]


def every(problem: Problem, groups: Groups, most: int, free: AxisNames | None = None) -> Every:
    """What there is to choose from; with `free`, where all axes but those of these names stay where they are.

    TooMany if it is more than `most` assignments.
    """
    atoms = groups.atoms
    if free is None and _far_more(problem, groups, most):
        raise TooMany
    waiting: Waiting = {v: _waiting([layout], atoms) for v, (layout, _) in problem.arguments.items()}
    found = _found(problem, groups, waiting, most, free)
    if problem.made:  # operations that stand for several may use what a later one makes
        found = _found(problem, groups, waiting, most, free)
    while _carried(problem, waiting):
        found = _found(problem, groups, waiting, most, free)
    for variable in reversed(problem.variables):
        if problem.open(variable) and has(variable.node.name, Trait.SOURCE):
            found[variable] = _created(problem, variable, found)
    ordered = {variable: found[variable] for variable in problem.variables if variable in found}
    return Every(ordered, {slot: _held(problem, slot, found, free) for slot in problem.slots})


def _far_more(problem: Problem, groups: Groups, most: int) -> bool:
    """Whether there are more than TWICE as many assignments, seen without making one."""
    count, known = 0, dict[object, int]()
    for variable in problem.variables:
        if problem.open(variable) and variable.rule is not None:
            manual = problem.context(variable.node.results[0]).manual
            layouts = tuple(map(problem.layout, variable.node.results))
            key = (variable.signature, manual, layouts, laid_out(problem, variable))
            if key not in known:
                known[key] = roughly(problem, variable, groups.without(manual))
            count += known[key]
            if count > TWICE * most:
                return True
    return False


def _found(
    problem: Problem, groups: Groups, waiting: Waiting, most: int, free: AxisNames | None
) -> dict[Variable, list[Choice]]:
    """The choices of operations; `waiting` has those of arguments and gets those of results."""
    found: dict[Variable, list[Choice]] = {}
    known: dict[tuple[int, int], frozenset[tuple[Axis, str]]] = {}
    listed, atoms = 0, groups.atoms
    for variable in problem.variables:
        options = [variable.choice]
        if problem.open(variable) and variable.rule is not None:
            found[variable] = options = _all(problem, variable, groups, waiting, most - listed, free)
            listed += len(options)
            if listed > most:
                raise TooMany
        for index, value in enumerate(variable.node.results):
            key = id(options), index
            made = known.get(key)
            if made is None:
                made = _waiting([choice.results[index] for choice in options], atoms)
                if variable in found:  # whose list stays
                    known[key] = made
            waiting[value] = waiting.get(value, frozenset()) | made
    return found


def _carried(problem: Problem, waiting: Waiting) -> bool:
    """Let loops carry what their bodies return as partial results; whether that is more than was known.

    What an inner loop carries so, the outer one may find to carry next.
    """
    more = False
    for slot in problem.slots:
        returned = waiting[slot.end.node.operands[slot.index]]
        for value in (*slot.args, slot.loop.node.results[slot.index]):
            more = more or not returned <= waiting[value]
            waiting[value] |= returned
    return more


def _held(
    problem: Problem, slot: Slot, found: dict[Variable, list[Choice]], free: AxisNames | None
) -> list[Sharding]:
    """The layouts in which the body could use or return what a loop carries, the current one first."""
    now = slot.layout()
    layouts = [now]
    for value in slot.args:
        for user, index in problem.consumers.get(value, []):
            layouts += [choice.operands[index] for choice in found.get(user, [])]
    returned = slot.end.node.operands[slot.index]
    if returned in problem.producer:
        maker, index = problem.producer[returned]
        layouts += [choice.results[index] for choice in found.get(maker, [])]
    return [
        each
        for each in dict.fromkeys(layouts)
        if (not problem.expected or kept(now, each, problem.strict))
        and (free is None or without(each, free) == without(now, free))
    ]


def _waiting(layouts: list[Sharding], atoms: tuple[Axis, ...]) -> frozenset[tuple[Axis, str]]:
    return frozenset(
        (atom, layout.kind)
        for layout in dict.fromkeys(layouts)
        for axis in layout.unreduced
        for atom in atoms
        if atom.overlaps(axis)
    )


def _created(problem: Problem, variable: Variable, found: dict[Variable, list[Choice]]) -> list[Choice]:
    """What is made from nothing can be made as any of its users could need it."""
    needs = [variable.choice.results[0]]
    for value in variable.node.results:
        for user, index in problem.consumers.get(value, []):
            needs += [choice.operands[index] for choice in found.get(user, [user.choice])]
    return [variable.choice, *(made(need) for need in dict.fromkeys(needs[1:]) if need != needs[0])]


def _all(
    problem: Problem,
    variable: Variable,
    groups: Groups,
    waiting: Waiting,
    most: int,
    free: AxisNames | None,
) -> list[Choice]:
    """The distinct choices of an operation, cheapest form of equal ones, the current one first.

    Equal questions get the same list.
    """
    choices, now = _choices(problem, variable, groups, waiting, most, free), variable.choice
    key = (id(choices), id(now), variable.work, variable.least_parts, free, problem.strict)
    if key not in problem.weighed:
        problem.weighed[key] = now, _distinct(problem, variable, choices, free)
    return problem.weighed[key][1]


def _distinct(
    problem: Problem, variable: Variable, choices: list[Choice], free: AxisNames | None
) -> list[Choice]:
    best: dict[tuple[tuple[Sharding, ...], tuple[Sharding, ...]], Choice] = {}
    admits = problem.admits(variable)

    def rank(choice: Choice) -> tuple[int, int, float]:
        return (*problem.own_cost(variable, choice), -float(choice.parts))

    for choice in (variable.choice, *choices):
        if not admits(choice) and choice != variable.choice:
            continue
        if free is not None and not _alike(choice, variable.choice, free):
            continue
        key = (choice.operands, choice.results)
        known = best.get(key)
        if known is None or rank(choice) < rank(known):
            best[key] = choice
    return list(best.values())


def _alike(choice: Choice, other: Choice, free: AxisNames) -> bool:
    """Whether two choices are the same but for some axes."""
    pairs = zip((*choice.operands, *choice.results), (*other.operands, *other.results), strict=True)
    return all(without(layout, free) == without(known, free) for layout, known in pairs)


@lru_cache(maxsize=65536)
def without(layout: Sharding, free: AxisNames) -> tuple[tuple[Axis, ...], ...]:
    """The axes that split each dimension, and those of partial results, but for the pieces of some."""
    partial = sorted(layout.unreduced, key=str)
    return tuple(
        tuple(axis for axis in axes if axis.name not in free)
        for axes in (*(dim.axes for dim in layout.dims), partial)
    )


def _choices(
    problem: Problem,
    variable: Variable,
    groups: Groups,
    waiting: Waiting,
    most: int,
    free: AxisNames | None,
) -> list[Choice]:
    """The choices of an operation; equal questions get the same list."""
    manual = problem.context(variable.node.results[0]).manual
    groups = groups.without(manual)
    atoms, operands = groups.atoms, variable.node.operands
    flows = tuple(
        (
            kind,
            group,
            tuple(any((atom, kind) in waiting.get(operands[i], ()) for i in group) for atom in atoms),
        )
        for kind, group in variable.flows
    )
    left = stated(problem, variable)
    held = None if free is None else places_now(problem, variable, atoms, free)
    key = (variable.signature, groups, flows, laid_out(problem, variable), left, held)
    if key not in problem.menu.listed:
        problem.menu.listed[key] = [*listed(problem, variable, groups, flows, left, held, most)]
    return problem.menu.listed[key]
