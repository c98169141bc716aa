"""Every way to run an operation, for a search that weighs them all.

Each axis splits one factor, waits in partial results that flow through, or holds copies. Factors are split
unevenly only where something in the program is already laid out so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product

from shardc.analysis.manual import NO_AXES
from shardc.forms.choice import Carried, Choice, choose
from shardc.forms.table import forms_of
from shardc.layout import Axis, Sharding, merge, size_of
from shardc.ops import Trait, has
from shardc.ops.rule import FactorRule
from shardc.planning.program.candidates import Wish, made, wishes
from shardc.planning.program.problem import Problem, Slot, Variable
from shardc.rules.assign import Assignment

Waiting = dict[int, frozenset[tuple[Axis, str]]]
"""For each value the atoms over which it could come out as a partial result, with its kind."""

AtomPlace = int | None | str


class TooMany(Exception):
    """There are more ways to run the operations than are worth listing."""


@dataclass(frozen=True)
class Every:
    """All choices of the variables that are open, in program order, and all layouts of what loops carry."""

    choices: dict[Variable, list[Choice]]
    layouts: dict[Slot, list[Sharding]]


def every(problem: Problem, atoms: tuple[Axis, ...], most: int) -> Every:
    """What there is to choose from. TooMany if it is more than `most` assignments."""
    waiting: Waiting = {v: _waiting([layout], atoms) for v, (layout, _) in problem.arguments.items()}
    found = _found(problem, atoms, waiting, most)
    if problem.slots:  # the body may return a partial result, and so carry one
        for slot in problem.slots:
            returned = slot.end.node.operands[slot.index]
            waiting.update((value, waiting[value] | waiting[returned]) for value in slot.args)
        found = _found(problem, atoms, waiting, most)
    for variable in reversed(problem.variables):
        if problem.open(variable) and has(variable.node.name, Trait.SOURCE):
            found[variable] = _created(problem, variable, found)
    ordered = {variable: found[variable] for variable in problem.variables if variable in found}
    return Every(ordered, {slot: _held(problem, slot, found) for slot in problem.slots})


def _found(
    problem: Problem, atoms: tuple[Axis, ...], waiting: Waiting, most: int
) -> dict[Variable, list[Choice]]:
    """The choices of operations; `waiting` has those of arguments and gets those of results."""
    found: dict[Variable, list[Choice]] = {}
    listed = 0
    for variable in problem.variables:
        options = [variable.choice]
        if problem.open(variable) and variable.rule is not None:
            found[variable] = options = _all(problem, variable, atoms, waiting, most - listed)
            listed += len(options)
        for index, value in enumerate(variable.node.results):
            waiting[value] = _waiting([choice.results[index] for choice in options], atoms)
    return found


def _held(problem: Problem, slot: Slot, found: dict[Variable, list[Choice]]) -> list[Sharding]:
    """The layouts in which the body could use or return what a loop carries, the current one first."""
    layouts = [slot.layout()]
    for value in slot.args:
        for user, index in problem.consumers.get(value, []):
            layouts += [choice.operands[index] for choice in found.get(user, [])]
    returned = slot.end.node.operands[slot.index]
    if returned in problem.producer:
        maker, index = problem.producer[returned]
        layouts += [choice.results[index] for choice in found.get(maker, [])]
    return list(dict.fromkeys(layouts))


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
    problem: Problem, variable: Variable, atoms: tuple[Axis, ...], waiting: Waiting, most: int
) -> list[Choice]:
    """The distinct choices of an operation, cheapest form of equal ones, the current one first."""
    best: dict[tuple[tuple[Sharding, ...], tuple[Sharding, ...]], Choice] = {}

    def rank(choice: Choice) -> tuple[int, int, float]:
        return (*problem.own_cost(variable, choice), -float(choice.parts))

    for choice in (variable.choice, *_choices(problem, variable, atoms, waiting, most)):
        if choice.parts < variable.least_parts:
            continue
        key = (choice.operands, choice.results)
        known = best.get(key)
        if known is None or rank(choice) < rank(known):
            best[key] = choice
    return list(best.values())


def _choices(
    problem: Problem, variable: Variable, atoms: tuple[Axis, ...], waiting: Waiting, most: int
) -> Iterator[Choice]:
    rule = variable.rule
    assert rule is not None
    manual = problem.manual.get(variable.node.results[0], NO_AXES)
    atoms = tuple(atom for atom in atoms if atom.name not in manual)
    uneven = _laid_out(problem, variable)
    usable = [_factors(variable, atom, uneven) for atom in atoms]
    flows = [
        (
            kind,
            group,
            [any((atom, kind) in waiting[variable.node.operands[i]] for i in group) for atom in atoms],
        )
        for kind, group in variable.flows
    ]
    ways = [form.name for form in forms_of(variable.node.name)]
    seen: dict[tuple[Assignment, Carried | None], None] = {}
    for kind, group, through in [("sum", frozenset[int](), [False] * len(atoms)), *flows]:
        places = [
            [None, *factors, *(["flow"] if flow else [])]
            for factors, flow in zip(usable, through, strict=True)
        ]
        for placed in product(*places):
            carried = merge(atom for atom, place in zip(atoms, placed, strict=True) if place == "flow")
            if bool(carried) != bool(group):
                continue
            for assignment in _orders(len(rule.factors), atoms, placed):
                if _uneven(rule, assignment, uneven):
                    continue
                seen[assignment, Carried(carried, group, kind) if carried else None] = None
                if len(seen) > most:
                    raise TooMany
    for assignment, carried in seen:
        for way in ways:
            choice = _chosen(problem, variable, assignment, carried, way)
            if choice is not None:
                yield choice


def _chosen(
    problem: Problem, variable: Variable, assignment: Assignment, carried: Carried | None, way: str
) -> Choice | None:
    """The choice under an assignment; equal questions get the same object."""
    assert variable.rule is not None
    key = (variable.signature, assignment, carried, way)
    if key not in problem.built:
        problem.built[key] = choose(variable.op, variable.rule, assignment, problem.mesh, carried, way)
    return problem.built[key]


def _laid_out(problem: Problem, variable: Variable) -> frozenset[Wish]:
    """The splits that propagation gave the operation's tensors."""
    layouts = [*map(problem.layout, (*variable.node.operands, *variable.node.results))]
    return frozenset(wishes(problem, variable, layouts, range(len(layouts))))


def _factors(variable: Variable, atom: Axis, uneven: frozenset[Wish]) -> list[int]:
    """The factors that an atom may split."""
    rule, special = variable.rule, set[int]()
    assert rule is not None
    for form in forms_of(variable.node.name):
        special |= form.splits(variable.op, rule)
    known = {factor for factor, axis in uneven if axis.overlaps(atom)}
    return [
        index
        for index, factor in enumerate(rule.factors)
        if (factor.is_plain or index in special) and (factor.size % atom.size == 0 or index in known)
    ]


def _uneven(rule: FactorRule, assignment: Assignment, known: frozenset[Wish]) -> bool:
    """Whether an assignment splits a factor unevenly that is not split by the same axes already."""
    return any(
        factor.size % size_of(axes) and not all((index, axis) in known for axis in axes)
        for index, (factor, axes) in enumerate(zip(rule.factors, assignment, strict=True))
    )


def _orders(count: int, atoms: tuple[Axis, ...], placed: tuple[AtomPlace, ...]) -> Iterator[Assignment]:
    """The assignments that put atoms where `placed` says, in every order within a factor."""
    per = [[atom for atom, place in zip(atoms, placed, strict=True) if place == f] for f in range(count)]
    for orders in product(*map(permutations, per)):
        yield tuple(merge(axes) for axes in orders)
