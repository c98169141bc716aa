"""The quickest way of a change of layout on a machine whose links differ, or have latency.

A reshard sends the fewest bytes, whatever the machine (planning/reshard). On a torus a permute over all of
its axes may take a thousand times as long as its bytes do. So ways over whole mesh axes are looked for by
time:

    f32[8192, 16384] [data, fsdp] partial(sum: model) -> [(data, fsdp), -], data = 16, fsdp = 128, model = 8
    fewest bytes    reduce-scatter, permute, all-to-all, all-gather      0.59 ms on the torus tpu-v5e
    quickest        all-reduce, all-to-all                               0.11 ms

Each of its collectives is a copy of its own, which is marked as one that is made at once. What moves is said
by moving.py, and the ways of what moves are those of a chart (chart.py).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import accumulate, pairwise
from math import inf

import numpy as np

from shardc.graph import TensorType
from shardc.layout import Axis, Sharding, shared
from shardc.planning.program.costs.chart import Chart, Exact, Times
from shardc.planning.program.costs.moving import Changes, Moving
from shardc.planning.reshard.distances import Distances
from shardc.planning.reshard.planner import from_atoms
from shardc.planning.reshard.runs import AxisAtoms
from shardc.planning.reshard.steps import ReshardStep
from shardc.planning.solvers import Vector

Charts = dict[tuple[AxisAtoms, int, Hashable], Chart]
"""By axes in runs, dimensions, and what tells how long collectives over them take."""


class Quickest:
    """The quickest ways of tensors of one rank. Of `times`, `exact` and `longer` chart.py tells. `charts` has
    those that others made; `alike` is the same for axes over which collectives take as long."""

    def __init__(
        self,
        moving: Moving,
        times: Times,
        exact: Exact,
        longer: bool,
        charts: Charts,
        alike: Callable[[Sequence[Axis]], Hashable],
    ) -> None:
        self.moving, self._how, self._made, self._alike = moving, (times, exact, longer), charts, alike
        self._charts: dict[tuple[AxisAtoms, int], Chart] = {}

    def ticks(self, asked: Sequence[Changes]) -> list[tuple[Vector, Vector]]:
        """Of each question what the quickest ways take, infinite where none is charted (Moving.of) or has
        even blocks; and 1 where something is sent."""
        start = [0, *accumulate([len(each.rows) for each in asked])]
        ticks, sends = np.full(start[-1], inf), np.zeros(start[-1])
        which, groups, sources, targets = self.moving.of(asked)
        order = np.argsort(groups, kind="stable")
        for here in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
            if len(here):
                known, block = self.moving.groups[int(groups[here[0]])]
                some = which[here]
                ticks[some], sends[some] = self._chart(known).ticks(block, sources[here], targets[here])
        return [(ticks[first:last], sends[first:last]) for first, last in pairwise(start)]

    def steps(self, type: TensorType, source: Sharding, target: Sharding, most: float) -> list[ReshardStep]:
        """The collectives on the quickest way of those that have even blocks; none if it takes `most` ticks
        or more, or is not charted (Moving.of)."""
        way = self.moving.one(type, source, target)
        if way is None:
            return []
        kind, mesh = source.kind if source.unreduced else target.kind, self.moving.mesh
        (known, block), found = way.group, list[ReshardStep]()
        for name, layout, bytes in self._chart(known).steps(block, way.source, way.target, most):
            after = way.within.back(layout, way.begun)
            made = from_atoms(mesh, after, mesh.several, kind if after.partial else "sum")
            found.append(ReshardStep(name, shared(made), bytes))
        return found

    def _chart(self, known: Distances) -> Chart:
        """That of some axes and dimensions."""
        key = known.atoms, known.rank
        if key not in self._charts:
            said = *key, self._alike([axis for run in known.atoms for axis in run])
            if said not in self._made:
                self._made[said] = Chart(self.moving.mesh, known, *self._how)
            self._charts[key] = self._made[said]
        return self._charts[key]
