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
from shardc.planning.program.problem import Problem
from shardc.planning.program.variables import Slot, Variable, kept
from shardc.rules.assign import Assignment, project

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
    if problem.made:  # operations that stand for several may use what a later one makes
        found = _found(problem, atoms, waiting, most)
    while _carried(problem, waiting):
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
            if listed > most:
                raise TooMany
        for index, value in enumerate(variable.node.results):
            made = _waiting([choice.results[index] for choice in options], atoms)
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


def _held(problem: Problem, slot: Slot, found: dict[Variable, list[Choice]]) -> list[Sharding]:
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
        each for each in dict.fromkeys(layouts) if not problem.expected or kept(now, each, problem.strict)
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
    problem: Problem, variable: Variable, atoms: tuple[Axis, ...], waiting: Waiting, most: int
) -> list[Choice]:
    """The distinct choices of an operation, cheapest form of equal ones, the current one first."""
    best: dict[tuple[tuple[Sharding, ...], tuple[Sharding, ...]], Choice] = {}

    def rank(choice: Choice) -> tuple[int, int, float]:
        return (*problem.own_cost(variable, choice), -float(choice.parts))

    for choice in (variable.choice, *_choices(problem, variable, atoms, waiting, most)):
        if choice is not variable.choice and not problem.admits(variable, choice):
            continue
        key = (choice.operands, choice.results)
        known = best.get(key)
        if known is None or rank(choice) < rank(known):
            best[key] = choice
    return list(best.values())


def _choices(
    problem: Problem, variable: Variable, atoms: tuple[Axis, ...], waiting: Waiting, most: int
) -> list[Choice]:
    """The choices of an operation; equal questions get the same list."""
    manual = problem.manual.get(variable.node.results[0], NO_AXES)
    atoms = tuple(atom for atom in atoms if atom.name not in manual)
    operands = variable.node.operands
    flows = tuple(
        (
            kind,
            group,
            tuple(any((atom, kind) in waiting.get(operands[i], ()) for i in group) for atom in atoms),
        )
        for kind, group in variable.flows
    )
    results = tuple(map(problem.layout, variable.node.results)) if problem.expected else None
    key = (variable.signature, atoms, flows, _laid_out(problem, variable), results)
    if key not in problem.listed:
        problem.listed[key] = [*_listed(problem, variable, atoms, flows, results, most)]
    return problem.listed[key]


Flows = tuple[tuple[str, frozenset[int], tuple[bool, ...]], ...]
"""Kinds of partial results, the operands they pass, and over which atoms they may."""


def _listed(
    problem: Problem,
    variable: Variable,
    atoms: tuple[Axis, ...],
    flows: Flows,
    results: tuple[Sharding, ...] | None,
    most: int,
) -> Iterator[Choice]:
    rule = variable.rule
    assert rule is not None
    uneven = _laid_out(problem, variable)
    usable = [_factors(variable, atom, uneven) for atom in atoms]
    if results is not None:
        usable = [_keeping(rule, results, atom, factors) for atom, factors in zip(atoms, usable, strict=True)]
    ways = [form.name for form in forms_of(variable.node.name)]
    seen: dict[tuple[Assignment, Carried | None], None] = {}
    for kind, group, through in [("sum", frozenset[int](), (False,) * len(atoms)), *flows]:
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


def _keeping(rule: FactorRule, results: tuple[Sharding, ...], atom: Axis, factors: list[int]) -> list[int]:
    """Those of the factors over which an atom leaves results split as they are."""
    found = [project(dims, layout, rule) for dims, layout in zip(rule.results, results, strict=True)]
    if any(projection.overflow for projection in found):
        return factors
    held = [projection.axes for projection in found]
    return [
        factor
        for factor in factors
        if all(any(axis.contains(atom) for axis in axes.get(factor, (atom,))) for axes in held)
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
