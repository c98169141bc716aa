"""What of a change of layout moves: over which axes and dimensions, and of which part of the tensor.

On a mesh of up to three axes all of them may move. Of more only these do:

* Not the axes that stay where they are (held.py). Each of their devices has a part of the tensor, and the way
  is that of the part.
* Those that move, as one where they go together.
* Axes that hold copies before and after, if their link is no slower than those of the others: the devices of
  a node each send a part to the next node, and put the parts together there.

Of dimensions only those take part which some axis leaves or enters, and the largest other one, through which
axes may go.

    f32[64, 32, 9] [data, (model, x), -] -> [data, -, model]    model and x move in the last two dimensions of
                                                                f32[16, 32, 9], where data = 4

So ways are looked for over few axes and dimensions (chart.py), however many there are. What moves does not
depend on what collectives take, so it is found once for all plans of a program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from shardc.graph import TensorType
from shardc.layout import Mesh, Sharding, shared
from shardc.planning.program.costs.chart import Sized, sized
from shardc.planning.reshard.distances import FEW, Distances, distances
from shardc.planning.reshard.held import Held, runs, unpacked
from shardc.planning.reshard.orders import Numbers
from shardc.planning.reshard.planner import kinds_differ
from shardc.planning.reshard.runs import AxisAtoms, alone
from shardc.planning.reshard.space import AtomLayout, Atoms

ALL = 3  # axes that all may move, each by itself, on a mesh of no more

BITS = 20
"""Of a number of a layout in that of a change."""

UNKNOWN = -1, 0, 0
"""Of a change that is not charted."""


class Changes(Struct, frozen=True):
    """Changes of layout of a tensor: from which of some layouts to which, by their numbers there."""

    type: TensorType
    layouts: Sequence[Sharding]
    rows: Numbers
    columns: Numbers


class Within(Struct, frozen=True):
    """Ways over some axes, in runs that go together, and some dimensions of a tensor, all by number."""

    runs: tuple[Atoms, ...]
    dims: Atoms

    def inside(self, layout: AtomLayout) -> AtomLayout:
        """What a layout has there."""
        number = {run[0]: at for at, run in enumerate(self.runs)}

        def kept(axes: Atoms) -> Atoms:
            return tuple([number[axis] for axis in axes if axis in number])

        dims = tuple([kept(layout.dims[dim]) for dim in self.dims])
        return AtomLayout(dims, tuple(sorted(kept(layout.partial))))

    def back(self, found: AtomLayout, begun: AtomLayout) -> AtomLayout:
        """Such a layout as one of all axes and dimensions, of which the others are as they were."""
        moving = {axis for run in self.runs for axis in run}

        def joined(before: Atoms, after: Atoms) -> Atoms:
            stay = [axis for axis in before if axis not in moving]
            return (*stay, *(axis for at in after for axis in self.runs[at]))

        dims = [*begun.dims]
        for dim, after in zip(self.dims, found.dims, strict=True):
            dims[dim] = joined(dims[dim], after)
        return AtomLayout(tuple(dims), tuple(sorted(joined(begun.partial, found.partial))))


class Group(NamedTuple):
    """Ways over some axes, of blocks that all take as long on, of which this is one."""

    known: Distances
    block: TensorType


class Ways(NamedTuple):
    """The changes that are charted, by number, each with the number of its group and those of its ends."""

    which: Numbers
    groups: Numbers
    sources: Numbers
    targets: Numbers


class Way(NamedTuple):
    """One change, between two layouts by number."""

    begun: AtomLayout
    within: Within
    group: Group
    source: int
    target: int


class _Part(NamedTuple):
    """Some changes, by number, and what moves there."""

    within: Within
    group: Group
    here: Numbers


class Moving:
    """Of changes of layout of tensors of one rank. links: for each axis the number of its link, of which none
    is slower than those after it."""

    def __init__(self, mesh: Mesh, rank: int, links: Sequence[int]) -> None:
        self.mesh, self.groups = mesh, list[Group]()
        self._axes, self._links = distances(alone(mesh.several), rank), links
        self._layouts, self._types = dict[AtomLayout, int](), dict[TensorType, int]()
        self._number: dict[Sharding, int] = {}
        self._found: dict[int, tuple[int, int, int]] = {-1: UNKNOWN}
        self._of: dict[tuple[AxisAtoms, int, Sized], int] = {}
        self._ends: dict[tuple[Within, AtomLayout], int] = {}

    def of(self, asked: Sequence[Changes]) -> Ways:
        """Of some questions, one after the other: where there are ways of even blocks, no parts of axes are
        at the ends, and no more axes move than are charted."""
        codes: list[int] = np.concatenate([self._codes(each) for each in asked]).tolist()
        self._find([code for code in dict.fromkeys(codes) if code not in self._found])
        found = np.array([self._found[code] for code in codes], np.int64).reshape(-1, 3)
        which = np.flatnonzero(found[:, 0] >= 0)
        return Ways(which, *found[which].T)

    def one(self, type: TensorType, source: Sharding, target: Sharding) -> Way | None:
        """That of one change, if it is charted."""
        begun, goal = self._layout(source), self._layout(target)
        if begun is None or goal is None or kinds_differ(source, target):
            return None
        first, last = np.array([0]), np.array([1])
        for within, group, _ in self._parts([type], first, [begun, goal], first, last):
            return Way(begun, within, group, self._end(within, group, begun), self._end(within, group, goal))
        return None

    def _codes(self, asked: Changes) -> Numbers:
        """Each of the changes as a number; -1 where an end is of parts of axes. Where sums become maxima, or
        the like, that of the change that ends the sums: to make others of what is whole takes little."""
        kinds = np.array([layout.kind if layout.unreduced else "" for layout in asked.layouts])
        numbers = np.array([self._numbered(layout) for layout in asked.layouts], np.int64)
        before, after = kinds[asked.rows], kinds[asked.columns]
        begin, end = numbers[asked.rows], numbers[asked.columns]
        other = (before != after) & (before != "") & (after != "")
        if other.any():
            ended = np.array([self._numbered(_ended(layout)) for layout in asked.layouts], np.int64)
            end = np.where(other, ended[asked.columns], end)
        type = self._types.setdefault(asked.type, len(self._types))
        return np.where((begin >= 0) & (end >= 0), (type << 2 * BITS) | (begin << BITS) | end, -1)

    def _find(self, codes: Sequence[int]) -> None:
        """Find what moves in changes that were not asked for before."""
        if not codes:
            return
        self._found.update(dict.fromkeys(codes, UNKNOWN))
        every, layouts = np.array(codes, np.int64), [*self._layouts]
        low = (1 << BITS) - 1
        begin, end = every >> BITS & low, every & low
        for within, group, here in self._parts([*self._types], every >> 2 * BITS, layouts, begin, end):
            number, places = self._grouped(group), np.stack([here, begin[here], end[here]])
            changes: list[list[int]] = places.T.tolist()
            for at, first, last in changes:
                source, target = (self._end(within, group, layouts[layout]) for layout in (first, last))
                self._found[codes[at]] = number, source, target

    def _grouped(self, group: Group) -> int:
        """The number of a group."""
        known, block = group
        key = known.atoms, known.rank, sized(known, block)
        if key not in self._of:
            self._of[key] = len(self.groups)
            self.groups.append(group)
        return self._of[key]

    def _parts(
        self,
        types: Sequence[TensorType],
        of: Numbers,
        layouts: Sequence[AtomLayout],
        rows: Numbers,
        columns: Numbers,
    ) -> Iterator[_Part]:
        """Changes `of` some of the types, by what moves; of those that are charted, and where what stays
        splits a tensor evenly."""
        held = Held(layouts, layouts, self._axes.sizes)
        moved = (held.every if len(self._axes.sizes) <= ALL else held.among)(rows, columns)
        facts = np.column_stack([of, moved.atoms, moved.idle, moved.together, moved.dims, moved.parts.T])
        every: list[list[int]] = facts.tolist()
        found = dict[tuple[int, ...], list[int]]()
        for number, each in enumerate(every):
            found.setdefault((*each,), []).append(number)
        for (type, axes, idle, together, dims, *split), here in found.items():
            shape = types[type].shape
            if any([size % count for size, count in zip(shape, split, strict=True)]):
                continue
            shape = tuple([size // count for size, count in zip(shape, split, strict=True)])
            over = self._runs(unpacked(axes), unpacked(idle), together)
            on = self._dims(shape, dims, spare=0 < len(over) < FEW)
            atoms = tuple([tuple([self.mesh.several[axis] for axis in run]) for run in over])
            known = distances(atoms, len(on))
            if known.charted:
                rest = prod([size for dim, size in enumerate(shape) if dim not in on])
                block = types[type].with_shape((*(shape[dim] for dim in on), rest))
                yield _Part(Within(over, on), Group(known, block), np.array(here, np.int64))

    def _runs(self, moving: list[int], idle: list[int], together: int) -> tuple[Atoms, ...]:
        """The axes that move, and of those that are `idle` the ones that help; in runs where they are many.
        The smallest are first."""
        sizes = self._axes.sizes
        link = min([self._links[axis] for axis in idle], default=0)
        if moving and link <= max([self._links[axis] for axis in moving]):
            idle = [axis for axis in idle if self._links[axis] == link]
            few = len(moving) + len(idle) <= ALL
        else:
            idle, few = [], len(moving) <= ALL
        found: list[Atoms] = [(axis,) for axis in moving] if len(moving) <= ALL else runs(moving, together)
        if few:
            found += [(axis,) for axis in idle]
        elif idle and len(found) < FEW:
            found.append((*idle,))
        return tuple(sorted(found, key=lambda run: prod([sizes[axis] for axis in run])))

    @staticmethod
    def _dims(shape: tuple[int, ...], split: int, spare: bool) -> Atoms:
        """The dimensions that ways are over: those that axes split which move, as bits, and with one to
        `spare` the largest other."""
        on = unpacked(split)
        others = [dim for dim in range(len(shape)) if dim not in on]
        return (*on, *sorted(others, key=lambda dim: -shape[dim])[: int(spare)])

    def _end(self, within: Within, group: Group, layout: AtomLayout) -> int:
        """The number of a layout among those of a group."""
        key = within, layout
        if key not in self._ends:
            self._ends[key] = group.known.ways.index[within.inside(layout)]
        return self._ends[key]

    def _numbered(self, layout: Sharding) -> int:
        """The number of a layout of whole axes; -1 of another."""
        if layout not in self._number:
            found = self._layout(layout)
            self._number[layout] = (
                -1 if found is None else self._layouts.setdefault(found, len(self._layouts))
            )
        return self._number[layout]

    def _layout(self, layout: Sharding) -> AtomLayout | None:
        """A layout of whole axes in numbers; None of another."""
        used = {axis for axis in layout.axes() if axis.size > 1}
        return self._axes.layout(layout) if used.issubset(self.mesh.several) else None


def _ended(layout: Sharding) -> Sharding:
    """The layout with nothing partial."""
    return shared(replace(layout, unreduced=()))
