"""What a reshard between any two layouts costs at least, for all layouts at once.

One search per pair (planning/reshard.py) is exact but takes milliseconds. Where every axis divides every
dimension, bytes are a fixed part of the tensor's size, whatever the tensor: so the shortest paths between all
layouts of one rank are found once for a mesh, on a tensor that everything divides. Where something does not
divide, blocks are larger and moves fewer, so the figure is a lower bound.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import permutations, product
from math import prod

import numpy as np
from numpy.typing import NDArray

from shardc.graph.types import TensorType
from shardc.layout import Axis, Mesh, Sharding
from shardc.layout.difference import pieces, split
from shardc.planning.atoms import refine
from shardc.planning.moves import MOVES, Layout, Space
from shardc.planning.scipys import Table, dijkstra, sparse
from shardc.planning.steps import FREE

Atoms = tuple[Axis, ...]

STEP = 1 / 1024  # what a collective counts, in bytes of the model tensor: it decides between equals
TINY = STEP / 1024  # scipy drops edges that cost nothing


@dataclass(frozen=True)
class Distances:
    """What reshards cost between the layouts of tensors of one rank, on a mesh cut into `atoms`.

    Tables are by source and target: bytes as a part of the tensor's, and collectives; the first two for
    targets that are whole, the others for targets that are partial.
    """

    atoms: Atoms
    index: dict[Layout, int] = field(repr=False)
    tables: tuple[tuple[Table, Table], tuple[Table, Table]] = field(repr=False)
    numbers: dict[Sharding, int] = field(default_factory=dict[Sharding, int], repr=False)

    def least(self, type: TensorType, source: Sharding, target: Sharding) -> tuple[float, int]:
        """Bytes and collectives of a plan that a program would use, or less."""
        parts, steps = self.tables[bool(target.unreduced)]
        place = self._number(source), self._number(target)
        return float(parts[place]) * type.size * type.numpy.itemsize, int(steps[place])

    def _number(self, sharding: Sharding) -> int:
        known = self.numbers.get(sharding)
        if known is None:
            number = {atom: i for i, atom in enumerate(self.atoms)}
            dims = tuple(tuple(number[a] for a in split(dim.axes, self.atoms)) for dim in sharding.dims)
            partial = tuple(sorted(number[a] for a in split(sharding.unreduced, self.atoms)))
            known = self.numbers[sharding] = self.index[Layout(dims, partial)]
        return known


@lru_cache(maxsize=256)
def distances(atoms: Atoms, rank: int) -> Distances:
    """The shortest paths for a mesh whose axes are cut into `atoms`."""
    index = {layout: i for i, layout in enumerate(layouts(len(atoms), rank))}
    edges = _edges(atoms, rank, index)
    whole = prod(atom.size for atom in atoms) ** (rank + 1)
    masks = np.array([sum(1 << a for a in _atoms_in(layout)) for layout in index], dtype=np.int64)
    first, second = (_tables(edges, masks, len(atoms), whole, wanted) for wanted in (False, True))
    return Distances(atoms, index, (first, second))


MOST = 400  # layouts of one rank; beyond, the pieces of axes stay whole


def atoms_for(mesh: Mesh, used: Iterable[Axis], ranks: Iterable[int]) -> Atoms:
    """The mesh's axes, cut where the axes in use are, and finer where pieces could then change places."""
    used, rank = tuple(used), max(ranks, default=0)
    coarse = pieces(mesh, [*(mesh.axis(name) for name, size in mesh.axes if size > 1), *used])
    fine = tuple(refine(coarse, ()))
    return fine if (rank + 2) ** len(fine) <= MOST else coarse


def layouts(count: int, rank: int) -> list[Layout]:
    """Every layout of a tensor of that rank with that many atoms."""
    found: list[Layout] = []
    for chosen in product(range(-2, rank), repeat=count):  # a copy, a partial result, a dimension
        partial = tuple(a for a, place in enumerate(chosen) if place == -1)
        per = [[a for a, place in enumerate(chosen) if place == dim] for dim in range(rank)]
        found += [Layout(dims, partial) for dims in product(*map(permutations, per))]
    return found


def _atoms_in(layout: Layout) -> frozenset[int]:
    return frozenset(a for atoms in (*layout.dims, layout.partial) for a in atoms)


Edges = dict[tuple[int, int, bool], float]
"""(from, to, whether it makes a partial result) -> bytes, plus STEP for a collective."""


def _edges(atoms: Atoms, rank: int, index: dict[Layout, int]) -> Edges:
    """Every single move."""
    parts = prod(atom.size for atom in atoms)
    start, goal = Layout(((),) * rank), Layout(((),) * rank, tuple(range(len(atoms))))
    space = Space((parts,) * rank, parts, tuple(atom.size for atom in atoms), start, goal)
    edges: Edges = {}
    for layout, number in index.items():
        for move in (move for moves in MOVES for move in moves(space, layout)):
            key = (number, index[move.layout], move.kind.endswith("to_unreduced"))
            cost = move.bytes + (0 if move.kind in FREE else STEP) + TINY
            edges[key] = min(cost, edges.get(key, cost))
    return edges


def _tables(
    edges: Edges, masks: NDArray[np.int64], atoms: int, whole: int, wanted: bool
) -> tuple[Table, Table]:
    """Bytes, as parts of the tensor's, and collectives; idle axes help only where that saves a quarter.

    `masks` says which atoms each layout uses. With `wanted`, results may be made partial on the way.
    """
    pairs = masks[:, None] | masks[None, :]
    everything = (1 << atoms) - 1
    shared = _shortest(edges, masks, everything, wanted)
    simple = shared.copy()
    for used in range(everything):
        here = pairs == used
        simple[here] = _shortest(edges, masks, used, wanted)[here]
    best = np.where(4 * np.floor(shared) <= 3 * np.floor(simple), shared, simple)
    moved = np.floor(best)
    with np.errstate(invalid="ignore"):  # what cannot be reached is infinitely far
        return moved / whole, np.nan_to_num(np.round((best - moved) / STEP))


def _shortest(edges: Edges, masks: NDArray[np.int64], used: int, wanted: bool) -> Table:
    """Bytes plus STEP for each collective, between layouts that use no other atoms; infinite elsewhere."""
    inside = (masks & ~used) == 0
    kept = {
        (source, target): cost
        for (source, target, unreduces), cost in edges.items()
        if inside[source] and inside[target] and (wanted or not unreduces)
    }
    return dijkstra(sparse([*kept.values()], [*kept], (len(masks), len(masks))))
