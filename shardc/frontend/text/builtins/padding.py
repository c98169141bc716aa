"""Pad: a tensor with more elements at its borders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle

from shardc.frontend.text.builtins.shapes import concatenate, flip, slice_dim
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.turns import MAX_ITEMS
from shardc.frontend.text.values import Operand, Tensor, Value
from shardc.ops import hlo

_MODES = ("constant", "edge", "reflect", "symmetric", "wrap")

Part = tuple[int, int, bool]
"""Elements of a dimension: the first, behind the last, and whether they are turned around."""


def pad(
    e: Emitter, x: Tensor, pad_width: Value, mode: str = "constant", constant_values: Operand = 0
) -> Tensor:
    """NumPy's pad: n, (low, high), or one pair per dimension; with a constant, or with elements of x."""
    if mode not in _MODES:
        raise e.error(f'pad has no mode "{mode}"', f"the modes are {', '.join(_MODES)}")
    widths = _widths(e, pad_width, x.rank)
    if mode != "constant":
        if isinstance(constant_values, Tensor) or constant_values:
            raise e.error(f'pad with mode "{mode}" takes no constant_values')
        for dim, (low, high) in enumerate(widths):
            if low or high:
                x = _with_elements(e, x, dim, low, high, mode)
        return x
    value = e.tensor(constant_values, x.dtype)
    if value.rank:
        raise e.error(f"constant_values is one number, not {value.type}")
    return e.op(
        hlo.pad.name,
        x,
        value,
        edge_padding_low=tuple(low for low, _ in widths),
        edge_padding_high=tuple(high for _, high in widths),
        interior_padding=(0,) * x.rank,
        weak=x.weak,
    )


def _with_elements(e: Emitter, x: Tensor, dim: int, low: int, high: int, mode: str) -> Tensor:
    """One dimension, continued with its own elements."""
    size = x.shape[dim]
    if not size:
        raise e.error(f'pad with mode "{mode}" repeats elements, and dimension {dim} of {x.type} has none')
    if mode == "edge":
        parts = (_repeated(e, x, dim, 0, low), x, _repeated(e, x, dim, size - 1, high))
        return concatenate(e, tuple(part for part in parts if part.shape[dim]), dim)
    shortest = max(1, size - 2)
    if (low + high) // shortest > MAX_ITEMS:
        raise e.error(f"pad repeats dimension {dim} of {x.type} more than {MAX_ITEMS} times")
    cuts = [*reversed(list(_before(low, size, mode))), (0, size, False), *_behind(high, size, mode)]
    return concatenate(e, tuple(_cut(e, x, dim, cut) for cut in cuts), dim)


def _repeated(e: Emitter, x: Tensor, dim: int, place: int, count: int) -> Tensor:
    """One element of a dimension, as often as count."""
    shape = tuple(count if i == dim else size for i, size in enumerate(x.shape))
    return e.broadcast_to(slice_dim(e, x, dim, place, place + 1), shape)


def _before(low: int, size: int, mode: str) -> Iterator[Part]:
    """The parts before the first element, from the nearest to the farthest."""
    for start, stop, turned in cycle(reversed(_period(size, mode))):
        count = min(low, stop - start)
        if not low:
            return
        if count:
            yield (start, start + count, True) if turned else (stop - count, stop, False)
        low -= count


def _behind(high: int, size: int, mode: str) -> Iterator[Part]:
    """The parts behind the last element, in order."""
    first, *others = _period(size, mode)
    for start, stop, turned in cycle((*others, first)):
        count = min(high, stop - start)
        if not high:
            return
        if count:
            yield (stop - count, stop, True) if turned else (start, start + count, False)
        high -= count


def _period(size: int, mode: str) -> Sequence[Part]:
    """What a dimension repeats without an end: itself, and then itself turned around."""
    whole = (0, size, False)
    if mode == "wrap" or size == 1:
        return (whole,)
    return (whole, (1, size - 1, True) if mode == "reflect" else (0, size, True))


def _cut(e: Emitter, x: Tensor, dim: int, part: Part) -> Tensor:
    start, stop, turned = part
    if (start, stop) != (0, x.shape[dim]):
        x = slice_dim(e, x, dim, start, stop)
    return flip(e, x, dim) if turned and stop - start > 1 else x


def _widths(e: Emitter, value: Value, rank: int) -> list[tuple[int, int]]:
    pairs = value if isinstance(value, tuple) else ((value, value),)
    if pairs and all(isinstance(item, int) for item in pairs):
        pairs = (pairs if len(pairs) == 2 else pairs * 2,)
    widths = [(low, high) for low, high in map(_pair, pairs) if low is not None and high is not None]
    if len(widths) == 1:
        widths *= rank
    if len(widths) != rank or len(pairs) not in (1, rank):
        raise e.error(
            f"pad_width does not fit a tensor of rank {rank}", "((low, high), …) with a pair per dimension"
        )
    if any(low < 0 or high < 0 for low, high in widths):
        raise e.error("pad_width has a negative width")
    return widths


def _pair(item: Value) -> tuple[int | None, int | None]:
    if isinstance(item, tuple):
        ends = item * 2 if len(item) == 1 else item
        if len(ends) == 2 and isinstance(ends[0], int) and isinstance(ends[1], int):
            return ends[0], ends[1]
        return None, None
    return (item, item) if isinstance(item, int) else (None, None)
