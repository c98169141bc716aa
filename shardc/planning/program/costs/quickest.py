"""The quickest way of a change of layout on a machine whose links differ, or have latency.

A reshard sends the fewest bytes, whatever the machine (planning/reshard). On a torus a permute over all of
its axes may take a thousand times as long as its bytes do. So ways over whole mesh axes are looked for by
time:

    f32[8192, 16384] [data, fsdp] partial(sum: model) -> [(data, fsdp), -], data = 16, fsdp = 128, model = 8
    fewest bytes    reduce-scatter, permute, all-to-all, all-gather      0.59 ms on the torus tpu-v5e
    quickest        all-reduce, all-to-all                               0.11 ms

Each of its collectives is a copy of its own, which is marked as one that is made at once.

On a mesh of up to three axes all of them may move. Of more only these do:

* Not the axes that stay where they are (held.py). Each of their devices has a part of the tensor, and the way
  is that of the part.
* Those that move, as one where they go together.
* Axes that hold copies before and after, if their link is no slower than those of the others: the devices of
  a node each send a part to the next node, and put the parts together there.

Of dimensions only those take part which some axis leaves or enters, and the largest other one, through which
axes may go. So ways are looked for over few axes and dimensions (chart.py), however many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import accumulate, pairwise
from math import inf, prod
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from shardc.graph import TensorType
from shardc.layout import Axis, Mesh, Sharding, shared
from shardc.planning.program.costs.chart import Chart, Exact, Sized, Times
from shardc.planning.reshard.distances import FEW, distances
from shardc.planning.reshard.held import Held, runs, unpacked
from shardc.planning.reshard.orders import Numbers
from shardc.planning.reshard.planner import from_atoms, kinds_differ
from shardc.planning.reshard.runs import AxisAtoms, alone
from shardc.planning.reshard.space import AtomLayout, Atoms
from shardc.planning.reshard.steps import ReshardStep
from shardc.planning.solvers import Vector

Charts = dict[tuple[AxisAtoms, int, Hashable], Chart]
"""By axes in runs, dimensions, and what tells how long collectives over them take."""

ALL = 3  # axes that all may move, each by itself, on a mesh of no more


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


class _Part(NamedTuple):
    """Some ways, by number, their chart, the block of what stays that they are of, and their ends in it."""

    within: Within
    chart: Chart
    block: TensorType
    here: Numbers
    sources: Numbers
    targets: Numbers


class Quickest:
    """The quickest ways of tensors of one rank. links: for each axis the number of its link, of which none is
    slower than those after it. Of `times`, `exact` and `longer` chart.py tells. `charts` has those that
    others made; `alike` is the same for axes over which collectives take as long."""

    def __init__(
        self,
        mesh: Mesh,
        rank: int,
        links: Sequence[int],
        times: Times,
        exact: Exact,
        longer: bool,
        charts: Charts,
        alike: Callable[[Sequence[Axis]], Hashable],
    ) -> None:
        self.known = distances(alone(mesh.several), rank)
        self.mesh, self._how, self._made, self._alike = mesh, (times, exact, longer), charts, alike
        self._sizes, self._links = self.known.sizes, links
        self._charts: dict[tuple[tuple[Atoms, ...], int], Chart] = {}
        self._numbers: dict[Within, dict[AtomLayout, int]] = {}
        self._whole: dict[Sharding, AtomLayout | None] = {}

    def ticks(self, asked: Sequence[Changes]) -> list[tuple[Vector, Vector]]:
        """Of each question what the quickest ways take, infinite where there is none of even blocks, where
        parts of axes or partial results of two kinds are at the ends, or where more axes move than are
        charted; and 1 where something is sent."""
        number, start = dict[AtomLayout, int](), [0, *accumulate([len(each.rows) for each in asked])]
        ticks, sends = np.full(start[-1], inf), np.zeros(start[-1])
        known = [self._known(each, number) for each in asked]
        which, begin, end = (np.concatenate(each) for each in zip(*known, strict=True))
        of = np.repeat(np.arange(len(asked)), [len(some) for some, _, _ in known])
        which += np.array(start)[of]
        types, alike = [each.type for each in asked], dict[tuple[Chart, Sized], list[_Part]]()
        for part in self._parts(types, of, [*number], begin, end):
            alike.setdefault((part.chart, part.chart.sized(part.block)), []).append(part)
        for (chart, _), parts in alike.items():
            here, sources, targets = (
                np.concatenate(each)
                for each in zip(*[(part.here, part.sources, part.targets) for part in parts], strict=True)
            )
            ticks[which[here]], sends[which[here]] = chart.ticks(parts[0].block, sources, targets)
        return [(ticks[first:last], sends[first:last]) for first, last in pairwise(start)]

    def steps(self, type: TensorType, source: Sharding, target: Sharding, most: float) -> list[ReshardStep]:
        """The collectives on the quickest way of those that have even blocks; none if it takes `most` ticks
        or more, or is not known (ticks)."""
        begun, goal = self._layout(source), self._layout(target)
        if begun is None or goal is None or kinds_differ(source, target):
            return []
        kind, found = source.kind if source.unreduced else target.kind, list[ReshardStep]()
        first, last = np.array([0]), np.array([1])
        for part in self._parts([type], first, [begun, goal], first, last):
            for name, layout, bytes in part.chart.steps(
                part.block, int(part.sources[0]), int(part.targets[0]), most
            ):
                after = part.within.back(layout, begun)
                made = from_atoms(self.mesh, after, self.mesh.several, kind if after.partial else "sum")
                found.append(ReshardStep(name, shared(made), bytes))
        return found

    def _known(self, asked: Changes, number: dict[AtomLayout, int]) -> tuple[Numbers, Numbers, Numbers]:
        """Which of the ways of a question may be known, and their ends as numbers; new layouts get one."""
        every = [self._layout(layout) for layout in asked.layouts]
        numbers = np.array(
            [-1 if at is None else number.setdefault(at, len(number)) for at in every], np.int64
        )
        kinds = np.array([layout.kind if layout.unreduced else "" for layout in asked.layouts])
        before, after = kinds[asked.rows], kinds[asked.columns]
        begin, end = numbers[asked.rows], numbers[asked.columns]
        one_kind = (before == after) | (before == "") | (after == "")
        which = np.flatnonzero((begin >= 0) & (end >= 0) & one_kind)
        return which, begin[which], end[which]

    def _parts(
        self,
        types: Sequence[TensorType],
        of: Numbers,
        layouts: Sequence[AtomLayout],
        rows: Numbers,
        columns: Numbers,
    ) -> Iterator[_Part]:
        """Ways `of` some of the types, by what moves; of those that are charted, and where what stays splits
        a tensor evenly."""
        held = Held(layouts, layouts, self._sizes)
        moved = (held.every if len(self._sizes) <= ALL else held.among)(rows, columns)
        facts = np.column_stack([of, moved.atoms, moved.idle, moved.together, moved.dims, moved.parts.T])
        every: list[list[int]] = facts.tolist()
        found = dict[tuple[int, ...], list[int]]()
        for number, each in enumerate(every):
            found.setdefault((*each,), []).append(number)
        for (type, axes, idle, together, dims, *split), ways in found.items():
            shape, here = types[type].shape, np.array(ways, np.int64)
            if any([size % count for size, count in zip(shape, split, strict=True)]):
                continue
            shape = tuple([size // count for size, count in zip(shape, split, strict=True)])
            over = self._runs(unpacked(axes), unpacked(idle), together)
            on = self._dims(shape, dims, spare=0 < len(over) < FEW)
            chart = self._chart(within := Within(over, on))
            if chart is not None:
                rest = prod([size for dim, size in enumerate(shape) if dim not in on])
                block = types[type].with_shape((*(shape[dim] for dim in on), rest))
                ends = [self._number(chart, within, layouts, each[here]) for each in (rows, columns)]
                yield _Part(within, chart, block, here, *ends)

    def _runs(self, moving: list[int], idle: list[int], together: int) -> tuple[Atoms, ...]:
        """The axes that move, and of those that are `idle` the ones that help; in runs where they are many.
        The smallest are first."""
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
        return tuple(sorted(found, key=lambda run: prod([self._sizes[axis] for axis in run])))

    @staticmethod
    def _dims(shape: tuple[int, ...], split: int, spare: bool) -> Atoms:
        """The dimensions that ways are over: those that axes split which move, as bits, and with one to
        `spare` the largest other."""
        on = unpacked(split)
        others = [dim for dim in range(len(shape)) if dim not in on]
        return (*on, *sorted(others, key=lambda dim: -shape[dim])[: int(spare)])

    def _chart(self, within: Within) -> Chart | None:
        """That of some axes and dimensions; None where these are too many."""
        key = within.runs, len(within.dims)
        if key not in self._charts:
            atoms = tuple([tuple([self.mesh.several[axis] for axis in run]) for run in within.runs])
            known = distances(atoms, len(within.dims))
            if not known.charted:
                return None
            said = known.atoms, known.rank, self._alike([axis for run in atoms for axis in run])
            if said not in self._made:
                self._made[said] = Chart(self.mesh, known, *self._how)
            self._charts[key] = self._made[said]
        return self._charts[key]

    def _number(self, chart: Chart, within: Within, layouts: Sequence[AtomLayout], which: Numbers) -> Numbers:
        """The numbers of some layouts in a chart."""
        known, found = self._numbers.setdefault(within, {}), list[int]()
        wanted: list[int] = which.tolist()
        for at in wanted:
            number = known.get(layouts[at])
            if number is None:
                number = known[layouts[at]] = chart.number(within.inside(layouts[at]))
            found.append(number)
        return np.array(found, np.int64)

    def _layout(self, layout: Sharding) -> AtomLayout | None:
        """A layout of whole axes in numbers; None of another."""
        if layout not in self._whole:
            used = {axis for axis in layout.axes() if axis.size > 1}
            whole = used.issubset(self.mesh.several)
            self._whole[layout] = self.known.layout(layout) if whole else None
        return self._whole[layout]
