"""Axes that always stand together keep their order wherever a plan puts them.

    x: f32[64@(a, b, c), 64]      # and no tensor has one of the three without the others, in this order

Without an annotation that tells them apart, a plan gains nothing by c before a, or by a and c in one
dimension and b in another: only a run of them goes to a dimension, in their order. Else there are seven times
as many ways to place four axes on two dimensions, and twenty-six times as many for five. In programs with
many ways they are one axis altogether, if every dimension can take all of them or none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import comb, perm

from msgspec import Struct

from shardc.layout import Axis, Sharding, size_of
from shardc.layout.difference import split
from shardc.planning.program.problem import Problem


class Group(Struct, frozen=True):
    """An atom, or those that always stand together, in mesh order. `divided`: they may be in several places,
    each a run of them."""

    atoms: tuple[Axis, ...]
    divided: bool = True

    def admits(self, places: Sequence[object]) -> bool:
        """Whether the atoms may be in such places: x, x, y, but not x, y, x."""
        starts = [place for at, place in enumerate(places) if not at or place != places[at - 1]]
        return len(set(starts)) == len(starts) and (self.divided or len(starts) == 1)

    def ways(self, places: int) -> int:
        """In how many ways they may be in so many places."""
        most = min(len(self.atoms), places) if self.divided else 1
        return sum(comb(len(self.atoms) - 1, cuts) * perm(places, cuts + 1) for cuts in range(most))

    def without(self, names: frozenset[str]) -> Group:
        """Those that are no parts of some axes."""
        return Group(tuple(atom for atom in self.atoms if atom.name not in names), self.divided)


Groups = tuple[Group, ...]
"""Every atom, in mesh order, in one group."""

Where = tuple[int, int] | None
"""The dimension, -1 for partial results, and the place in it; None where an atom holds copies."""


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
    return tuple(Group((*group,)) for group in groups)


def singly(groups: Groups) -> Groups:
    """Each atom as a group of its own."""
    return tuple(Group((atom,)) for group in groups for atom in group.atoms)


def undivided(problem: Problem, groups: Groups) -> Groups:
    """Groups as one axis each, where every dimension and factor can take all of it or no part."""
    sizes = {size for value in problem.values for size in problem.graph.type(value).shape}
    rules = [variable.rule for variable in problem.variables if variable.rule is not None]
    sizes.update(factor.size for rule in dict.fromkeys(rules) for factor in rule.factors)
    return tuple(Group(group.atoms, not _all_or_none(group, sizes)) for group in groups)


def _all_or_none(group: Group, sizes: Iterable[int]) -> bool:
    whole = size_of(group.atoms)
    return all(size % whole == 0 or all(size % atom.size for atom in group.atoms) for size in sizes)


def turns_of(groups: Groups) -> list[frozenset[str]]:
    """The names of axes that are improved at once: those of a group, and of groups with parts of one axis."""
    turns = list[frozenset[str]]()
    for group in groups:
        names = frozenset(atom.name for atom in group.atoms)
        if turns and names & turns[-1]:
            names |= turns.pop()
        turns.append(names)
    return turns


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
