"""Atoms that a change of layout leaves where they are.

    [(x, y), z] -> [x, (z, y)]      # x stays, so this is [y, z] -> [-, (z, y)] of each block of x

An atom stays that is partial before and after, or splits one dimension in one place with all before it the
same. What is moved is a part of each block that such atoms make: the way is that of a smaller tensor over
the other atoms.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shardc.planning.reshard.orders import Numbers
from shardc.planning.reshard.space import AtomLayout
from shardc.planning.solvers import Vector

NONE = -1


class Held:
    """Of ways between some layouts of one rank, over atoms of these sizes."""

    def __init__(
        self, sources: Sequence[AtomLayout], targets: Sequence[AtomLayout], sizes: Sequence[int]
    ) -> None:
        self.sizes = np.array([*sizes, 1], np.float64)  # the last is NONE's
        self.bits = np.array([*(1 << atom for atom in range(len(sizes))), 0], np.int64)
        self.sources, self.targets = (_Places(each, len(sizes)) for each in (sources, targets))

    def among(self, rows: Numbers, columns: Numbers) -> tuple[Numbers, Vector]:
        """For each way from a source to a target, by number: the atoms that move, as bits, and the part of
        the tensor that is a block of those which stay."""
        before = self.sources.atoms[rows]
        same = (before == self.targets.atoms[columns]) & (before != NONE)
        stay = np.where(np.logical_and.accumulate(same, axis=2), before, NONE)
        partial = self.sources.partial[rows] & self.targets.partial[columns]
        named = self.sources.named[rows] | self.targets.named[columns]
        held = self.bits[stay].sum(axis=(1, 2)) | partial
        return named & ~held, 1 / self.sizes[stay].prod(axis=(1, 2))


class _Places:
    """For each of some layouts the atoms of each dimension in their order, then NONE; and as bits those that
    are partial, and all that it names."""

    def __init__(self, layouts: Sequence[AtomLayout], count: int) -> None:
        rank = len(layouts[0].dims) if layouts else 0
        self.atoms: NDArray[np.int64] = np.full((len(layouts), rank, max(1, count)), NONE, np.int64)
        for places, layout in zip(self.atoms, layouts, strict=True):
            for dim, atoms in enumerate(layout.dims):
                places[dim, : len(atoms)] = atoms
        self.partial = np.array([_bits(layout.partial) for layout in layouts], np.int64)
        self.named = np.array([_bits(layout.used()) for layout in layouts], np.int64)


def _bits(atoms: Sequence[int] | set[int]) -> int:
    return sum(1 << atom for atom in atoms)
