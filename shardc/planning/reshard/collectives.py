"""All collectives between layouts of tensors of one rank, as edges of a graph (ways.py)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from shardc.planning.reshard.orders import Numbers
from shardc.planning.reshard.space import AtomLayout
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

    def grown(self, blocks: Vector) -> Vector:
        """By how much a device's block grows, where layouts have blocks of these sizes."""
        return np.maximum(0, blocks[self.edges.targets] - blocks[self.edges.sources])
