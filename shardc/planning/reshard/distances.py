"""What a reshard between any two layouts costs at least.

One search per pair (planner.py) is exact but takes milliseconds. Where every axis divides every
dimension, bytes are a fixed part of the tensor's size, whatever the tensor: so the shortest paths between all
layouts of one rank are those of one graph for a mesh, of a tensor that everything divides. Paths are looked
for from the layouts that somebody asks for, of those that differ in an order that does not matter (orders.py)
from one. Where something does not divide, blocks are larger and moves fewer, so the figure is a lower bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import permutations, product
from math import prod

import numpy as np
from numpy.typing import NDArray

from shardc.graph.types import TensorType
from shardc.layout import Axis, Mesh, Sharding
from shardc.layout.difference import pieces, split
from shardc.planning.reshard.atoms import refine
from shardc.planning.reshard.moves import SearchState, moves
from shardc.planning.reshard.orders import Numbers, orders
from shardc.planning.reshard.space import AtomLayout, Space
from shardc.planning.reshard.steps import FREE
from shardc.planning.solvers import Edges, Matrix, Vector, shortest_paths

AxisAtoms = tuple[Axis, ...]

STEP = 1 / 1024  # what a collective counts, in bytes of the model tensor: it decides between equals


@dataclass(frozen=True)
class Distances:
    """What reshards cost between the layouts of tensors of one rank, on a mesh cut into `atoms`."""

    atoms: AxisAtoms
    index: dict[AtomLayout, int] = field(repr=False)
    ways: _Ways = field(repr=False)
    numbers: dict[Sharding, int] = field(default_factory=dict[Sharding, int], repr=False)

    def least(self, type: TensorType, source: Sharding, target: Sharding) -> tuple[float, int]:
        """Bytes and collectives of a plan that a program would use, or less."""
        bytes, steps = self._between(type, np.array([self._number(source)]), np.array([self._number(target)]))
        return float(bytes[0, 0]), int(steps[0, 0])

    def table(self, type: TensorType, places: Sequence[Sharding]) -> tuple[Matrix, Matrix]:
        """The same from each of some layouts to each."""
        numbers = np.array([self._number(place) for place in places])
        return self._between(type, numbers, numbers)

    def _between(self, type: TensorType, sources: Numbers, targets: Numbers) -> tuple[Matrix, Matrix]:
        lengths = self.ways.between(sources, targets)
        moved = np.floor(lengths)
        with np.errstate(invalid="ignore"):  # what cannot be reached is infinitely far
            steps = np.nan_to_num(np.round((lengths - moved) / STEP))
        return moved / self.ways.whole * type.size * type.numpy.itemsize, steps

    def _number(self, sharding: Sharding) -> int:
        known = self.numbers.get(sharding)
        if known is None:
            number = {atom: i for i, atom in enumerate(self.atoms)}
            dims = tuple(tuple(number[a] for a in split(dim.axes, self.atoms)) for dim in sharding.dims)
            partial = tuple(sorted(number[a] for a in split(sharding.unreduced, self.atoms)))
            known = self.numbers[sharding] = self.index[AtomLayout(dims, partial)]
        return known


class _AllWays(Space):
    """A tensor for which no two atoms are alike: all layouts are goals."""

    @cached_property
    def kinds(self) -> tuple[tuple[int, int, bool], ...]:
        return tuple((size, atom, True) for atom, size in enumerate(self.sizes))


@lru_cache(maxsize=256)
def distances(atoms: AxisAtoms, rank: int) -> Distances:
    """The shortest paths for a mesh whose axes are cut into `atoms`."""
    parts = prod(atom.size for atom in atoms)
    nothing: tuple[tuple[int, ...], ...] = ((),) * rank
    goal = AtomLayout(nothing, tuple(range(len(atoms))))
    space = _AllWays((parts,) * rank, parts, tuple(atom.size for atom in atoms), AtomLayout(nothing), goal)
    found = layouts(len(atoms), rank)
    return Distances(atoms, {layout: i for i, layout in enumerate(found)}, _Ways(space, found))


MOST = 400  # layouts of one rank; beyond, the pieces of axes stay whole


def atoms_for(mesh: Mesh, used: Iterable[Axis], ranks: Iterable[int]) -> AxisAtoms:
    """The mesh's axes, cut where the axes in use are, and finer where pieces could then change places."""
    used, rank = tuple(used), max(ranks, default=0)
    coarse = pieces(mesh, [*(mesh.axis(name) for name, size in mesh.axes if size > 1), *used])
    fine = tuple(refine(coarse))
    return fine if (rank + 2) ** len(fine) <= MOST else coarse


def layouts(count: int, rank: int) -> list[AtomLayout]:
    """Every layout of a tensor of that rank with that many atoms."""
    found: list[AtomLayout] = []
    for chosen in product(range(-2, rank), repeat=count):  # a copy, a partial result, a dimension
        partial = tuple(a for a, place in enumerate(chosen) if place == -1)
        per = [[a for a, place in enumerate(chosen) if place == dim] for dim in range(rank)]
        found += [AtomLayout(dims, partial) for dims in product(*map(permutations, per))]
    return found


class _Ways:
    """The graph of all collectives between layouts, and the shortest paths that have been asked for.

    Lengths are bytes, and STEP for each collective. `images` are the layouts in every order that does not
    matter: a path stays one, of the same length. Of layouts that are images of each other the first stands
    for all.
    """

    def __init__(self, space: Space, found: list[AtomLayout]) -> None:
        self.space, self.found = space, found
        self.whole = space.itemsize * prod(space.shape)
        self.images = orders(found, len(space.shape), space.sizes)
        self.first = self.images.min(axis=0)
        self.order = self.images.argmin(axis=0)
        """Of each layout the order that makes the one of it which stands for it."""
        self.masks = np.array([sum(1 << atom for atom in at.used()) for at in found], dtype=np.int64)
        self.partial = np.array([bool(at.partial) for at in found])
        self.rows: dict[int, Vector] = {}

    def between(self, sources: Numbers, targets: Numbers) -> Matrix:
        """The lengths of the shortest paths from each of some layouts to each of others."""
        starts = self.first[sources]
        new = np.array([start for start in dict.fromkeys(starts.tolist()) if start not in self.rows], int)
        if len(new):
            self.rows.update(zip(new.tolist(), self._lengths(new), strict=True))
        ends = self.images[self.order[sources][:, None], targets]
        return np.array([self.rows[start][at] for start, at in zip(starts.tolist(), ends, strict=True)])

    @cached_property
    def edges(self) -> tuple[Edges, NDArray[np.bool_]]:
        """Every collective from one layout to another, and whether it makes a partial result."""
        index = {layout: i for i, layout in enumerate(self.found)}
        known: dict[SearchState, dict[AtomLayout, int]] = {}
        parts: list[tuple[Numbers, Numbers, Vector, NDArray[np.bool_]]] = []
        for start in np.unique(self.first).tolist():
            lengths = self._collectives(start, known)
            sources, by = np.unique(self.images[:, start], return_index=True)
            targets = self.images[by][:, [index[layout] for layout, _ in lengths]]
            unreduces = np.array([unreduces for _, unreduces in lengths], dtype=np.bool_)
            parts.append(
                (
                    np.repeat(sources, len(lengths)),
                    targets.ravel(),
                    np.tile([*lengths.values()], len(sources)),
                    np.tile(unreduces, len(sources)),
                )
            )
        sources, targets, each, unreduce = map(np.concatenate, zip(*parts, strict=True))
        return Edges(sources, targets, each), unreduce

    def _collectives(
        self, start: int, known: dict[SearchState, dict[AtomLayout, int]]
    ) -> dict[tuple[AtomLayout, bool], float]:
        """The lengths of those from one layout. `known` has what those that are under way end in."""
        lengths: dict[tuple[AtomLayout, bool], float] = {}
        for move in moves(self.space, SearchState(self.found[start])):
            if move.state not in known:
                known[move.state] = _ends(self.space, move.state)
            once = move.bytes + (0 if move.kind in FREE else STEP)
            for layout, more in known[move.state].items():
                key = layout, move.kind.endswith("to_unreduced")
                lengths[key] = min(once + more, lengths.get(key, np.inf))
        return lengths

    def _lengths(self, starts: Numbers) -> Matrix:
        """The rows of some layouts.

        Idle axes help to end partial results only where that saves a quarter (planner.py).
        """
        everything = (1 << len(self.space.sizes)) - 1
        shared = self._shortest(starts, everything)
        pairs = self.masks[starts][:, None] | self.masks
        simple = shared.copy()
        for used in range(everything):
            some = self.partial[starts] & ((self.masks[starts] & ~used) == 0)
            if some.any():
                here = pairs[some] == used
                simple[some] = np.where(here, self._shortest(starts[some], used), simple[some])
        return np.where(4 * np.floor(shared) <= 3 * np.floor(simple), shared, simple)

    def _shortest(self, starts: Numbers, used: int) -> Matrix:
        """The shortest paths over no other atoms. Only to partial layouts results may be made partial."""
        edges, unreduces = self.edges
        inside = (self.masks & ~used) == 0
        kept = inside[edges.sources] & inside[edges.targets]
        count = len(self.found)
        whole = shortest_paths(count, edges.only(kept & ~unreduces), starts)
        return np.where(self.partial, shortest_paths(count, edges.only(kept), starts), whole)


def _ends(space: Space, state: SearchState) -> dict[AtomLayout, int]:
    """The layouts that a collective under way may end in, and the bytes that this adds."""
    ends: dict[AtomLayout, int] = {}
    after = [(state, 0)]
    while after:
        at, bytes = after.pop()
        if at.hand:
            after += [(move.state, bytes + move.bytes) for move in moves(space, at)]
        else:
            ends[at.layout] = min(bytes, ends.get(at.layout, bytes))
    return ends
