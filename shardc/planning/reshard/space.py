"""A reshard in numbers: atoms (pieces of axes) by number, the layouts they can form, and blocks' sizes.

Blocks have the ceiling size. A suffix of a dimension's atoms can be gathered or sliced if the smaller blocks
tile the larger one exactly, or if nothing else splits the dimension: then the whole is padded before slicing
and the padding dropped after gathering.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import NamedTuple

from msgspec import Struct

Atoms = tuple[int, ...]


class AtomLayout(NamedTuple):
    """Atoms per dimension, major to minor; atoms over which the value is partial, ascending.

    `settled` is False while what is partial is of the source's kind and the target's is another.
    """

    dims: tuple[Atoms, ...]
    partial: Atoms = ()
    settled: bool = True

    def with_dim(self, dim: int, atoms: Atoms) -> AtomLayout:
        """The layout with other atoms in one dimension."""
        dims, partial, settled = self
        return AtomLayout((*dims[:dim], atoms, *dims[dim + 1 :]), partial, settled)

    def less_partial(self, gone: Sequence[int]) -> AtomLayout:
        """The layout with some atoms reduced."""
        left = tuple(a for a in self.partial if a not in gone)
        return AtomLayout(self.dims, left, self.settled or not left)

    def used(self) -> set[int]:
        """The atoms that split a dimension or are partial."""
        return {a for atoms in (*self.dims, self.partial) for a in atoms}


class Space(Struct, frozen=True, dict=True):
    """A tensor and the atoms' sizes; the layout it has and, as `goal`, the one to reach."""

    shape: tuple[int, ...]
    itemsize: int
    sizes: tuple[int, ...]
    start: AtomLayout
    goal: AtomLayout

    def parts(self, atoms: Sequence[int]) -> int:
        """Into how many parts the atoms split something."""
        return prod(map(self.sizes.__getitem__, atoms))

    def block(self, dim: int, atoms: Atoms) -> int:
        """The local size of a dimension."""
        key = dim, atoms
        size = self._blocks.get(key)
        if size is None:
            size = self._blocks[key] = -(-self.shape[dim] // self.parts(atoms))
        return size

    def local(self, dims: Sequence[Atoms]) -> int:
        """Bytes of a device's block."""
        return self.itemsize * prod(map(self.block, range(len(dims)), dims))

    def nests(self, dim: int, outer: Atoms, inner: Atoms) -> bool:
        """Whether the blocks of outer + inner tile those of outer, so that `inner` may come or go."""
        return (
            self.even
            or not outer
            or not inner
            or self.block(dim, outer) == self.block(dim, outer + inner) * self.parts(inner)
        )

    def free(self, layout: AtomLayout) -> Atoms:
        """The atoms over which devices hold copies."""
        used = layout.used()
        return tuple(a for a in range(len(self.sizes)) if a not in used)

    def first_alike(self, atoms: Sequence[int]) -> Atoms:
        """Of atoms that are all free, or all partial, the first of each kind: others would do the same."""
        return tuple({self.kinds[a]: a for a in reversed(atoms)}.values())[::-1]

    def in_order(self, chosen: Sequence[int], atoms: Sequence[int]) -> bool:
        """Whether an ordered choice of `atoms` takes each kind's first ones, in order."""
        left = list(atoms)
        for atom in chosen:
            if next(a for a in left if self.kinds[a] == self.kinds[atom]) != atom:
                return False
            left.remove(atom)
        return True

    @cached_property
    def _blocks(self) -> dict[tuple[int, Atoms], int]:
        """The local sizes that are known."""
        return {}

    @cached_property
    def even(self) -> bool:
        """Whether every dimension can be split over all atoms."""
        return all(size % prod(self.sizes) == 0 for size in self.shape)

    @property
    def smallest(self) -> Space:
        """The smallest tensor of this rank that all atoms divide everywhere, an element of one byte, with the
        same layouts."""
        return Space((prod(self.sizes),) * len(self.shape), 1, self.sizes, self.start, self.goal)

    @cached_property
    def kinds(self) -> tuple[tuple[int, int, bool], ...]:
        """Per atom what tells it from others: the size, and what the goal does with it."""
        placed = {a for atoms in self.goal.dims for a in atoms}
        return tuple(
            (size, atom if atom in placed else -1, atom in self.goal.partial)
            for atom, size in enumerate(self.sizes)
        )
