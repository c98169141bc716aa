"""The quickest way of a change of layout on a machine whose links differ, or have latency.

A reshard sends the fewest bytes, whatever the machine (planning/reshard). On a torus a permute over all of
its axes may take a thousand times as long as its bytes do. So ways over whole mesh axes are looked for by
time:

    f32[8192, 16384] [data, fsdp] partial(sum: model) -> [(data, fsdp), -], data = 16, fsdp = 128, model = 8
    fewest bytes    reduce-scatter, permute, all-to-all, all-gather      8.27 ms on the torus tpu-v5e
    quickest        all-to-all, all-reduce                               0.11 ms

Each of its collectives is a copy of its own, which is marked as one that is made at once.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np
from msgspec.structs import replace

from shardc.graph import TensorType
from shardc.layout import Axis, Mesh, Sharding, shared
from shardc.planning.reshard.collectives import KINDS
from shardc.planning.reshard.distances import distances
from shardc.planning.reshard.orders import Numbers
from shardc.planning.reshard.planner import from_atoms, kinds_differ
from shardc.planning.reshard.runs import alone
from shardc.planning.reshard.space import Atoms
from shardc.planning.reshard.steps import ReshardStep
from shardc.planning.solvers import Edges, Vector, shortest_paths

LITTLE = 1e-3
"""Ticks of a byte: of equally quick ways that with the fewest is taken, since on a torus small tensors take
as long as large ones."""

Times = Callable[[str, tuple[Axis, ...]], tuple[float, float, float]]
"""Of a kind of collective over some axes the ticks before its first byte, those of each byte, and those of
each byte where it takes the longer of the two."""


class Quickest:
    """The quickest ways of tensors of one rank. written: ticks to write a byte; longer: whether a collective
    takes the longer of latency and bytes, else their sum."""

    def __init__(self, mesh: Mesh, rank: int, times: Times, written: float, longer: bool) -> None:
        self.known = distances(alone(mesh.several), rank)
        self.mesh, self._longer = mesh, longer
        if not self.known.charted:
            return
        ways = self.known.ways

        def took(kind: str, moved: Atoms) -> tuple[float, float, float]:
            return times(kind, tuple(mesh.several[atom] for atom in moved))

        found = ways.times(took)
        for moved, edges in ways.collectives.permuted(ways.found).items():
            found[edges] = took("collective_permute", moved) if moved else inf  # that changes nothing
        self._before, self._sent, self._joined = found[:, 0], found[:, 1], found[:, 2]
        self._part = ways.collectives.edges.lengths / ways.whole
        self._written = written * ways.grown
        self._edges: dict[tuple[TensorType, bool], tuple[Numbers, Edges]] = {}
        self._reached: dict[tuple[TensorType, bool, int], Vector] = {}

    def steps(self, type: TensorType, source: Sharding, target: Sharding, most: float) -> list[ReshardStep]:
        """The collectives on the quickest way of those that have even blocks; none if it takes `most` ticks
        or more, or if parts of axes or partial results of two kinds are at its ends."""
        used = {axis for layout in (source, target) for axis in layout.axes() if axis.size > 1}
        if not self.known.charted or not used.issubset(self.mesh.several) or kinds_differ(source, target):
            return []
        start, goal = self.known.number(source), self.known.number(target)
        ways, late = self.known.ways, bool(self.known.ways.partial[goal])
        kept, edges = self._edges_of(type, late)
        key = type, late, start
        if key not in self._reached:
            self._reached[key] = shortest_paths(len(ways.found), edges, np.array([start]))[0]
        reached = self._reached[key]
        if reached[goal] >= most:
            return []
        kind, bytes = source.kind if source.unreduced else target.kind, type.size * type.numpy.itemsize
        return [
            ReshardStep(
                KINDS[ways.collectives.kinds[number]],
                self._layout(int(ways.collectives.edges.targets[number]), kind),
                round(bytes * float(self._part[number])),
            )
            for number in kept[_way(edges, reached, start, goal)].tolist()
        ]

    def _edges_of(self, type: TensorType, late: bool) -> tuple[Numbers, Edges]:
        """The collectives between layouts that divide a tensor, by number, with their ticks; only to partial
        layouts, `late`, results are made partial."""
        if (type, late) not in self._edges:
            ways, bytes = self.known.ways, type.size * type.numpy.itemsize
            sent, joined = bytes * self._part * self._sent, bytes * self._part * self._joined
            took = np.maximum(self._before + joined, sent) if self._longer else self._before + sent
            made, even = ways.collectives, ways.evenly(type.shape)
            some = even[made.edges.sources] & even[made.edges.targets] & (late | ~made.unreduces)
            more = bytes * (self._written + LITTLE * self._part)
            edges = replace(made.edges, lengths=took + more).only(some)
            self._edges[type, late] = np.flatnonzero(some), edges
        return self._edges[type, late]

    def _layout(self, node: int, kind: str) -> Sharding:
        found = self.known.ways.found[node]
        return shared(from_atoms(self.mesh, found, self.mesh.several, kind if found.partial else "sum"))


def _way(edges: Edges, reached: Vector, start: int, goal: int) -> list[int]:
    """The edges of the shortest path, by number, where nodes are reached so soon."""
    way, at = list[int](), goal
    while at != start:
        first, end = np.searchsorted(edges.targets, (at, at + 1))
        here = slice(first, end)
        way.append(int(first + np.argmin(reached[edges.sources[here]] + edges.lengths[here])))
        at = int(edges.sources[way[-1]])
    return way[::-1]
