"""Checksums of the cells of an array, so that who reads a part can check the part.

Every dimension is cut at the borders of the blocks that were saved, and at regular places. A cell's sum is
the CRC-32 of its bytes in row-major order. A reader checks the cells that lie inside of what it reads: all of
them, if it reads blocks like those that were saved, or of an even split into a small power of two.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, product
from math import prod
from typing import Any
from zlib import crc32

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from shardc.arrays.placed import Bounds, part

Cuts = tuple[tuple[int, ...], ...]

_PARTS = {0: 1, 1: 64, 2: 16, 3: 8, 4: 4}
_LEAST = 512
"""Bytes of a cell; smaller arrays have fewer of them."""


class Checksums(Struct, frozen=True):
    """Where each dimension is cut, first and last place included, and the sums of the cells, row-major."""

    cuts: Cuts
    sums: tuple[int, ...]

    def fit(self, shape: Sequence[int]) -> bool:
        """Whether they are of an array of that shape."""
        whole = len(self.cuts) == len(shape) and all(
            len(at) > 0 and at[0] == 0 and at[-1] == size and all(a < b for a, b in pairwise(at))
            for at, size in zip(self.cuts, shape, strict=True)
        )
        return whole and len(self.sums) == count_of(self.cuts)

    def wrong(self, bounds: Bounds, block: NDArray[Any]) -> Bounds | None:
        """A cell inside of `bounds`, whose elements are `block`, that has another sum."""
        for number, cell in cells(self.cuts, bounds):
            if self.sums[number] != checksum(block, bounds, cell):
                return cell
        return None


def cuts_of(shape: Sequence[int], itemsize: int, blocks: Iterable[Bounds]) -> Cuts:
    """Where an array that is saved in these blocks is cut."""
    parts = _PARTS.get(len(shape), 2)
    while parts > 1 and prod(shape) * itemsize < _LEAST * parts ** len(shape):
        parts //= 2
    places = [{0, size, *range(0, size, max(1, -(-size // parts)))} for size in shape]
    for bounds in blocks:
        for dim, (start, stop) in enumerate(bounds):
            places[dim] |= {start, stop}
    return tuple(tuple(sorted(at)) for at in places)


def count_of(cuts: Cuts) -> int:
    """The number of cells."""
    return prod(max(len(at) - 1, 0) for at in cuts)


def cells(cuts: Cuts, bounds: Bounds) -> Iterator[tuple[int, Bounds]]:
    """The cells that lie inside: number and place."""
    sizes = [len(at) - 1 for at in cuts]
    ranges = [
        range(bisect_left(at, start), bisect_right(at, stop) - 1)
        for at, (start, stop) in zip(cuts, bounds, strict=True)
    ]
    borders = [list(pairwise(at)) for at in cuts]
    for place in product(*ranges):
        number = 0
        for index, size in zip(place, sizes, strict=True):
            number = number * size + index
        yield number, tuple(borders[dim][index] for dim, index in enumerate(place))


def checksum(block: NDArray[Any], bounds: Bounds, cell: Bounds) -> int:
    """The sum of a cell of what lies at `bounds`."""
    inside = tuple((a - o, b - o) for (a, b), (o, _) in zip(cell, bounds, strict=True))
    elements = np.ascontiguousarray(block[part(inside)])
    return crc32(elements.reshape(-1).view(np.uint8).data)


def to_text(sums: Iterable[int]) -> str:
    """Eight hexadecimal digits a cell."""
    return "".join(f"{value:08x}" for value in sums)


def from_text(text: str) -> tuple[int, ...]:
    """The sums again. ValueError if the text is none of `to_text`."""
    return tuple(int(text[i : i + 8], 16) for i in range(0, len(text), 8))
