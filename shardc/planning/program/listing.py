"""The assignments that an operation may run under, as choices: each axis on each factor that it may split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, permutations, product
from math import prod

from shardc.forms.choice import Carried, Choice
from shardc.layout import Axis, Sharding, merge, size_of
from shardc.ops.rule import FactorRule
from shardc.planning.program.candidates import wishes
from shardc.planning.program.menu import Wish
from shardc.planning.program.problem import Problem
from shardc.planning.program.together import Groups, admitted, atoms_of, runs
from shardc.planning.program.variables import Variable
from shardc.rules.assign import Assignment, project

AtomPlace = int | None | str
"""A factor that an atom splits, None where it holds copies, or "flow" where partial results flow through."""

Held = tuple[tuple[AtomPlace, ...] | None, ...]
"""For each atom where it is now and has to stay; None for one that may go anywhere."""

Flows = tuple[tuple[str, frozenset[int], tuple[bool, ...]], ...]
"""Kinds of partial results, the operands they pass, and over which atoms they may."""


class TooMany(Exception):
    """There are more ways to run the operations than are worth listing."""


def places_now(problem: Problem, variable: Variable, atoms: tuple[Axis, ...], name: str) -> Held:
    """Where an operation's current choice has the atoms, but for those of one axis."""
    layouts = (*variable.choice.operands, *variable.choice.results)
    splits = wishes(problem, variable, layouts, range(len(layouts)))
    waits = [axis for layout in variable.choice.operands for axis in layout.unreduced]
    return tuple(
        None
        if atom.name == name
        else (
            *dict.fromkeys(factor for factor, axis in splits if axis.overlaps(atom)),
            *(["flow"] if any(axis.overlaps(atom) for axis in waits) else []),
        )
        for atom in atoms
    )


def roughly(problem: Problem, variable: Variable, groups: Groups) -> int:
    """In how many ways the atoms may be on an operation's factors, in no order of groups, without partial
    results that flow through."""
    atoms = atoms_of(groups)
    rule, uneven = variable.rule, laid_out(problem, variable)
    assert rule is not None
    usable = [_factors(variable, atom, uneven) for atom in atoms]
    if problem.expected:
        results = tuple(map(problem.layout, variable.node.results))
        usable = [_keeping(rule, results, atom, factors) for atom, factors in zip(atoms, usable, strict=True)]
    each = iter(usable)
    return prod(runs(len(group), 1 + max(len(next(each)) for _ in group)) for group in groups)


def listed(
    problem: Problem,
    variable: Variable,
    groups: Groups,
    flows: Flows,
    results: tuple[Sharding, ...] | None,
    held: Held | None,
    most: int,
) -> Iterator[Choice]:
    rule, ways = variable.rule, variable.ways
    assert rule is not None and ways is not None
    atoms, uneven = atoms_of(groups), laid_out(problem, variable)
    usable = [_factors(variable, atom, uneven) for atom in atoms]
    if results is not None:
        usable = [_keeping(rule, results, atom, factors) for atom, factors in zip(atoms, usable, strict=True)]
    seen: dict[tuple[Assignment, Carried | None], None] = {}
    for kind, group, through in [("sum", frozenset[int](), (False,) * len(atoms)), *flows]:
        places = [
            [
                place
                for place in (None, *factors, *(["flow"] if flow else []))
                if stays is None or place in (stays or (None,))
            ]
            for factors, flow, stays in zip(usable, through, held or (None,) * len(atoms), strict=True)
        ]
        each = iter(places)
        grouped = [admitted(some, [next(each) for _ in some]) for some in groups]
        for placed in product(*grouped):
            carried = None
            if group:
                flowing = zip(atoms, chain.from_iterable(placed), strict=True)
                axes = merge([atom for atom, place in flowing if place == "flow"])
                if not axes:
                    continue
                carried = Carried(axes, group, kind)
            for assignment in _orders(len(rule.factors), groups, placed):
                if _uneven(rule, assignment, uneven):
                    continue
                seen[assignment, carried] = None
                if len(seen) > most:
                    raise TooMany
    for assignment, carried in seen:
        yield from ways.every(assignment, carried)


def laid_out(problem: Problem, variable: Variable) -> frozenset[Wish]:
    """The splits that propagation gave the operation's tensors."""
    layouts = tuple(map(problem.layout, (*variable.node.operands, *variable.node.results)))
    key = (variable.signature, layouts)
    if key not in problem.menu.splits:
        problem.menu.splits[key] = frozenset(wishes(problem, variable, layouts, range(len(layouts))))
    return problem.menu.splits[key]


def _factors(variable: Variable, atom: Axis, uneven: frozenset[Wish]) -> list[int]:
    """The factors that an atom may split."""
    ways = variable.ways
    assert ways is not None
    known = {factor for factor, axis in uneven if axis.overlaps(atom)}
    return [
        index
        for index, factor in enumerate(ways.rule.factors)
        if index in ways.splits and (factor.size % atom.size == 0 or index in known)
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
        [
            rule.factors[index].size % size_of(axes) and not all((index, axis) in known for axis in axes)
            for index, axes in enumerate(assignment)
            if axes
        ]
    )


def _orders(count: int, groups: Groups, placed: Sequence[Sequence[AtomPlace]]) -> Iterator[Assignment]:
    """The assignments that put the atoms of groups where `placed` says, in every order of groups within a
    factor."""
    per: dict[int, list[list[Axis]]] = {}
    for group, places in zip(groups, placed, strict=True):
        for place in dict.fromkeys(places):
            if isinstance(place, int):
                run = [atom for atom, at in zip(group, places, strict=True) if at == place]
                per.setdefault(place, []).append(run)
    factors = sorted(per)
    for orders in product(*[permutations(per[factor]) for factor in factors]):
        assignment: list[tuple[Axis, ...]] = [()] * count
        for factor, several in zip(factors, orders, strict=True):
            assignment[factor] = merge(chain.from_iterable(several))
        yield tuple(assignment)
