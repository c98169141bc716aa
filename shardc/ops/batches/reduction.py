"""Reductions, windows and orders of stacks: each slice by itself."""

from __future__ import annotations

from collections.abc import Sequence

from shardc.ops import chlo, hlo
from shardc.ops.batches.movement import alike, attributes, behind, dimensions, ints
from shardc.ops.batching import Batch, Batching, Unbatched
from shardc.ops.definition import OpDef
from shardc.ops.derivatives.terms import Term


def _operands(b: Batch) -> list[Term]:
    """The inputs as stacks, and the number that each begins with, which all slices share."""
    count = len(b.given) // 2
    if any(i in b.stacks for i in range(count, 2 * count)):
        raise Unbatched("each slice begins with a number of its own")
    return [*(b.full(i) for i in range(count)), *b.given[count:]]


def _reduce(b: Batch) -> Sequence[Term]:
    return b.build(_operands(b), dimensions=behind(ints(b, "dimensions")))


_ENTRIES: dict[str, object] = {
    "window_dimensions": 1,
    "window_strides": 1,
    "base_dilations": 1,
    "window_dilations": 1,
    "padding": (0, 0),
}
"""What windows do along the dimension of the slices."""


def _windows(b: Batch) -> Sequence[Term]:
    return b.build(_operands(b), **attributes(b, _ENTRIES))


def _select_and_scatter(b: Batch) -> Sequence[Term]:
    if 2 in b.stacks:
        raise Unbatched("each slice begins with a number of its own")
    return b.build([b.full(0), b.full(1), b.given[2]], **attributes(b, _ENTRIES))


REDUCTION: dict[OpDef, Batching] = {
    chlo.top_k: alike,
    hlo.reduce: _reduce,
    hlo.reduce_window: _windows,
    hlo.select_and_scatter: _select_and_scatter,
    hlo.sort: dimensions("dimension"),
}
