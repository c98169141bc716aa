"""All collectives between layouts of tensors of one rank, as edges of a graph (ways.py)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from shardc.planning.reshard.held import unpacked
from shardc.planning.reshard.orders import Numbers
from shardc.planning.reshard.space import AtomLayout, Atoms
from shardc.planning.reshard.steps import ATTRIBUTES, FREE
from shardc.planning.solvers import Edges, Vector

KINDS = tuple(ATTRIBUTES)
STAYS, COPY, PARTIAL = -3, -2, -1  # where atoms are that are in no dimension, or do not move
STAGED = [KINDS.index(kind) for kind in ("all_reduce", "all_gather", "reduce_scatter")]
"""What is done in stages where that is quicker."""


class Collectives(Struct, frozen=True):
    """Every collective from one layout to another: what it sends (Ways), and its kind by number (KINDS)."""

    edges: Edges
    kinds: Numbers

    @property
    def unreduces(self) -> NDArray[np.bool_]:
        """Which make partial results."""
        return np.isin(self.kinds, [KINDS.index(kind) for kind in KINDS if kind.endswith("to_unreduced")])

    @property
    def free(self) -> NDArray[np.bool_]:
        """Which send nothing."""
        return np.isin(self.kinds, [KINDS.index(kind) for kind in FREE])

    def moved(self, where: Numbers) -> Numbers:
        """The atoms that are in another dimension afterwards, or no more in one or partial, as bits; `where`
        says where each layout has them (places)."""
        before, after = where[self.edges.sources], where[self.edges.targets]
        count: int = where.shape[1]
        return (before != after) @ (1 << np.arange(count))

    def permuted(self, found: Sequence[AtomLayout], sizes: Sequence[int]) -> dict[Atoms, Numbers]:
        """The permutes, by number, by the atoms along which blocks stand elsewhere then, where atoms have
        these sizes."""
        which = np.flatnonzero(self.kinds == KINDS.index("collective_permute"))
        stands = np.array([_stands(layout, sizes) for layout in found], np.int64).reshape(len(found), -1)
        here, there = stands[self.edges.sources[which]], stands[self.edges.targets[which]]
        bits = ((here != there) & (here >= 0)) @ (1 << np.arange(stands.shape[1]))
        every: list[int] = np.unique(bits).tolist()
        return {tuple(unpacked(moved)): which[bits == moved] for moved in every}

    def unsteady(self, where: Numbers, parts: Numbers, several: int) -> list[Numbers]:
        """Those that are no linear function of their bytes, by number, together as they take as long: sums,
        gathers and scatters over `several` atoms, which may be done in stages, and those that make partial
        results, which are written. The order of dimensions does not tell them apart. `where`: that of moved;
        `parts`: into how many each layout splits each dimension."""
        before, after = where[self.edges.sources], where[self.edges.targets]
        stays, blocks = before == after, parts.prod(axis=1)
        staged = np.isin(self.kinds, STAGED) & ((~stays).sum(axis=1) >= several)
        which = np.flatnonzero(staged | self.unreduces)
        ends = blocks[self.edges.sources], blocks[self.edges.targets]
        joined = [np.where(staged[:, None], _together(end, ~stays), STAYS) for end in (before, after)]
        told = np.column_stack([self.kinds, *ends, self.edges.lengths, *joined])
        _, group = np.unique(told[which], axis=0, return_inverse=True)
        order = np.argsort(group, kind="stable")
        starts = np.flatnonzero(np.diff(group[order], prepend=-1))
        return np.split(which[order], starts[1:]) if len(which) else []

    def grown(self, blocks: Vector) -> Vector:
        """By how much a device's block grows, where layouts have blocks of these sizes."""
        return np.maximum(0, blocks[self.edges.targets] - blocks[self.edges.sources])


def _together(where: Numbers, moves: NDArray[np.bool_]) -> Numbers:
    """For each atom that moves the first one that does so from, or to, the same place."""
    found = np.full(where.shape, STAYS)
    for atom in range(where.shape[1]):
        same = (where == where[:, [atom]]) & moves & moves[:, [atom]]
        found = np.where(same & (found == STAYS), atom, found)
    return found


def places(found: Sequence[AtomLayout], count: int) -> Numbers:
    """In which dimension each of so many atoms (columns) is in some layouts (rows), or COPY or PARTIAL."""
    where = np.full((len(found), count), COPY, dtype=np.int64)
    for row, layout in zip(where, found, strict=True):
        for dim, atoms in (*enumerate(layout.dims), (PARTIAL, layout.partial)):
            for atom in atoms:
                row[atom] = dim
    return where


def _stands(layout: AtomLayout, sizes: Sequence[int]) -> list[int]:
    """A number for the dimension of each atom and how many blocks one position along it is; -1 of others."""
    found, whole = [-1] * len(sizes), prod(sizes)
    for dim, atoms in enumerate(layout.dims):
        blocks = 1
        for atom in reversed(atoms):
            found[atom] = dim * whole + blocks
            blocks *= sizes[atom]
    return found
