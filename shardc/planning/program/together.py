"""Axes that always stand together keep their order wherever a plan puts them.

    x: f32[64@(a, b, c), 64]      # and no tensor has one of the three without the others, in this order

Without an annotation that tells them apart, a plan gains nothing by c before a, or by a and c in one
dimension and b in another, if that is as many parts as runs of them make: they keep their order, and a run
goes to a dimension. Else there are seven times as many ways to place four axes of one size on two dimensions,
and twenty-six times as many for five.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from math import comb, perm
from typing import TypeVar

from shardc.layout import Axis, Sharding
from shardc.layout.difference import split
from shardc.planning.program.problem import Problem

Place = TypeVar("Place")

Groups = tuple[tuple[Axis, ...], ...]
"""Every atom, in mesh order, in one group: alone, or with those that it always stands with."""

Where = tuple[int, int] | None
"""The dimension, -1 for partial results, and the place in it; None where an atom holds copies."""


def atoms_of(groups: Groups) -> tuple[Axis, ...]:
    """The atoms of all groups, in mesh order."""
    return tuple(atom for group in groups for atom in group)


def groups_of(problem: Problem, atoms: Sequence[Axis]) -> Groups:
    """Which atoms always stand together in the layouts that propagation found and that are given."""
    layouts = [*map(problem.layout, problem.values), *(layout for layout, _ in problem.arguments.values())]
    for variable in problem.variables:
        if variable.fixed:
            layouts += [*variable.choice.operands, *variable.choice.results]
    links = problem.rates.machine.axes
    found = [_places(layout, atoms) for layout in dict.fromkeys(layouts)]
    groups = [[atom] for atom in atoms[:1]]
    for one, other in pairwise(atoms):
        like = links.get(one.name) == links.get(other.name)
        if like and all(_follows(places.get(one), places.get(other)) for places in found):
            groups[-1].append(other)
        else:
            groups.append([other])
    return tuple(map(tuple, groups))


def _places(layout: Sharding, atoms: Sequence[Axis]) -> dict[Axis, Where]:
    places: dict[Axis, Where] = {}
    for number, dim in enumerate(layout.dims):
        places.update((atom, (number, at)) for at, atom in enumerate(split(dim.axes, atoms)))
    places.update((atom, (-1, 0)) for atom in split(layout.unreduced, atoms))
    return places


def _follows(one: Where, other: Where) -> bool:
    """Whether both atoms hold copies, are partial, or split one dimension one after the other."""
    if one is None or other is None:
        return one is other
    return one[0] == other[0] and (one[0] < 0 or one[1] + 1 == other[1])


def admitted(group: Sequence[Axis], places: Sequence[Sequence[Place]]) -> list[tuple[Place, ...]]:
    """Where the atoms of a group may be, each in one of its places: in runs, and else as divides a place into
    a number of parts that no run does."""
    every = [*product(*places)]
    kept = [placed for placed in every if in_runs(placed)]
    if len(kept) < len(every):
        known = {_parts(group, placed) for placed in kept}
        for placed in every:
            if _parts(group, placed) not in known:
                known.add(_parts(group, placed))
                kept.append(placed)
    return kept


def in_runs(places: Sequence[object]) -> bool:
    """Whether each place that atoms of a group have is that of a run of them: a, a, b, but not a, b, a."""
    starts = [place for at, place in enumerate(places) if not at or place != places[at - 1]]
    return len(set(starts)) == len(starts)


def _parts(group: Sequence[Axis], placed: Sequence[object]) -> frozenset[tuple[object, int]]:
    """Into how many parts the atoms divide each place."""
    parts: dict[object, int] = {}
    for atom, place in zip(group, placed, strict=True):
        parts[place] = parts.get(place, 1) * atom.size
    return frozenset(parts.items())


def runs(atoms: int, places: int) -> int:
    """In how many ways a group of so many atoms may be on so many places, in runs."""
    return sum(comb(atoms - 1, cuts) * perm(places, cuts + 1) for cuts in range(min(atoms, places)))
