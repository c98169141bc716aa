"""Policies for dimensions that their axes don't divide: which elements each block gets.

`refuse`    an error, as MindSpore and JAX have it
`ceil`      blocks of the ceiling size, the last ones short or empty, as XLA and sdy have it: the default
`balanced`  axis by axis, sizes differ by at most one, the larger blocks first, as OneFlow has it
`chunked`   axis by axis, each time blocks of the ceiling size, as PyTorch DTensor has it

Where the axes divide the dimension, all of them agree. With two axes they differ even where each is simple:
6 elements over 2 by 2 are 2, 2, 2, 0 (ceil), 2, 1, 2, 1 (balanced and chunked); over 4 they are 2, 2, 2, 0
(ceil and chunked) and 2, 2, 1, 1 (balanced).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shardc.layout.mesh import LayoutError

Policy = Literal["refuse", "ceil", "balanced", "chunked"]
Numbers = NDArray[np.int64]
Bounds = tuple[Numbers, Numbers]


def bounds(policy: Policy, size: int, digits: Sequence[Numbers], parts: Sequence[int]) -> Bounds:
    """First element and the one after the last of many blocks of a dimension of `size`.

    A block is given by its position along each splitting axis, major to minor: `digits[a][j]` of `parts[a]`
    for block j. Without axes the answer is the whole dimension. LayoutError from `refuse`, or if there is no
    such policy.
    """
    if policy not in POLICIES:
        raise LayoutError(f"there is no policy {policy}; the policies are {', '.join(POLICIES)}")
    whole = np.zeros_like(digits[0]) if digits else np.int64(0)
    return POLICIES[policy](size, (np.asarray(whole), np.asarray(whole + size)), digits, parts)


def balanced_split(size: int, parts: int) -> list[tuple[int, int]]:
    """The ranges of `size` elements in `parts` blocks, the first size % parts of them one larger."""
    if parts < 1:
        raise LayoutError(f"a dimension cannot be split into {parts} parts; at least 1")
    starts, stops = bounds("balanced", size, [np.arange(parts)], [parts])
    return list(zip(starts.tolist(), stops.tolist(), strict=True))


def _refuse(size: int, whole: Bounds, digits: Sequence[Numbers], parts: Sequence[int]) -> Bounds:
    if size % prod(parts):
        raise LayoutError(f"{size} elements are not divisible into {prod(parts)} blocks")
    return _ceil(size, whole, digits, parts)


def _ceil(size: int, whole: Bounds, digits: Sequence[Numbers], parts: Sequence[int]) -> Bounds:
    number = whole[0]
    for digit, count in zip(digits, parts, strict=True):
        number = number * count + digit
    block = -(-size // prod(parts))
    start = np.minimum(number * block, size)
    return start, np.minimum(start + block, size)


def _balanced(size: int, whole: Bounds, digits: Sequence[Numbers], parts: Sequence[int]) -> Bounds:
    start, stop = whole
    for digit, count in zip(digits, parts, strict=True):
        block, larger = np.divmod(stop - start, count)
        start = start + digit * block + np.minimum(digit, larger)
        stop = start + block + (digit < larger)
    return start, stop


def _chunked(size: int, whole: Bounds, digits: Sequence[Numbers], parts: Sequence[int]) -> Bounds:
    start, stop = whole
    for digit, count in zip(digits, parts, strict=True):
        block = -((start - stop) // count)
        start, stop = np.minimum(start + digit * block, stop), np.minimum(start + (digit + 1) * block, stop)
    return start, stop


POLICIES: dict[str, Callable[[int, Bounds, Sequence[Numbers], Sequence[int]], Bounds]] = {
    "refuse": _refuse,
    "ceil": _ceil,
    "balanced": _balanced,
    "chunked": _chunked,
}
