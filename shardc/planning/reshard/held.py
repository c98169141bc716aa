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
        held = self.sources.partial[rows] & self.targets.partial[columns]
        parts = np.ones(len(rows))
        for before, after in zip(self.sources.dims, self.targets.dims, strict=True):
            stay = np.ones(len(rows), np.bool_)
            for first, second in zip(before, after, strict=True):
                atoms = first[rows]
                stay &= (atoms == second[columns]) & (atoms != NONE)
                if not stay.any():
                    break
                held |= np.where(stay, self.bits[atoms], 0)
                parts *= np.where(stay, self.sizes[atoms], 1)
        named = self.sources.named[rows] | self.targets.named[columns]
        return named & ~held, 1 / parts


class _Places:
    """For each dimension and each place in it the atom that some layouts have there, or NONE; and as bits the
    atoms that are partial in each of them, and all that it names."""

    def __init__(self, layouts: Sequence[AtomLayout], count: int) -> None:
        rank = len(layouts[0].dims) if layouts else 0
        self.dims: NDArray[np.int64] = np.full((rank, max(1, count), len(layouts)), NONE, np.int64)
        for number, layout in enumerate(layouts):
            for dim, atoms in enumerate(layout.dims):
                self.dims[dim, : len(atoms), number] = atoms
        self.partial = np.array([_bits(layout.partial) for layout in layouts], np.int64)
        self.named = np.array([_bits(layout.used()) for layout in layouts], np.int64)


def _bits(atoms: Sequence[int] | set[int]) -> int:
    return sum(1 << atom for atom in atoms)
