"""Axes that always stand together go together wherever a plan puts them.

    x: f32[64@(a, b, c), 64@d]      # and no tensor has one of the three without the others, in this order

No annotation tells them apart, so the program is one on a mesh where a, b and c are one axis: it has the same
plan there, found as quickly. Else there are seven times as many ways to place four axes of one size on two
dimensions, and twenty-six times as many for five.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

from msgspec import Struct

from shardc.analysis.manual import AxisNames
from shardc.layout import Axis, size_of
from shardc.planning.program.problem.problem import Problem
from shardc.planning.reshard.atoms import AtomPlaces

Place = TypeVar("Place")


class Groups(Struct, frozen=True):
    """Every atom, in mesh order, in one group: alone, or with those that it always stands with. `ordered`:
    the groups stand together, too, and have this order wherever they split one dimension."""

    each: tuple[tuple[Axis, ...], ...]
    ordered: bool = False

    @property
    def atoms(self) -> tuple[Axis, ...]:
        """Those of all groups, in mesh order."""
        return tuple(atom for group in self.each for atom in group)

    def without(self, names: AxisNames) -> Groups:
        """The groups without the axes of these names."""
        if not names:
            return self
        left = (tuple(atom for atom in group if atom.name not in names) for group in self.each)
        return Groups(tuple(group for group in left if group), self.ordered)

    def apart(self) -> list[AxisNames]:
        """For each mesh axis its name, with those of the axes in its groups; the same names once."""
        found = dict[AxisNames, None]()
        for atom in self.atoms:
            own = [group for group in self.each if any(other.name == atom.name for other in group)]
            found[frozenset(other.name for group in own for other in group)] = None
        return [*found]


def groups_of(problem: Problem, atoms: tuple[Axis, ...]) -> Groups:
    """Which atoms always stand together: in the layouts that propagation found, that are given, and that
    operations now have. Where all do they are two axes, about equally large."""
    layouts = [*map(problem.layout, problem.values), *(layout for layout, _ in problem.arguments.values())]
    for variable in problem.variables:
        layouts += [*variable.choice.operands, *variable.choice.results]
    links = problem.rates.machine.axes
    places = [AtomPlaces(layout, atoms) for layout in dict.fromkeys(layouts)]
    groups = [[atom] for atom in atoms[:1]]
    for one, other in pairwise(atoms):
        like = links.get(one.name) == links.get(other.name)
        if like and all(each.together(one, other) for each in places):
            groups[-1].append(other)
        else:
            groups.append([other])
    ordered = len(groups) == 1 < len(atoms)
    if ordered:
        at = min(range(1, len(atoms)), key=lambda at: size_of(atoms[:at]) + size_of(atoms[at:]))
        groups = [[*atoms[:at]], [*atoms[at:]]]
    return Groups(tuple(map(tuple, groups)), ordered)


def admitted(places: Sequence[Sequence[Place]]) -> list[tuple[Place, ...]]:
    """Where the atoms of a group may be, each of which may have some places: together in one."""
    first, *others = places
    return [(place,) * len(places) for place in first if all([place in other for other in others])]
