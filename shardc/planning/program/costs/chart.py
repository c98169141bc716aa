"""The quickest ways between all layouts of tensors of one rank over a few whole axes, looked for by time.

What a collective takes is known before a tensor is: so long before its first byte, and so much for each byte.
So the shortest paths of a size of tensor are those of one graph, whose edges are as long as that says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from math import inf, prod

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from shardc.graph import TensorType, is_narrow
from shardc.layout import Axis, Mesh
from shardc.planning.reshard.collectives import KINDS
from shardc.planning.reshard.distances import Distances
from shardc.planning.reshard.orders import Numbers
from shardc.planning.reshard.paths import Either
from shardc.planning.reshard.space import AtomLayout, Atoms
from shardc.planning.solvers import Edges, Matrix, Vector, shortest_paths

LITTLE = 1e-3
"""Ticks of a byte: of equally quick ways that with the fewest is taken, since on a torus small tensors take
as long as large ones."""

Time = tuple[float, float, float]
"""Of a collective the ticks before its first byte, those of each byte, and those of each byte where it takes
the longer of the two."""

Times = Callable[[str, tuple[Axis, ...]], Time]
"""That of a kind of collective over some axes."""

Sized = tuple[tuple[int, ...], int, int, bool]
"""What tells tensors apart (sized)."""


class Exactly(Struct, frozen=True):
    """A kind of collective over some axes, of blocks that are a part of a tensor: what is gathered, scattered
    or summed, or what becomes a partial result."""

    kind: str
    over: tuple[Axis, ...]
    part: float


Exact = Callable[[Exactly, TensorType], float]
"""The ticks of such a collective on a tensor."""

Step = tuple[str, AtomLayout, int]
"""A kind of collective, the layout after it, and the bytes that a device sends."""


class Chart:
    """The quickest ways over axes of a mesh, of tensors that have one dimension more, the last, which is
    never split. longer: whether a collective takes the longer of latency and bytes, else their sum; exact:
    what one takes that is neither."""

    def __init__(self, mesh: Mesh, known: Distances, times: Times, exact: Exact, longer: bool) -> None:
        self.mesh, self.known, self._longer, self._exact = mesh, known, longer, exact
        ways = known.ways

        def took(kind: str, moved: Atoms) -> Time:
            return times(kind, tuple(axis for atom in moved for axis in known.atoms[atom]))

        found = ways.times([took(*kind) for kind in ways.moving])
        for moved, edges in ways.permutes.items():
            found[edges] = took("collective_permute", moved) if moved else inf  # that changes nothing
        self._before, self._sent, self._joined = found[:, 0], found[:, 1], found[:, 2]
        self._part = ways.collectives.edges.lengths / ways.whole
        self._took: dict[Sized, Vector] = {}
        self._paths: dict[Sized, Either] = {}
        self._kept: dict[tuple[Sized, bool], tuple[Numbers, Edges]] = {}
        self._reached: dict[tuple[Sized, bool], dict[int, Vector]] = {}

    def ticks(self, type: TensorType, sources: Numbers, targets: Numbers) -> tuple[Vector, Vector]:
        """What the quickest ways take from each of some layouts to one of others, by number, infinite where
        there is none of even blocks; and 1 where something is sent."""
        ways = self.known.ways
        sends = np.minimum(ways.fewest.pairs(sources, targets), 1)
        if ways.is_even(type.shape[:-1]):
            return self._even(type).pairs(sources, targets), sends
        found, partial = np.empty(len(sources)), ways.partial[targets]
        for late in (False, True):
            here = np.flatnonzero(partial == late)
            starts, which = np.unique(sources[here], return_inverse=True)
            if len(starts):
                found[here] = self._from(type, late, starts)[which, targets[here]]
        return found, sends

    def steps(self, type: TensorType, start: int, goal: int, most: float) -> list[Step]:
        """The collectives on the quickest way of those that have even blocks; none if it takes `most` ticks
        or more."""
        late = bool(self.known.ways.partial[goal])
        reached = self._from(type, late, np.array([start]))[0]
        if reached[goal] >= most:
            return []
        kept, edges = self._edges(type, late)
        return [self._step(type, number) for number in kept[_way(edges, reached, start, goal)].tolist()]

    def _from(self, type: TensorType, late: bool, starts: Numbers) -> Matrix:
        """What ways take from some layouts (rows) to all; only to partial layouts, `late`, results are made
        partial."""
        ways = self.known.ways
        if ways.is_even(type.shape[:-1]):
            either = self._even(type)
            return (either.every if late else either.whole).between(starts, np.arange(len(ways.found)))
        known = self._reached.setdefault((sized(self.known, type), late), {})
        begun: list[int] = starts.tolist()
        new = [start for start in begun if start not in known]
        if new:
            rows = shortest_paths(len(ways.found), self._edges(type, late)[1], np.array(new))
            known.update(zip(new, rows, strict=True))
        return np.stack([known[start] for start in begun])

    def _even(self, type: TensorType) -> Either:
        """The shortest paths of a tensor that all layouts divide."""
        key = sized(self.known, type)
        if key not in self._paths:
            self._paths[key] = self.known.ways.timed(self._lengths(type))
        return self._paths[key]

    def _edges(self, type: TensorType, late: bool) -> tuple[Numbers, Edges]:
        """The collectives between layouts that divide a tensor, by number, with their ticks."""
        key = sized(self.known, type), late
        if key not in self._kept:
            made, lengths = self.known.ways.collectives, self._lengths(type)
            some = np.isfinite(lengths) & (late | ~made.unreduces)
            edges = replace(made.edges, lengths=lengths).only(some)
            self._kept[key] = np.flatnonzero(some), edges
        return self._kept[key]

    def _lengths(self, type: TensorType) -> Vector:
        """The ticks of every collective, infinite between layouts that do not divide a tensor."""
        key = sized(self.known, type)
        if key not in self._took:
            ways, bytes = self.known.ways, type.nbytes
            sent, joined = bytes * self._part * self._sent, bytes * self._part * self._joined
            took = np.maximum(self._before + joined, sent) if self._longer else self._before + sent
            even, ends = ways.evenly(type.shape[:-1]), ways.collectives.edges
            some = even[ends.sources] & even[ends.targets]
            for alike, each in self._unsteady:
                if some[alike].any():
                    took[alike] = sum([self._exact(one, type) for one in each])
            self._took[key] = np.where(some, took + LITTLE * bytes * self._part, inf)
        return self._took[key]

    @cached_property
    def _unsteady(self) -> list[tuple[Numbers, list[Exactly]]]:
        """The collectives whose time is no linear function of their bytes, by number, together those that
        take as long, with what they are one after the other."""
        runs = any(len(run) > 1 for run in self.known.atoms)
        return [(alike, [*self._exactly(int(alike[0]))]) for alike in self.known.ways.unsteady(runs)]

    def _exactly(self, number: int) -> Iterator[Exactly]:
        """What one collective is: gathers and scatters are so in one dimension after the other."""
        ways, edges = self.known.ways, self.known.ways.collectives.edges
        begin, end = int(edges.sources[number]), int(edges.targets[number])
        before, after, part = ways.found[begin], ways.found[end], 1 / ways.blocks(begin)
        kind = KINDS[int(ways.collectives.kinds[number])]
        if kind in ("all_gather", "reduce_scatter"):
            for one, other in zip(before.dims, after.dims, strict=True):
                moved = {*one} ^ {*other}
                if moved:
                    yield Exactly(kind, self._over(moved), part)
                    group = prod([ways.space.sizes[atom] for atom in moved])
                    part = part * group if kind == "all_gather" else part / group
        elif kind == "all_reduce":
            yield Exactly(kind, self._over({*before.partial} - {*after.partial}), part)
        else:
            yield Exactly(kind, (), 1 / ways.blocks(end))

    def _over(self, atoms: Iterable[int]) -> tuple[Axis, ...]:
        """The axes of some atoms in the mesh's order."""
        axes = [axis for atom in atoms for axis in self.known.atoms[atom]]
        return tuple(sorted(axes, key=self.mesh.several.index))

    def _step(self, type: TensorType, number: int) -> Step:
        made = self.known.ways.collectives
        target = self.known.ways.found[int(made.edges.targets[number])]
        return KINDS[int(made.kinds[number])], target, round(type.nbytes * float(self._part[number]))


def sized(known: Distances, type: TensorType) -> Sized:
    """What tells tensors apart: shape, bytes, those of an element, and whether sums of it are rounded. The
    shape of one that all layouts divide says where blocks may have a single element."""
    shape, ways = type.shape, known.ways
    if ways.is_even(shape[:-1]):
        whole = prod(ways.space.sizes)
        shape = tuple([min(size, 2 * whole) for size in shape])
    return shape, type.nbytes, type.numpy.itemsize, is_narrow(type.dtype)


def _way(edges: Edges, reached: Vector, start: int, goal: int) -> list[int]:
    """The edges of the shortest path, by number, where nodes are reached so soon."""
    way, at = list[int](), goal
    while at != start:
        first, end = np.searchsorted(edges.targets, (at, at + 1))
        here = slice(first, end)
        way.append(int(first + np.argmin(reached[edges.sources[here]] + edges.lengths[here])))
        at = int(edges.sources[way[-1]])
    return way[::-1]
