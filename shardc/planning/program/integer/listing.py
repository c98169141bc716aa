"""The assignments that an operation may run under, as choices: each axis on each factor that it may split."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, permutations, product
from math import prod
from typing import NamedTuple

from shardc.analysis.manual import AxisNames
from shardc.forms.choice import Carried, Choice
from shardc.layout import Axis, Sharding, merge
from shardc.layout.difference import split
from shardc.ops.rule import Dims, FactorRule
from shardc.planning.program.integer.together import Groups, admitted
from shardc.planning.program.problem.candidates import laid_out, unevenly, wishes
from shardc.planning.program.problem.menu import AtomPlace, Held, Order, Run, Wish
from shardc.planning.program.problem.problem import Problem
from shardc.planning.program.problem.variables import Variable
from shardc.rules.assign import Assignment, project


class Stated(NamedTuple):
    """Layouts in which an operation's results are to be left: `strict`, or also as partial sums of these."""

    layouts: tuple[Sharding, ...]
    strict: bool


Flows = tuple[tuple[str, frozenset[int], tuple[bool, ...]], ...]
"""Kinds of partial results, the operands they pass, and over which atoms they may."""


class TooMany(Exception):
    """There are more ways to run the operations than are worth listing."""


def places_now(problem: Problem, variable: Variable, atoms: tuple[Axis, ...], free: AxisNames) -> Held:
    """Where an operation's current choice has the atoms, but for those of some axes."""
    layouts, known = (*variable.choice.operands, *variable.choice.results), problem.menu.held
    key = variable.signature, layouts, atoms, free
    if key not in known:
        known[key] = _held(problem, variable, layouts, atoms, free)
    return known[key]


def _held(
    problem: Problem,
    variable: Variable,
    layouts: tuple[Sharding, ...],
    atoms: tuple[Axis, ...],
    free: AxisNames,
) -> Held:
    splits = wishes(problem, variable, layouts, range(len(layouts)))
    waits = [axis for layout in variable.choice.operands for axis in layout.unreduced]
    places = tuple(
        None
        if atom.name in free
        else (
            *dict.fromkeys(factor for factor, axis in splits if axis.overlaps(atom)),
            *(["flow"] if any(axis.overlaps(atom) for axis in waits) else []),
        )
        for atom in atoms
    )
    staying = [atom for atom in atoms if atom.name not in free]
    assert variable.rule is not None
    return Held(places, _ordered(variable.rule, variable.rule.tensors, layouts, staying))


def _ordered(
    rule: FactorRule, tensors: Sequence[Dims], layouts: Iterable[Sharding], atoms: Sequence[Axis]
) -> tuple[Order, ...]:
    """In which order tensors have those of some atoms that split one factor."""
    found = dict[Order, None]()
    for dims, layout in zip(tensors, layouts, strict=True):
        for factor, axes in project(dims, layout, rule).axes.items():
            order = split(axes, atoms)
            if len(order) > 1:
                found[factor, order] = None
    return tuple(found)


def stated(problem: Problem, variable: Variable) -> Stated | None:
    """How an operation's results are to be left, if they are."""
    if not problem.expected:
        return None
    return Stated(tuple(map(problem.layout, variable.node.results)), problem.strict)


def roughly(problem: Problem, variable: Variable, groups: Groups) -> int:
    """In how many ways the atoms may be on an operation's factors, in no order of groups, without partial
    results that flow through."""
    each = iter(_usable(problem, variable, groups.atoms, stated(problem, variable)))
    return prod(len(admitted([next(each) for _ in group])) for group in groups.each)


def listed(
    problem: Problem,
    variable: Variable,
    groups: Groups,
    flows: Flows,
    left: Stated | None,
    held: Held | None,
    most: int,
) -> Iterator[Choice]:
    """The choices of an operation with the atoms in all places that they may have; TooMany if there are more
    than `most` assignments."""
    rule, ways = variable.rule, variable.ways
    assert rule is not None and ways is not None
    atoms, uneven = groups.atoms, laid_out(problem, variable)
    usable = _usable(problem, variable, atoms, left)
    orders = held.orders if held else _in_mesh_order(rule, groups)
    if left is not None:
        orders += _ordered(rule, rule.results, left.layouts, atoms)
    seen: dict[tuple[Assignment, Carried | None], None] = {}
    for kind, group, through in [("sum", frozenset[int](), (False,) * len(atoms)), *flows]:
        places = _with_flows(usable, through, left, held)
        each = iter(places)
        grouped = [admitted([next(each) for _ in some]) for some in groups.each]
        for placed in product(*grouped):
            carried = None
            if group:
                flowing = zip(atoms, chain.from_iterable(placed), strict=True)
                axes = merge([atom for atom, place in flowing if place == "flow"])
                if not axes:
                    continue
                carried = Carried(axes, group, kind)
            for assignment in _orders(len(rule.factors), groups, placed, orders):
                if unevenly(rule, assignment, uneven):
                    continue
                seen[assignment, carried] = None
                if len(seen) > most:
                    raise TooMany
    for assignment, carried in seen:
        yield from ways.every(assignment, carried)


def _in_mesh_order(rule: FactorRule, groups: Groups) -> tuple[Order, ...]:
    """That order for every factor, where groups keep theirs."""
    return tuple((factor, groups.atoms) for factor in range(len(rule.factors))) if groups.ordered else ()


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


def _usable(
    problem: Problem, variable: Variable, atoms: Sequence[Axis], left: Stated | None
) -> list[list[AtomPlace]]:
    """The places that each atom may have, but for flows."""
    uneven, rule = laid_out(problem, variable), variable.rule
    assert rule is not None
    every: list[list[AtomPlace]] = [[None, *_factors(variable, atom, uneven)] for atom in atoms]
    if left is None:
        return every
    found = [project(dims, layout, rule) for dims, layout in zip(rule.results, left.layouts, strict=True)]
    if any(projection.overflow for projection in found):
        return every
    held = [projection.axes for projection in found]
    return [_keeping(held, atom, places, left.strict) for atom, places in zip(atoms, every, strict=True)]


def _keeping(
    held: Sequence[dict[int, tuple[Axis, ...]]], atom: Axis, places: list[AtomPlace], strict: bool
) -> list[AtomPlace]:
    """Those of the places in which an atom leaves results split as they are, or if not `strict` as partial
    sums, given the axes that each factor of each result has."""
    has = [{f: any(axis.contains(atom) for axis in axes) for f, axes in each.items()} for each in held]
    named = [each for each in has if any(each.values())]

    def keeps(place: AtomPlace) -> bool:
        if not isinstance(place, int):
            return not named
        if strict and not all(each.get(place, False) for each in named):
            return False
        return all(each.get(place, True) for each in has)

    return [place for place in places if keeps(place)]


def _with_flows(
    usable: list[list[AtomPlace]], through: Sequence[bool], left: Stated | None, held: Held | None
) -> list[list[AtomPlace]]:
    """The places that each atom may have, with flows of the atoms that may flow `through`."""
    found: list[list[AtomPlace]] = []
    for places, flow, stays in zip(
        usable, through, held.places if held else (None,) * len(usable), strict=True
    ):
        flows = flow and (left is None or not left.strict or None in places)
        every: list[AtomPlace] = [*places, *(["flow"] if flows else [])]
        found.append([place for place in every if stays is None or place in (stays or (None,))])
    return found


def _orders(
    count: int, groups: Groups, placed: Sequence[Sequence[AtomPlace]], orders: Sequence[Order]
) -> Iterator[Assignment]:
    """The assignments that put the atoms of groups where `placed` says, in every order of groups within a
    factor that the orders allow."""
    per: dict[int, list[Run]] = {}
    for group, places in zip(groups.each, placed, strict=True):
        for place in dict.fromkeys(places):
            if isinstance(place, int):
                run = tuple([atom for atom, at in zip(group, places, strict=True) if at == place])
                per.setdefault(place, []).append(run)
    factors = sorted(per)
    for each in product(*[_in_order(per[factor], factor, orders) for factor in factors]):
        assignment: list[tuple[Axis, ...]] = [()] * count
        for factor, axes in zip(factors, each, strict=True):
            assignment[factor] = axes
        yield tuple(assignment)


@lru_cache(maxsize=65536)
def _joined(given: tuple[Run, ...], orders: tuple[Run, ...]) -> list[Run]:
    """Some runs one after the other, in every way that leaves the axes of each of `orders` in that order."""
    found = [tuple(chain.from_iterable(several)) for several in permutations(given)]
    return [merge(axes) for axes in found if all([_agree(axes, order) for order in orders])]


def _agree(axes: Run, order: Run) -> bool:
    """Whether those axes that are in both have one order."""
    return [axis for axis in axes if axis in order] == [axis for axis in order if axis in axes]


def _in_order(given: list[Run], factor: int, orders: Sequence[Order]) -> list[Run]:
    """The same for the runs of a factor."""
    if len(given) == 1:
        return [merge(given[0])]
    return _joined(tuple(given), tuple(order for at, order in orders if at == factor))
