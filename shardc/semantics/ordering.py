"""sort, top_k, and the greatest and the least with their places."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shardc.semantics.arrays import Array, Body, quiet
from shardc.semantics.elementwise import total_order


def sort(*operands: Array, dimension: int, less_than: Body | None = None) -> list[Array]:
    """All operands sorted together along a dimension, stably.

    `less_than` takes pairs (lhs, rhs) of every operand; without it the first operand is sorted ascending.
    """
    if operands[0].ndim == 0 or operands[0].size == 0:
        return list(operands)
    rows = [np.moveaxis(operand, dimension, -1) for operand in operands]
    key = total_order(rows[0])
    if less_than is None:
        order = np.argsort(key, axis=-1, kind="stable")
    else:
        order = _guess(rows, key, less_than)
        order = _merge_sort(rows, less_than) if order is None else order
    return [np.moveaxis(np.take_along_axis(row, order, -1), -1, dimension) for row in rows]


def _guess(rows: Sequence[Array], key: Array, less_than: Body) -> Array | None:
    """The ascending or descending order of the first operand, if it is the stable order that is asked for."""
    for candidate in (key, ~key if key.dtype.kind in "iub" else -key):
        order = np.argsort(candidate, axis=-1, kind="stable")
        in_order = [np.take_along_axis(row, order, -1) for row in rows]
        left, right = [row[..., :-1] for row in in_order], [row[..., 1:] for row in in_order]
        increasing = np.asarray(less_than(*_pairs(left, right))[0])
        decreasing = np.asarray(less_than(*_pairs(right, left))[0])
        if not np.any(decreasing | (~increasing & (order[..., :-1] > order[..., 1:]))):
            return order
    return None


def _merge_sort(rows: Sequence[Array], less_than: Body) -> Array:
    """The stable order of every row. Runs of 1, 2, 4, … are merged; all merges of a length at once.

    An element's place in a merged run is its place in its own run, plus how many of the other go before it.
    """
    size = rows[0].shape[-1]
    positions = np.arange(size, dtype=np.int64)
    order = np.broadcast_to(positions, rows[0].shape).copy()
    length = 1
    while length < size:
        in_left = positions // length % 2 == 0
        base = positions // (2 * length) * (2 * length)
        other = np.minimum(np.where(in_left, base + length, base), size)
        end = np.minimum(other + length, size)
        sorted_rows = [np.take_along_axis(row, order, -1) for row in rows]
        before = _count_before(sorted_rows, less_than, other, end, in_left)
        place = base + (positions - np.where(in_left, base, base + length)) + before
        merged = np.empty_like(order)
        np.put_along_axis(merged, place, order, -1)
        order, length = merged, 2 * length
    return order


def _count_before(rows: Sequence[Array], less_than: Body, start: Array, end: Array, in_left: Array) -> Array:
    """For every element, how many of the run start:end go before it, by bisection.

    Of equals, those of the left run go first: elements of the left run count the strictly smaller.
    """
    low = np.broadcast_to(start, rows[0].shape)
    high = np.broadcast_to(end, rows[0].shape)
    while np.any(low < high):
        middle = (low + high) // 2
        probe = np.minimum(middle, rows[0].shape[-1] - 1)
        there = [np.take_along_axis(row, probe, -1) for row in rows]
        smaller = np.asarray(less_than(*_pairs(there, rows))[0])
        not_larger = ~np.asarray(less_than(*_pairs(rows, there))[0])
        goes_before = np.where(in_left, smaller, not_larger)
        open_ = low < high
        low, high = (
            np.where(open_ & goes_before, middle + 1, low),
            np.where(open_ & ~goes_before, middle, high),
        )
    return low - start


def _pairs(lhs: Sequence[Array], rhs: Sequence[Array]) -> list[Array]:
    return [array for pair in zip(lhs, rhs, strict=True) for array in pair]


def top_k(operand: Array, *, k: int) -> list[Array]:
    """The k largest of the last dimension, descending, and their i32 indices.

    NaN is largest; of equals the first comes first.
    """
    order = np.argsort(~total_order(operand), axis=-1, kind="stable")[..., :k]
    return [np.take_along_axis(operand, order, -1), order.astype(np.int32)]


@quiet
def greatest(values: Array, places: Array, start: Array, place: Array, *, axis: int) -> list[Array]:
    """The greatest along a dimension, which counts from 0, and its place, as argmax reduces.

    Each value has its place in `places`; `start`, at `place`, is one more, before all others. Of equals it is
    the one with the least place. The first NaN is the greatest, whatever its place.
    """
    if not values.shape[axis]:
        return _nothing(values, start, place, axis)
    return _first(start, place, *_found(values, places, np.argmax(values, axis), axis), np.greater)


@quiet
def least(values: Array, places: Array, start: Array, place: Array, *, axis: int) -> list[Array]:
    """The same of the least. The first NaN is the least too."""
    if not values.shape[axis]:
        return _nothing(values, start, place, axis)
    return _first(start, place, *_found(values, places, np.argmin(values, axis), axis), np.less)


def _nothing(values: Array, start: Array, place: Array, axis: int) -> list[Array]:
    shape = values.shape[:axis] + values.shape[axis + 1 :]
    return [np.broadcast_to(start, shape), np.broadcast_to(place, shape)]


def _found(values: Array, places: Array, index: Array, axis: int) -> tuple[Array, Array]:
    """The value at an index, the first of its equals, and the least place of them."""
    at = np.expand_dims(index, axis)
    best, found = np.take_along_axis(values, at, axis), np.take_along_axis(places, at, axis)
    if _increase(places, axis):
        return np.squeeze(best, axis), np.squeeze(found, axis)
    equal = values == best
    if np.count_nonzero(equal) > np.count_nonzero(best == best):
        last = np.iinfo(places.dtype).max
        ties = np.min(places, axis, keepdims=True, initial=last, where=equal)
        found = np.where(best == best, ties, found)
    return np.squeeze(best, axis), np.squeeze(found, axis)


def _increase(places: Array, axis: int) -> bool:
    """Whether places are the same for all lines, of which one is seen, and increase: the first is least."""
    if any(step and dim != axis for dim, step in enumerate(places.strides)):
        return False
    line = np.moveaxis(places, axis, -1)[(0,) * (places.ndim - 1)]
    return bool(np.all(line[:-1] < line[1:]))


def _first(start: Array, place: Array, best: Array, found: Array, better: np.ufunc) -> list[Array]:
    """Of the start and what was found the better; of equals the one with the lesser place."""
    stays = better(start, best) | (np.asarray(start) != start) | ((start == best) & (place < found))
    return [np.where(stays, start, best), np.where(stays, place, found)]
