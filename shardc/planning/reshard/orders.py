"""The orders that do not matter to reshards: of dimensions, which are all equal, and of atoms of one size.

A sequence of collectives with dimensions or such atoms in another order is one that costs the same. There are
many orders of many dimensions, so an order is known by what it does, and only those are looked at that make
of some layout the one that stands for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from shardc.planning.reshard.space import AtomLayout

Numbers = NDArray[np.int64]

TOGETHER = 1 << 20
"""Images that are looked for in one go."""


class Ends(Struct, frozen=True):
    """The ends of ways from some layouts to others: for each source the layout that stands for it, and what
    its order makes of the targets, a row for each source, or of its own target."""

    starts: Numbers
    targets: Numbers


class Orders:
    """Of every layout of a rank, by its number, the one that stands for all that orders make of it.

    first: the number of that layout.
    order: the number of an order that makes it of the layout; others may, too.
    """

    def __init__(self, layouts: Sequence[AtomLayout], rank: int, sizes: Sequence[int]) -> None:
        count, self._rank = len(sizes), rank
        self._places = _places(layouts, rank, count)
        self._weights = (2 + rank * count) ** np.arange(count, dtype=np.int64)
        keys = self._places @ self._weights
        self._sorter = np.argsort(keys)
        self._keys = keys[self._sorter]
        found = [(swap, _named(self._places[:, swap], rank)) for swap in _swaps(sizes)]
        images = np.array([self._moved(self._places[:, swap], dims) @ self._weights for swap, dims in found])
        chosen = images.argmin(axis=0)
        self.first = self._at(images.min(axis=0))
        swaps = np.array([swap for swap, _ in found], dtype=np.int64)[chosen]
        dims = np.array([dims for _, dims in found])[chosen, np.arange(len(layouts))]
        each = np.concatenate([swaps, dims], axis=1)
        distinct, order = np.unique(each, axis=0, return_inverse=True)
        self.order: Numbers = order.reshape(-1)
        self._swaps, self._dims = distinct[:, :count], distinct[:, count:]
        self._known: dict[int, Numbers] = {}
        """The images of all layouts, by the number of an order."""

    def ends(self, sources: Numbers, targets: Numbers) -> Ends:
        """Of ways from each of some layouts to each of others, those of ways that are as long."""
        orders: list[int] = self.order[sources].tolist()
        new = [order for order in dict.fromkeys(orders) if order not in self._known]
        if new:
            images = self.images(np.array(new, np.int64), np.arange(len(self.first)))
            self._known.update(zip(new, images, strict=True))
        found = np.empty((len(orders), len(targets)), np.int64)
        for row, order in zip(found, orders, strict=True):
            row[:] = self._known[order][targets]
        return Ends(self.first[sources], found)

    def pairs(self, sources: Numbers, targets: Numbers) -> Ends:
        """The same of a way from each of some layouts to one of others, with one target for each source."""
        orders = self.order[sources]
        places = np.take_along_axis(self._places[targets], self._swaps[orders], axis=1)
        return Ends(self.first[sources], self._at(self._moved(places, self._dims[orders]) @ self._weights))

    def split(self, layout: int) -> int:
        """Dimensions of a layout up to the last that is split."""
        last = int(self._places[layout].max(initial=0))
        return 0 if last < 2 else 1 + (last - 2) // self._places.shape[1]

    def alike(self, split: int) -> Numbers:
        """For every layout the one that stands for all that orders of the dimensions after the first `split`
        make of it."""
        return self._at(self._moved(self._places, _named(self._places, self._rank, split)) @ self._weights)

    def images(self, orders: Numbers, layouts: Numbers) -> Numbers:
        """The layouts (columns) that orders (rows) make of some."""
        return self._images(self._swaps[orders], self._dims[orders], layouts)

    def before(self, orders: Numbers, layouts: Numbers) -> Numbers:
        """The layouts (columns) of which orders (rows) make some."""
        return self._images(np.argsort(self._swaps[orders]), np.argsort(self._dims[orders]), layouts)

    def _images(self, swaps: Numbers, dims: Numbers, layouts: Numbers) -> Numbers:
        made = np.empty((len(swaps), len(layouts)), dtype=np.int64)
        rows = max(1, TOGETHER // max(1, len(layouts)))
        for start in range(0, len(swaps), rows):
            some = slice(start, start + rows)
            places = self._places[layouts][:, swaps[some]].swapaxes(0, 1)
            made[some] = self._at(self._moved(places, dims[some]) @ self._weights)
        return made

    def _moved(self, places: Numbers, dims: Numbers) -> Numbers:
        """The places once dimensions have become others; `dims` has a row for each row of places."""
        rows, count = len(places), places.shape[-1]
        flat = places.reshape(rows, -1)
        dim, place = np.divmod(np.maximum(flat - 2, 0), max(1, count))
        found = np.take_along_axis(dims, dim, axis=1) if dims.shape[1] else dim
        return np.where(flat < 2, flat, 2 + found * count + place).reshape(places.shape)

    def _at(self, keys: Numbers) -> Numbers:
        return self._sorter[np.searchsorted(self._keys, keys)]


def _places(layouts: Sequence[AtomLayout], rank: int, count: int) -> Numbers:
    """Where atoms are, of every layout: 0 for copies, 1 for partial results, then the dimensions' places."""
    places = [[0] * count for _ in layouts]
    for row, layout in zip(places, layouts, strict=True):
        for atom in layout.partial:
            row[atom] = 1
        for dim, atoms in enumerate(layout.dims):
            for place, atom in enumerate(atoms, 2 + dim * count):
                row[atom] = place
    return np.array(places, dtype=np.int64).reshape(len(layouts), count)


def _named(places: Numbers, rank: int, kept: int = 0) -> Numbers:
    """For every layout (rows) what becomes of each dimension, if those with atoms come first, in the order of
    the least atom in each; the first `kept` stay."""
    count = places.shape[1]
    rows, least = np.arange(len(places)), np.full((len(places), rank), count, dtype=np.int64)
    for atom in reversed(range(count)):
        inside = places[:, atom] >= 2
        least[rows[inside], (places[inside, atom] - 2) // count] = atom
    least[:, :kept] = np.arange(kept) - kept
    return np.argsort(np.argsort(least, axis=1, kind="stable"), axis=1)


def _swaps(sizes: Sequence[int]) -> Iterator[list[int]]:
    """Every order of the atoms in which each size stands where it stood, first the order that they have."""
    for order in permutations(range(len(sizes))):
        if all(sizes[atom] == size for atom, size in zip(order, sizes, strict=True)):
            yield [*order]
