"""The quickest way of a change of layout on a machine whose links differ, or have latency.

A reshard sends the fewest bytes, whatever the machine (planning/reshard). On a torus a permute over all of
its axes may take a thousand times as long as its bytes do. So ways over whole mesh axes are looked for by
time:

    f32[8192, 16384] [data, fsdp] partial(sum: model) -> [(data, fsdp), -], data = 16, fsdp = 128, model = 8
    fewest bytes    reduce-scatter, permute, all-to-all, all-gather      0.59 ms on the torus tpu-v5e
    quickest        all-to-all, all-reduce                               0.11 ms

Each of its collectives is a copy of its own, which is marked as one that is made at once.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np
from msgspec.structs import replace

from shardc.graph import TensorType, is_narrow
from shardc.layout import Axis, Mesh, Sharding, shared
from shardc.planning.reshard.collectives import KINDS
from shardc.planning.reshard.distances import distances
from shardc.planning.reshard.orders import Numbers
from shardc.planning.reshard.paths import Either
from shardc.planning.reshard.planner import from_atoms, kinds_differ
from shardc.planning.reshard.runs import alone
from shardc.planning.reshard.space import Atoms
from shardc.planning.reshard.steps import ReshardStep
from shardc.planning.solvers import Edges, Matrix, Vector, shortest_paths

LITTLE = 1e-3
"""Ticks of a byte: of equally quick ways that with the fewest is taken, since on a torus small tensors take
as long as large ones."""

Times = Callable[[str, tuple[Axis, ...]], tuple[float, float, float]]
"""Of a kind of collective over some axes the ticks before its first byte, those of each byte, and those of
each byte where it takes the longer of the two."""

Exact = Callable[[TensorType, Sharding, ReshardStep], float]
"""The ticks of a collective on a tensor in a layout."""


class Quickest:
    """The quickest ways of tensors of one rank. longer: whether a collective takes the longer of latency and
    bytes, else their sum; exact: what one takes that is neither."""

    def __init__(self, mesh: Mesh, rank: int, times: Times, exact: Exact, longer: bool) -> None:
        self.known = distances(alone(mesh.several), rank)
        self.mesh, self._longer, self._exact = mesh, longer, exact
        if not self.known.charted:
            return
        ways = self.known.ways

        def took(kind: str, moved: Atoms) -> tuple[float, float, float]:
            return times(kind, tuple(mesh.several[atom] for atom in moved))

        found = ways.times(took)
        for moved, edges in ways.permutes.items():
            found[edges] = took("collective_permute", moved) if moved else inf  # that changes nothing
        self._before, self._sent, self._joined = found[:, 0], found[:, 1], found[:, 2]
        self._part = ways.collectives.edges.lengths / ways.whole
        self._took: dict[_Sized, Vector] = {}
        self._paths: dict[_Sized, Either] = {}
        self._kept: dict[tuple[_Sized, bool], tuple[Numbers, Edges]] = {}
        self._reached: dict[tuple[_Sized, bool], dict[int, Vector]] = {}

    def number(self, layout: Sharding) -> int:
        """That of a layout of whole axes, where ways are looked for; -1 of another."""
        used = {axis for axis in layout.axes() if axis.size > 1}
        whole = self.known.charted and used.issubset(self.mesh.several)
        return self.known.number(layout) if whole else -1

    def ticks(self, type: TensorType, sources: Numbers, targets: Numbers) -> tuple[Vector, Vector]:
        """What the quickest ways take from each of some layouts to one of others, by number, infinite where
        there is none of even blocks; and 1 where something is sent."""
        ways = self.known.ways
        _, count = self.known.moved(ways.paths.pairs(sources, targets))
        if ways.is_even(type.shape):
            return self._even(type).pairs(sources, targets), np.minimum(count, 1)
        found, partial = np.empty(len(sources)), ways.partial[targets]
        for late in (False, True):
            here = np.flatnonzero(partial == late)
            starts, which = np.unique(sources[here], return_inverse=True)
            if len(starts):
                found[here] = self._from(type, late, starts)[which, targets[here]]
        return found, np.minimum(count, 1)

    def steps(self, type: TensorType, source: Sharding, target: Sharding, most: float) -> list[ReshardStep]:
        """The collectives on the quickest way of those that have even blocks; none if it takes `most` ticks
        or more, or if parts of axes or partial results of two kinds are at its ends."""
        start, goal = self.number(source), self.number(target)
        if start < 0 or goal < 0 or kinds_differ(source, target):
            return []
        late = bool(self.known.ways.partial[goal])
        reached = self._from(type, late, np.array([start]))[0]
        if reached[goal] >= most:
            return []
        kept, edges = self._edges(type, late)
        kind = source.kind if source.unreduced else target.kind
        return [self._step(type, number, kind) for number in kept[_way(edges, reached, start, goal)].tolist()]

    def _from(self, type: TensorType, late: bool, starts: Numbers) -> Matrix:
        """What ways take from some layouts (rows) to all; only to partial layouts, `late`, results are made
        partial."""
        ways = self.known.ways
        if ways.is_even(type.shape):
            either = self._even(type)
            return (either.every if late else either.whole).between(starts, np.arange(len(ways.found)))
        known = self._reached.setdefault((_sized(type), late), {})
        begun: list[int] = starts.tolist()
        new = [start for start in begun if start not in known]
        if new:
            rows = shortest_paths(len(ways.found), self._edges(type, late)[1], np.array(new))
            known.update(zip(new, rows, strict=True))
        return np.stack([known[start] for start in begun])

    def _even(self, type: TensorType) -> Either:
        """The shortest paths of a tensor that all layouts divide."""
        sized = _sized(type)
        if sized not in self._paths:
            self._paths[sized] = self.known.ways.timed(self._lengths(type))
        return self._paths[sized]

    def _edges(self, type: TensorType, late: bool) -> tuple[Numbers, Edges]:
        """The collectives between layouts that divide a tensor, by number, with their ticks."""
        key = _sized(type), late
        if key not in self._kept:
            made, lengths = self.known.ways.collectives, self._lengths(type)
            some = np.isfinite(lengths) & (late | ~made.unreduces)
            edges = replace(made.edges, lengths=lengths).only(some)
            self._kept[key] = np.flatnonzero(some), edges
        return self._kept[key]

    def _lengths(self, type: TensorType) -> Vector:
        """The ticks of every collective, infinite between layouts that do not divide a tensor."""
        sized = _sized(type)
        if sized not in self._took:
            ways, bytes = self.known.ways, type.nbytes
            sent, joined = bytes * self._part * self._sent, bytes * self._part * self._joined
            took = np.maximum(self._before + joined, sent) if self._longer else self._before + sent
            even, ends = ways.evenly(type.shape), ways.collectives.edges
            some = even[ends.sources] & even[ends.targets]
            for alike in ways.unsteady:
                if some[alike].any():
                    took[alike] = self._one(type, int(alike[some[alike]][0]))
            self._took[sized] = np.where(some, took + LITTLE * bytes * self._part, inf)
        return self._took[sized]

    def _one(self, type: TensorType, number: int) -> float:
        """The ticks of one collective."""
        source = self._layout(int(self.known.ways.collectives.edges.sources[number]), "sum")
        return self._exact(type, source, self._step(type, number, "sum"))

    def _step(self, type: TensorType, number: int, kind: str) -> ReshardStep:
        made = self.known.ways.collectives
        target = self._layout(int(made.edges.targets[number]), kind)
        return ReshardStep(
            KINDS[int(made.kinds[number])], target, round(type.nbytes * float(self._part[number]))
        )

    def _layout(self, node: int, kind: str) -> Sharding:
        found = self.known.ways.found[node]
        return shared(from_atoms(self.mesh, found, self.mesh.several, kind if found.partial else "sum"))


_Sized = tuple[tuple[int, ...], int, bool]


def _sized(type: TensorType) -> _Sized:
    """What tells tensors apart: shape, bytes of an element, and whether sums of it are rounded."""
    return type.shape, type.numpy.itemsize, is_narrow(type.dtype)


def _way(edges: Edges, reached: Vector, start: int, goal: int) -> list[int]:
    """The edges of the shortest path, by number, where nodes are reached so soon."""
    way, at = list[int](), goal
    while at != start:
        first, end = np.searchsorted(edges.targets, (at, at + 1))
        here = slice(first, end)
        way.append(int(first + np.argmin(reached[edges.sources[here]] + edges.lengths[here])))
        at = int(edges.sources[way[-1]])
    return way[::-1]
