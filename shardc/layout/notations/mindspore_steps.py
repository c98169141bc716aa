"""Which slice each device holds, by hand as MindSpore's users learn it: number, reorder, add."""

from __future__ import annotations

from math import prod

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from shardc.layout.notations.mindspore_layout import Layout
from shardc.layout.notations.ranks import count_of


class Steps(Struct, frozen=True):
    """How to find by hand which slice each device holds.

    1. `numbering`, int64[devices, axes]: count the positions of the matrix, each axis in its own base.
    2. `reordered`, int64[devices, used]: the columns of `used`, the aliases of the tensor map in its order.
    3. `slice_numbers`, int64[devices]: columns times `strides`, added up.

    Row p is the device `ranks[p]`. Where copies are interleaved, they have rows of their own.
    """

    ranks: tuple[int, ...]
    aliases: tuple[str, ...]
    numbering: NDArray[np.int64]
    used: tuple[str, ...]
    reordered: NDArray[np.int64]
    strides: tuple[int, ...]
    slice_numbers: NDArray[np.int64]

    def by_rank(self) -> NDArray[np.int64]:
        """The slice number of each device, in ascending order of devices."""
        return self.slice_numbers[np.argsort(np.array(self.ranks), kind="stable")]


def steps(layout: Layout) -> Steps:
    """The derivation for a layout with a tensor map."""
    sizes = dict(zip(layout.alias_name, layout.device_matrix, strict=True))
    used = tuple(alias for entry in layout.entries for alias in entry)
    count = count_of(layout.device_matrix)
    places = np.unravel_index(np.arange(count), layout.device_matrix)
    numbering = np.stack(places, axis=-1).astype(np.int64)
    columns = [layout.alias_name.index(alias) for alias in used]
    reordered = numbering[:, columns]
    strides = tuple(prod(sizes[alias] for alias in used[i + 1 :]) for i in range(len(used)))
    numbers = reordered @ np.array(strides, np.int64)
    ranks = tuple(rank for rank in layout.ranks for _ in range(layout.interleaved))
    return Steps(ranks, layout.alias_name, numbering, used, reordered, strides, numbers)
