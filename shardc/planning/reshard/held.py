"""Atoms that a change of layout leaves where they are.

    [(x, y), z] -> [x, (z, y)]      # x stays, so this is [y, z] -> [-, (z, y)] of each block of x

An atom stays that is partial before and after, or splits one dimension in one place with all before it the
same. What is moved is a part of each block that such atoms make: the way is that of a smaller tensor over
the other atoms.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise, permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shardc.planning.reshard.orders import Numbers
from shardc.planning.reshard.space import AtomLayout, Atoms

NONE = -1
FOLLOW = 7  # of these all pairs are bits of a number
UNSAID = 62  # a bit that is never set


class Moved(NamedTuple):
    """Of some ways: the atoms that move, as bits, and those that are nowhere before and after; which of all
    go together, as bits (follow); the dimensions that those which move split before or after, as bits; and
    into how many parts the atoms that stay split each dimension (rows)."""

    atoms: Numbers
    idle: Numbers
    together: Numbers
    dims: Numbers
    parts: Numbers


class Held:
    """Of ways between some layouts of one rank, over atoms of these sizes."""

    def __init__(
        self, sources: Sequence[AtomLayout], targets: Sequence[AtomLayout], sizes: Sequence[int]
    ) -> None:
        self.sizes = np.array([*sizes, 1], np.int64)  # the last is NONE's
        self.bits = np.array([*(1 << atom for atom in range(len(sizes))), 0], np.int64)
        self.sources, self.targets = (_Places(each, len(sizes)) for each in (sources, targets))

    def among(self, rows: Numbers, columns: Numbers) -> Moved:
        """Of each way from a source to a target, by number."""
        held, across = (
            self.sources.partial[rows] & self.targets.partial[columns],
            np.zeros(len(rows), np.int64),
        )
        parts = np.ones((len(self.sources.dims), len(rows)), np.int64)
        dims = zip(parts, self.sources.dims, self.targets.dims, strict=True)
        for dim, (split, before, after) in enumerate(dims):
            stay = np.ones(len(rows), np.bool_)
            for first, second in zip(before, after, strict=True):
                atoms, others = first[rows], second[columns]
                across |= np.where((atoms != others) | ~stay & (atoms != NONE), 1 << dim, 0)
                stay &= (atoms == others) & (atoms != NONE)
                held |= np.where(stay, self.bits[atoms], 0)
                split *= np.where(stay, self.sizes[atoms], 1)
        named = self.sources.named[rows] | self.targets.named[columns]
        together = self.sources.together[rows] & self.targets.together[columns]
        return Moved(named & ~held, ~named & self.bits.sum(), together, across, parts)

    def every(self, rows: Numbers, columns: Numbers) -> Moved:
        """The same as if all atoms moved, each by itself."""
        none, dims = np.zeros(len(rows), np.int64), self.sources.split[rows] | self.targets.split[columns]
        parts = np.ones((len(self.sources.dims), len(rows)), np.int64)
        return Moved(none + self.bits.sum(), none, none, dims, parts)


def runs(atoms: Sequence[int], together: int) -> list[Atoms]:
    """Atoms in runs that go together, each in the order in which it stands."""
    found: list[Atoms] = [(atom,) for atom in atoms]
    at = 0
    while at < len(found):
        after = next((run for run in found if run != found[at] and _follows(found[at], run, together)), None)
        if after is None:
            at += 1
        else:
            found[at] += after
            found.remove(after)
            at = 0
    return found


def _follows(run: Atoms, other: Atoms, together: int) -> bool:
    """Whether one run is wherever another ends; of two in no order, whether its atoms have larger numbers."""
    if not together >> follow(run[-1], other[0]) & 1:
        return False
    return run[0] < other[0] or not together >> follow(other[-1], run[0]) & 1


def follow(atom: int, other: int) -> int:
    """The bit that says that an atom follows another in its dimension, or that both are partial, or nowhere.
    Of the first FOLLOW atoms alone."""
    return FOLLOW * atom + other if max(atom, other) < FOLLOW else UNSAID


class _Places:
    """For each dimension and each place in it the atom that some layouts have there, or NONE; and as bits the
    dimensions that each of them splits, the atoms that are partial there, all that it names, and which follow
    each other."""

    def __init__(self, layouts: Sequence[AtomLayout], count: int) -> None:
        rank = len(layouts[0].dims) if layouts else 0
        self.dims: NDArray[np.int64] = np.full((rank, max(1, count), len(layouts)), NONE, np.int64)
        for number, layout in enumerate(layouts):
            for dim, atoms in enumerate(layout.dims):
                self.dims[dim, : len(atoms), number] = atoms
        every = [[dim for dim, atoms in enumerate(layout.dims) if atoms] for layout in layouts]
        self.split = np.array([*map(_bits, every)], np.int64)
        self.partial = np.array([_bits(layout.partial) for layout in layouts], np.int64)
        self.named = np.array([_bits(layout.used()) for layout in layouts], np.int64)
        self.together = np.array([_together(layout, count) for layout in layouts], np.int64)


def unpacked(bits: int) -> list[int]:
    """Atoms, or dimensions, that are given as bits, ascending."""
    return [number for number in range(bits.bit_length()) if bits >> number & 1]


def _bits(atoms: Sequence[int] | set[int]) -> int:
    return sum(1 << atom for atom in atoms)


@lru_cache(maxsize=65536)
def _together(layout: AtomLayout, count: int) -> int:
    nowhere = [atom for atom in range(count) if atom not in layout.used()]
    pairs = [pair for dim in layout.dims for pair in pairwise(dim)]
    pairs += [*permutations(layout.partial, 2), *permutations(nowhere, 2)]
    return sum(1 << follow(*pair) for pair in pairs if max(pair) < FOLLOW)
