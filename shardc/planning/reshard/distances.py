"""What a reshard between any two layouts costs at least.

One search per pair (planner.py) is exact but takes milliseconds. Where every axis divides every
dimension, bytes are a fixed part of the tensor's size, whatever the tensor: so the shortest paths between all
layouts of one rank are those of one graph for a mesh (ways.py), of a tensor that everything divides. Where
something does not divide, blocks are larger and moves fewer, so the bytes are a lower bound; the least way
may be another there, so that no more collectives are counted than the fewest of any way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import permutations, product
from math import comb, factorial, perm, prod
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from shardc.layout import Axis, LayoutError, Sharding, size_of
from shardc.layout.difference import split
from shardc.layout.distinct import distinct
from shardc.planning.reshard.estimate import Estimate, Starts
from shardc.planning.reshard.held import Held, unpacked
from shardc.planning.reshard.moves import SearchState
from shardc.planning.reshard.orders import Numbers
from shardc.planning.reshard.pairs import Pairs
from shardc.planning.reshard.runs import AxisAtoms
from shardc.planning.reshard.space import AtomLayout, Space
from shardc.planning.reshard.ways import STEP, Ways
from shardc.planning.solvers import Vector

FEW = 4
"""Atoms between whose layouts all paths are looked for: there are 2,424 layouts of rank 4."""

LAYOUTS, DIFFERENT = 4_000, 100
"""Of more atoms: five of one size have 3,552 layouts in two dimensions, and 15 that differ."""

MANY = 1 << 12
"""Places of atoms, in no order, beyond which paths are not looked for: those of FEW in six dimensions."""


class Part(NamedTuple):
    """Some of the ways that were asked for, by the number of the question, with what is known between layouts
    of the atoms that they move, and into how many parts the atoms that stay split each dimension (rows)."""

    here: Numbers
    known: Distances
    sources: Sequence[Sharding]
    targets: Sequence[Sharding]
    rows: Numbers
    columns: Numbers
    parts: Numbers


class Distances(Struct, frozen=True, dict=True):
    """What reshards cost between the layouts of tensors of one rank, on a mesh cut into `atoms`."""

    atoms: AxisAtoms
    rank: int
    known: dict[Sharding, int] = {}
    layouts: dict[Sharding, AtomLayout] = {}
    pairs: dict[tuple[Sharding, Sharding], tuple[float, float, int]] = {}

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Devices along each of the atoms."""
        return tuple(map(size_of, self.atoms))

    @property
    def charted(self) -> bool:
        """Whether paths between all layouts are looked for."""
        return len(self.atoms) <= FEW and (self.rank + 2) ** len(self.atoms) <= MANY

    @property
    def small(self) -> bool:
        """Whether paths between all layouts are looked for where every atom is named: there are few layouts,
        and few of them differ in more than the order of dimensions and of atoms of one size."""
        count, rank = len(self.atoms), self.rank
        placed = (perm(count, n) * comb(n + rank - 1, n) << count - n for n in range(count + 1))
        alike = factorial(rank) * prod(map(factorial, Counter(self.sizes).values()))
        return self.charted or (rank > 0 and sum(placed) <= min(LAYOUTS, DIFFERENT * alike))

    @cached_property
    def ways(self) -> Ways:
        """All collectives, where they are charted."""
        return all_ways(self.sizes, self.rank)

    def each(
        self, sources: Sequence[Sharding], targets: Sequence[Sharding], rows: Numbers, columns: Numbers
    ) -> tuple[Vector, Vector]:
        """Parts of the tensor that are sent, and collectives, in plans that a program would use, or less,
        from some of the `sources` to some `targets`, by number.

        Where these are not charted only those atoms move that one of the two layouts names, as planner.py has
        it; where these are too many, too, estimate.py says what is left at least.
        """
        if not self.charted:
            return self._pairs.between(sources, targets, rows, columns)
        begin, end = self.numbers(sources, targets)
        return self.moved(self.ways.paths.pairs(begin[rows], end[columns]))

    @cached_property
    def _pairs(self) -> Pairs:
        return Pairs(self._by_parts)

    def _by_parts(
        self, sources: Sequence[Sharding], targets: Sequence[Sharding], rows: Numbers, columns: Numbers
    ) -> tuple[Vector, Vector]:
        moved, steps = np.zeros(len(rows)), np.zeros(len(rows))
        for part in self.parts(sources, targets, rows, columns):
            parts, steps[part.here] = part.known.among(part.sources, part.targets, part.rows, part.columns)
            moved[part.here] = parts / part.parts.prod(axis=0)
        return moved, steps

    def moved(self, lengths: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Paths as parts of the tensor and collectives, where they are charted."""
        moved = np.floor(lengths)
        with np.errstate(invalid="ignore"):  # what cannot be reached is infinitely far
            steps = np.nan_to_num(np.round((lengths - moved) / STEP))
        return moved / self.ways.whole, steps

    def numbers(self, *lists: Sequence[Sharding]) -> Iterator[Numbers]:
        """The layouts of some lists by number."""
        for shardings in lists:
            yield np.array([self.number(sharding) for sharding in shardings], dtype=np.int64)

    def number(self, sharding: Sharding) -> int:
        """That of a charted layout. LayoutError if it has other pieces of axes."""
        known = self.known.get(sharding)
        if known is None:
            known = self.known[sharding] = self.ways.index[self.layout(sharding)]
        return known

    def layout(self, sharding: Sharding) -> AtomLayout:
        """A layout in the atoms, without others. LayoutError if it has other pieces of axes."""
        known = self.layouts.get(sharding)
        if known is None:
            known = self.layouts[sharding] = self._in_atoms(sharding)
        return known

    def _in_atoms(self, sharding: Sharding) -> AtomLayout:
        runs = {run[0]: (number, run) for number, run in enumerate(self.atoms)}
        every = [axis for run in self.atoms for axis in run]

        def numbers(axes: tuple[Axis, ...]) -> Iterator[int]:
            left = split([axis for axis in axes if axis.size > 1], every)
            while left:
                number, run = runs[left[0]]
                if left[: len(run)] != run:
                    raise LayoutError(f"{sharding} has no run of axes {run}")
                left = left[len(run) :]
                yield number

        partial = [axis for axis in every for other in sharding.unreduced if other.contains(axis)]
        dims = tuple(tuple(numbers(dim.axes)) for dim in sharding.dims)
        return AtomLayout(dims, tuple(sorted(numbers(tuple(partial)))))

    def parts(
        self, sources: Sequence[Sharding], targets: Sequence[Sharding], rows: Numbers, columns: Numbers
    ) -> Iterator[Part]:
        """Ways from some of the `sources` to some `targets`, by number, over the atoms that each moves: those
        that either names, but for those that stay where they are (held.py)."""
        held = Held([*map(self.layout, sources)], [*map(self.layout, targets)], self.sizes)
        moved = held.among(rows, columns)
        for mask in distinct(moved.atoms):
            here = np.flatnonzero(moved.atoms == mask)
            atoms = sorted([self.atoms[number] for number in unpacked(mask)], key=size_of)
            known = distances((*atoms,), self.rank)
            yield Part(here, known, sources, targets, rows[here], columns[here], moved.parts[:, here])

    def among(
        self, sources: Sequence[Sharding], targets: Sequence[Sharding], rows: Numbers, columns: Numbers
    ) -> tuple[Vector, Vector]:
        """Parts of the tensor and collectives from some of the `sources` to some `targets`, by number, where
        all atoms may move; or less, where there are too many layouts."""
        return (self._charts if self.small else self.estimates)(sources, targets, rows, columns)

    def _pairs_of(
        self, sources: Sequence[Sharding], targets: Sequence[Sharding], rows: Numbers, columns: Numbers
    ) -> Iterator[Numbers]:
        """The layouts of both ends by number, of those that are used."""
        for layouts, which in ((sources, rows), (targets, columns)):
            numbers, used = np.zeros(len(layouts), np.int64), distinct(which)
            (numbers[used],) = self.numbers([layouts[i] for i in used])
            yield numbers[which]

    def _charts(
        self, sources: Sequence[Sharding], targets: Sequence[Sharding], rows: Numbers, columns: Numbers
    ) -> tuple[Vector, Vector]:
        return self.moved(self.ways.paths.pairs(*self._pairs_of(sources, targets, rows, columns)))

    def estimates(
        self, sources: Sequence[Sharding], targets: Sequence[Sharding], rows: Numbers, columns: Numbers
    ) -> tuple[Vector, Vector]:
        """What the charts give, or less: what the worst-placed device lacks."""
        used, back = np.unique(rows, return_inverse=True)
        begin: list[int] = used.tolist()
        starts, back = Starts([self.layout(sources[i]) for i in begin], self.rank), back.reshape(-1)
        moved, steps = np.zeros(len(rows)), np.zeros(len(rows))
        for column in distinct(columns):
            here = columns == column
            space = _even_space(self.sizes, AtomLayout(((),) * self.rank), self.layout(targets[column]))
            parts, count = Estimate(space).left_of_all(starts)
            moved[here], steps[here] = parts[back[here]], count[back[here]]
        return moved, steps

    def spared(self, source: Sharding, target: Sharding) -> tuple[float, float, int]:
        """Parts of the tensor that are sent, and parts and collectives that no way is below, however fine it
        cuts the atoms."""
        pair = source, target
        if pair not in self.pairs:
            moved, _ = self.moved(self.ways.paths.pairs(*self.numbers([source], [target])))
            self.pairs[pair] = float(moved[0]), *_left(self.sizes, *map(self.layout, pair))
        return self.pairs[pair]


class _AllWays(Space, frozen=True, dict=True):
    """A tensor for which no two atoms are alike: all layouts are goals."""

    @cached_property
    def kinds(self) -> tuple[tuple[int, int, bool], ...]:
        return tuple((size, atom, True) for atom, size in enumerate(self.sizes))


@lru_cache(maxsize=256)
def distances(atoms: AxisAtoms, rank: int) -> Distances:
    """The shortest paths for a mesh whose axes are cut into `atoms`."""
    return Distances(atoms, rank)


@lru_cache(maxsize=256)
def all_ways(sizes: tuple[int, ...], rank: int) -> Ways:
    """Between all layouts of one rank, of a tensor that atoms of these sizes divide everywhere."""
    goal = AtomLayout(((),) * rank, tuple(range(len(sizes))))
    space = _AllWays(*_even(sizes, rank), sizes, AtomLayout(((),) * rank), goal)
    return Ways(space, layouts(len(sizes), rank), lambda some: all_ways((*some,), rank))


@lru_cache(maxsize=1 << 20)
def _left(sizes: tuple[int, ...], source: AtomLayout, target: AtomLayout) -> tuple[float, int]:
    """Bytes as a part of the tensor's, and collectives, that every way from one layout to another has."""
    estimate = Estimate(_even_space(sizes, source, target))
    left = estimate.left(SearchState(source))
    return left.bytes / estimate.whole, left.collectives


def _even_space(sizes: tuple[int, ...], source: AtomLayout, target: AtomLayout) -> Space:
    """A tensor that everything divides."""
    return Space(*_even(sizes, len(source.dims)), sizes, source, target)


def _even(sizes: tuple[int, ...], rank: int) -> tuple[tuple[int, ...], int]:
    """The shape of a tensor that everything divides, and as many bytes of an element."""
    return (prod(sizes),) * rank, prod(sizes)


def layouts(count: int, rank: int) -> list[AtomLayout]:
    """Every layout of a tensor of that rank with that many atoms."""
    found: list[AtomLayout] = []
    for chosen in product(range(-2, rank), repeat=count):  # a copy, a partial result, a dimension
        partial = tuple(a for a, place in enumerate(chosen) if place == -1)
        per = [[a for a, place in enumerate(chosen) if place == dim] for dim in range(rank)]
        found += [AtomLayout(dims, partial) for dims in product(*map(permutations, per))]
    return found
