"""What a reshard between any two layouts costs at least, for all layouts at once.

One search per pair (planner.py) is exact but takes milliseconds. Where every axis divides every
dimension, bytes are a fixed part of the tensor's size, whatever the tensor: so the shortest paths between all
layouts of one rank are found once for a mesh, on a tensor that everything divides. Where something does not
divide, blocks are larger and moves fewer, so the figure is a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
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
from shardc.planning.reshard.space import AtomLayout, Space
from shardc.planning.reshard.steps import FREE
from shardc.planning.solvers import Matrix, dijkstra

AxisAtoms = tuple[Axis, ...]

STEP = 1 / 1024  # what a collective counts, in bytes of the model tensor: it decides between equals
TINY = STEP / 1024  # an edge that costs nothing is none to scipy


@dataclass(frozen=True)
class Distances:
    """What reshards cost between the layouts of tensors of one rank, on a mesh cut into `atoms`.

    Tables are by source and target: bytes as a part of the tensor's, and collectives; the first two for
    targets that are whole, the others for targets that are partial.
    """

    atoms: AxisAtoms
    index: dict[AtomLayout, int] = field(repr=False)
    tables: tuple[tuple[Matrix, Matrix], tuple[Matrix, Matrix]] = field(repr=False)
    numbers: dict[Sharding, int] = field(default_factory=dict[Sharding, int], repr=False)

    def least(self, type: TensorType, source: Sharding, target: Sharding) -> tuple[float, int]:
        """Bytes and collectives of a plan that a program would use, or less."""
        parts, steps = self.tables[bool(target.unreduced)]
        place = self._number(source), self._number(target)
        return float(parts[place]) * type.size * type.numpy.itemsize, int(steps[place])

    def table(self, type: TensorType, places: Sequence[Sharding]) -> tuple[Matrix, Matrix]:
        """The same from each of some layouts to each."""
        numbers = [self._number(place) for place in places]
        partial = np.array([bool(place.unreduced) for place in places])
        parts, steps = (
            np.where(partial, second[np.ix_(numbers, numbers)], first[np.ix_(numbers, numbers)])
            for first, second in zip(*self.tables, strict=True)
        )
        return parts * type.size * type.numpy.itemsize, steps

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
    index = {layout: i for i, layout in enumerate(layouts(len(atoms), rank))}
    steps = _steps(space, index)
    first, second = (_tables(space, steps, [*index], wanted) for wanted in (False, True))
    return Distances(atoms, index, (first, second))


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


TURNED = 4  # dimensions of which all orders are looked at


@dataclass(frozen=True)
class _Steps:
    """The graph of all moves: which atoms its states use, as bits, layouts first; and its edges.

    An edge is (from, to, whether it makes a partial result) with its bytes, plus STEP for a collective.
    `turns` have, for every order of the first dimensions, the number of each layout with its dimensions in
    that order; `swaps` also have atoms of one size in every order. Dimensions are all equal, and so are atoms
    of one size: a path stays one, of the same length.
    """

    masks: NDArray[np.int64]
    edges: dict[tuple[int, int, bool], float]
    turns: NDArray[np.int64]
    swaps: NDArray[np.int64]


def _steps(space: Space, index: dict[AtomLayout, int]) -> _Steps:
    numbers = {SearchState(layout): i for layout, i in index.items()}
    states, edges = [*numbers], dict[tuple[int, int, bool], float]()
    for state in states:  # which grows
        for move in moves(space, state):
            if move.state not in numbers:
                numbers[move.state] = len(states)
                states.append(move.state)
            key = (numbers[state], numbers[move.state], move.kind.endswith("to_unreduced"))
            cost = move.bytes + (STEP if move.begins and move.kind not in FREE else 0) + TINY
            edges[key] = min(cost, edges.get(key, cost))
    used = [state.layout.used() | {*(state.hand.atoms if state.hand else ())} for state in states]
    masks = np.array([sum(1 << atom for atom in atoms) for atoms in used], dtype=np.int64)
    turns = np.array([[index[turned(at)] for at in index] for turned in _turns(len(space.shape))])
    atoms = np.array([[index[swapped(at)] for at in index] for swapped in _swaps(space.sizes)])
    return _Steps(masks, edges, turns, np.concatenate([turns[:, swap] for swap in atoms]))


def _turns(rank: int) -> Iterator[Callable[[AtomLayout], AtomLayout]]:
    """Every order of the first dimensions, the order that they have first."""
    for order in permutations(range(min(rank, TURNED))):
        dims = (*order, *range(TURNED, rank))
        yield lambda at, dims=dims: AtomLayout(tuple(at.dims[dim] for dim in dims), at.partial)


def _swaps(sizes: Sequence[int]) -> Iterator[Callable[[AtomLayout], AtomLayout]]:
    """Every order of the atoms in which each size stands where it stood, the order that they have first."""
    for order in permutations(range(len(sizes))):
        if all(sizes[atom] == size for atom, size in zip(order, sizes, strict=True)):
            yield lambda at, order=order: AtomLayout(
                tuple(tuple(order[atom] for atom in dim) for dim in at.dims),
                tuple(sorted(order[atom] for atom in at.partial)),
            )


def _tables(space: Space, steps: _Steps, found: list[AtomLayout], wanted: bool) -> tuple[Matrix, Matrix]:
    """Bytes, as parts of the tensor's, and collectives. With `wanted`, results may be made partial.

    Idle axes help to end partial results only where that saves a quarter (planner.py).
    """
    masks = steps.masks[: len(found)]
    pairs = masks[:, None] | masks[None, :]
    everything = (1 << len(space.sizes)) - 1
    shared = _shortest(steps, steps.swaps, everything, wanted)
    simple = shared.copy()
    for used in range(everything):
        here = pairs == used
        simple[here] = _shortest(steps, steps.turns, used, wanted)[here]
    partial = np.array([bool(layout.partial) for layout in found])[:, None]
    best = np.where(~partial | (4 * np.floor(shared) <= 3 * np.floor(simple)), shared, simple)
    moved = np.floor(best)
    whole = space.itemsize * prod(space.shape)
    with np.errstate(invalid="ignore"):  # what cannot be reached is infinitely far
        return moved / whole, np.nan_to_num(np.round((best - moved) / STEP))


def _shortest(steps: _Steps, turns: NDArray[np.int64], used: int, wanted: bool) -> Matrix:
    """Bytes plus STEP for each collective, between layouts over no other atoms.

    Paths are looked for from one of the layouts that `turns`, which keep to these atoms, make of each other.
    """
    inside = (steps.masks & ~used) == 0
    kept = {
        (source, target): cost
        for (source, target, unreduces), cost in steps.edges.items()
        if inside[source] and inside[target] and (wanted or not unreduces)
    }
    count = turns.shape[1]
    starts = [start for start in sorted({*turns.min(axis=0).tolist()}) if inside[start]]
    table = np.full((count, count), np.inf)
    for start, row in zip(starts, dijkstra(len(steps.masks), kept, starts, count), strict=True):
        table[turns[:, start, None], turns] = row
    return table
