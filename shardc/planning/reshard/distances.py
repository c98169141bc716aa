"""What a reshard between any two layouts costs at least.

One search per pair (planner.py) is exact but takes milliseconds. Where every axis divides every
dimension, bytes are a fixed part of the tensor's size, whatever the tensor: so the shortest paths between all
layouts of one rank are those of one graph for a mesh (ways.py), of a tensor that everything divides. Where
something does not divide, blocks are larger and moves fewer, so the figure is a lower bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import permutations, product
from math import prod

import numpy as np

from shardc.graph.types import TensorType
from shardc.layout import Axis, Mesh, Sharding
from shardc.layout.difference import pieces, split
from shardc.planning.reshard.atoms import refine
from shardc.planning.reshard.orders import Numbers
from shardc.planning.reshard.space import AtomLayout, Space
from shardc.planning.reshard.ways import STEP, Ways
from shardc.planning.solvers import Matrix

AxisAtoms = tuple[Axis, ...]


@dataclass(frozen=True)
class Distances:
    """What reshards cost between the layouts of tensors of one rank, on a mesh cut into `atoms`."""

    atoms: AxisAtoms
    index: dict[AtomLayout, int] = field(repr=False)
    ways: Ways = field(repr=False)
    known: dict[Sharding, int] = field(default_factory=dict[Sharding, int], repr=False)

    def table(
        self, type: TensorType, sources: Sequence[Sharding], targets: Sequence[Sharding]
    ) -> tuple[Matrix, Matrix]:
        """Bytes and collectives of plans that a program would use, or less, from each of some layouts to each
        of others."""
        lengths = self.ways.paths.between(*self.numbers(sources, targets))
        moved = np.floor(lengths)
        with np.errstate(invalid="ignore"):  # what cannot be reached is infinitely far
            steps = np.nan_to_num(np.round((lengths - moved) / STEP))
        return moved / self.ways.whole * type.size * type.numpy.itemsize, steps

    def numbers(self, *lists: Sequence[Sharding]) -> Iterator[Numbers]:
        """The layouts of some lists by number."""
        for shardings in lists:
            yield np.array([self._number(sharding) for sharding in shardings], dtype=np.int64)

    def _number(self, sharding: Sharding) -> int:
        known = self.known.get(sharding)
        if known is None:
            number = {atom: i for i, atom in enumerate(self.atoms)}
            dims = tuple(tuple(number[a] for a in split(dim.axes, self.atoms)) for dim in sharding.dims)
            partial = tuple(sorted(number[a] for a in split(sharding.unreduced, self.atoms)))
            known = self.known[sharding] = self.index[AtomLayout(dims, partial)]
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
    return Distances(atoms, {layout: i for i, layout in enumerate(found)}, Ways(space, found))


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
