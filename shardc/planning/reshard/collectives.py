"""All collectives between layouts of tensors of one rank, as edges of a graph (ways.py)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from shardc.planning.reshard.orders import Numbers
from shardc.planning.reshard.space import AtomLayout, Atoms
from shardc.planning.reshard.steps import ATTRIBUTES, FREE
from shardc.planning.solvers import Edges, Vector

KINDS = tuple(ATTRIBUTES)
COPY, PARTIAL = -2, -1  # where atoms are that are in no dimension


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

    def moved(self, found: Sequence[AtomLayout], count: int) -> Numbers:
        """The atoms that are in another dimension afterwards, or no more in one or partial, as bits."""
        where = np.full((len(found), count), COPY, dtype=np.int64)
        for number, layout in enumerate(found):
            where[number, list(layout.partial)] = PARTIAL
            for dim, atoms in enumerate(layout.dims):
                where[number, list(atoms)] = dim
        return (where[self.edges.sources] != where[self.edges.targets]) @ (1 << np.arange(count))

    def permuted(self, found: Sequence[AtomLayout]) -> dict[Atoms, list[int]]:
        """The permutes, by number, by the atoms that are then in another place."""
        permutes: dict[Atoms, list[int]] = {}
        edges: list[int] = np.flatnonzero(self.kinds == KINDS.index("collective_permute")).tolist()
        for edge in edges:
            before, after = (found[int(end[edge])] for end in (self.edges.sources, self.edges.targets))
            permutes.setdefault(_elsewhere(before, after), []).append(edge)
        return permutes

    def grown(self, blocks: Vector) -> Vector:
        """By how much a device's block grows, where layouts have blocks of these sizes."""
        return np.maximum(0, blocks[self.edges.targets] - blocks[self.edges.sources])


def _elsewhere(before: AtomLayout, after: AtomLayout) -> Atoms:
    """The atoms that have another dimension then, or others before them in it."""
    here, there = _places(before), _places(after)
    return tuple(sorted(atom for atom in here if here[atom] != there.get(atom)))


def _places(layout: AtomLayout) -> dict[int, tuple[int, Atoms]]:
    """The dimension of each atom, and those before it."""
    dims = enumerate(layout.dims)
    return {atom: (dim, atoms[:at]) for dim, atoms in dims for at, atom in enumerate(atoms)}
