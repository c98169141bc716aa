"""Between which layouts a search would cut atoms (atoms.py): no path over whole ones need be the least there.

An atom is cut where it changes places with one of another size that has a factor in common with its own, and
where it does not divide what is left of its dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod

import numpy as np
from numpy.typing import NDArray

from shardc.planning.reshard.orders import Numbers
from shardc.planning.reshard.space import AtomLayout

Flags = NDArray[np.bool_]


class Cuts:
    """For layouts, by number, of atoms of some sizes."""

    def __init__(self, sizes: Sequence[int], layouts: Sequence[AtomLayout]) -> None:
        self.sizes, self.layouts = sizes, layouts
        self.pairs = np.array([[gcd(one, other) > 1 and one != other for other in sizes] for one in sizes])
        """By two atoms, whether one of them is cut where they change places."""
        self.dims = np.full((len(layouts), len(sizes)), -1)
        self.starts = np.ones((len(layouts), len(sizes)), dtype=np.int64)
        """In how many parts the atoms before one split its dimension."""
        for number, layout in enumerate(layouts):
            for dim, atoms in enumerate(layout.dims):
                for place, atom in enumerate(atoms):
                    self.dims[number, atom] = dim
                    self.starts[number, atom] = self._parts(atoms[:place])

    def between(self, shape: Sequence[int], sources: Numbers, targets: Numbers) -> Flags:
        """From each of some layouts to each of others of a tensor of that shape."""
        before, after = self.dims[sources][:, None], self.dims[targets]
        moved = before != after
        leaving, coming = moved & (before >= 0), moved & (after >= 0)
        shifted = ~moved & (before >= 0) & (self.starts[sources][:, None] != self.starts[targets])
        pairs = self.pairs.astype(np.int64)
        cut = ((leaving @ pairs) * coming + (shifted @ pairs) * moved).any(axis=2)
        ragged = [np.array([self._ragged(shape, at) for at in each], np.bool_) for each in (sources, targets)]
        return cut | ragged[0][:, None] | ragged[1]

    def _ragged(self, shape: Sequence[int], number: int) -> bool:
        """Whether an atom does not divide what is left of its dimension."""
        dims = self.layouts[number].dims
        return any(size % self._parts(atoms) for size, atoms in zip(shape, dims, strict=True))

    def _parts(self, atoms: Sequence[int]) -> int:
        return prod(self.sizes[atom] for atom in atoms)
