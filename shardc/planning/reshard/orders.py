"""The orders that do not matter to reshards: of dimensions, which are all equal, and of atoms of one size.

A sequence of collectives with dimensions or such atoms in another order is one that costs the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from shardc.planning.reshard.space import AtomLayout

Numbers = NDArray[np.int64]

TURNED = 4  # dimensions of which all orders are looked at


def orders(layouts: Sequence[AtomLayout], rank: int, sizes: Sequence[int]) -> Numbers:
    """For every order (rows) and every layout the number of the layout that it makes of that one.

    The first order is the one that there is. The rows are a group. `layouts` are all of a rank.
    """
    places = _places(layouts, rank, len(sizes))
    weights = (2 + rank * len(sizes)) ** np.arange(len(sizes), dtype=np.int64)
    keys = places @ weights
    sorter = np.argsort(keys)

    def numbers(changed: Numbers) -> Numbers:
        return sorter[np.searchsorted(keys, changed @ weights, sorter=sorter)]

    turns = np.array([numbers(turned[places]) for turned in _turns(rank, len(sizes))])
    return np.concatenate([turns[:, numbers(places[:, swapped])] for swapped in _swaps(sizes)])


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


def _turns(rank: int, count: int) -> Iterator[Numbers]:
    """For every order of the first dimensions what becomes of each place, first the order that they have."""
    for order in permutations(range(min(rank, TURNED))):
        dims = np.array([*order, *range(TURNED, rank)], dtype=np.int64)
        inside = (2 + dims[:, None] * count + np.arange(count)).ravel()
        yield np.concatenate([np.arange(2), inside])


def _swaps(sizes: Sequence[int]) -> Iterator[list[int]]:
    """Every order of the atoms in which each size stands where it stood, first the order that they have."""
    for order in permutations(range(len(sizes))):
        if all(sizes[atom] == size for atom, size in zip(order, sizes, strict=True)):
            yield [*order]
