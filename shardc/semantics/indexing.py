"""Operations whose operands say where: dynamic slices, gather, scatter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

import numpy as np

from shardc.graph.attrs import GatherDims, ScatterDims
from shardc.semantics.arrays import Array, Body, quiet, widen
from shardc.semantics.reduction import UFUNCS


def _clamped(starts: Sequence[Array], shape: Sequence[int], sizes: Sequence[int]) -> tuple[slice, ...]:
    """The slices of those sizes at the starts, moved to lie inside."""
    first = [min(max(int(start), 0), n - size) for start, n, size in zip(starts, shape, sizes, strict=True)]
    return tuple(slice(start, start + size) for start, size in zip(first, sizes, strict=True))


def dynamic_slice(operand: Array, *start_indices: Array, slice_sizes: Sequence[int]) -> Array:
    """A block of the operand; starts are clamped so that it lies inside. A view."""
    return operand[_clamped(start_indices, operand.shape, slice_sizes)]


def dynamic_update_slice(operand: Array, update: Array, *start_indices: Array) -> Array:
    """The operand with a block replaced; starts are clamped so that it lies inside."""
    result = np.array(operand)
    result[_clamped(start_indices, operand.shape, update.shape)] = update
    return result


def gather(
    operand: Array, start_indices: Array, *, dimension_numbers: GatherDims, slice_sizes: Sequence[int]
) -> Array:
    """One slice per index vector; starts are clamped so that slices lie inside."""
    dims = dimension_numbers
    vectors = _index_vectors(start_indices, dims.index_vector_dim)
    batch_rank = vectors.ndim - 1
    kept = [
        dim
        for dim in range(operand.ndim)
        if dim not in dims.collapsed_slice_dims and dim not in dims.operand_batching_dims
    ]
    rank = batch_rank + len(kept)
    whole = [
        dim for dim in kept if slice_sizes[dim] == operand.shape[dim] and dim not in dims.start_index_map
    ]
    picked = [dim for dim in range(operand.ndim) if dim not in whole]
    narrow = [dim for dim in kept if dim not in whole]
    indices: list[Array] = []
    for dim in picked:
        index = np.zeros((1,) * (batch_rank + len(narrow)), np.int64)
        if dim in dims.start_index_map:
            start = vectors[..., dims.start_index_map.index(dim)]
            start = np.clip(start, 0, operand.shape[dim] - slice_sizes[dim])
            index = index + start.reshape(start.shape + (1,) * len(narrow))
        if dim in dims.operand_batching_dims:
            where = dims.start_indices_batching_dims[dims.operand_batching_dims.index(dim)]
            where -= where > dims.index_vector_dim
            index = index + _along(_count(operand.shape[dim]), where, index.ndim)
        if dim in narrow:
            index = index + _along(_count(slice_sizes[dim]), batch_rank + narrow.index(dim), index.ndim)
        indices.append(index)
    shape = vectors.shape[:-1] + tuple(slice_sizes[dim] for dim in (*narrow, *whole))
    result = np.broadcast_to(np.transpose(operand, (*picked, *whole))[tuple(indices)], shape)
    places = [dims.offset_dims[kept.index(dim)] for dim in (*narrow, *whole)]
    others = [dim for dim in range(rank) if dim not in dims.offset_dims]
    return np.moveaxis(result, range(rank), (*others, *places))


def _index_vectors(indices: Array, index_vector_dim: int) -> Array:
    """The indices as i64 with the index vectors last."""
    wide = indices.astype(np.int64)
    if index_vector_dim == wide.ndim:
        return wide[..., np.newaxis]
    return np.moveaxis(wide, index_vector_dim, -1)


def _count(size: int) -> Array:
    return np.arange(size, dtype=np.int64)


def _along(values: Array, dim: int, rank: int) -> Array:
    """A vector laid along one dimension of a rank."""
    return values.reshape([-1 if d == dim else 1 for d in range(rank)])


@quiet
def scatter(
    operands: Sequence[Array],
    scatter_indices: Array,
    updates: Sequence[Array],
    body: Body | None = None,
    *,
    scatter_dimension_numbers: ScatterDims,
    kind: str | None = None,
) -> list[Array]:
    """The operands with a window of updates combined in at every index vector.

    Combined by `kind` (set, sum, max, …; needs one operand), or by `body` of (current…, update…). Windows
    that don't lie inside are dropped. 16-bit floats are summed in f32.
    """
    whole = whole_windows(operands[0].shape, updates[0].shape, scatter_dimension_numbers)
    place, inside = _targets(
        _with_ones(operands[0].shape, whole),
        scatter_indices,
        _with_ones(updates[0].shape, whole.values()),
        scatter_dimension_numbers,
    )
    tables = [_rows(operand, [*whole]) for operand in operands]
    rows = [_rows(update, [*whole.values()]) for update in updates]
    place = place.reshape(-1)
    if not inside.all():
        place, rows = place[inside.reshape(-1)], [row[inside.reshape(-1)] for row in rows]
    if kind is not None and len(operands) == 1:
        combined = [_combine(tables[0], place, rows[0], kind)]
    elif body is None:
        raise ValueError("a scatter of several operands needs a body")
    else:
        combined = _combine_with(tables, place, rows, body)
    return [
        _unrolled(result, operand.shape, [*whole]) for result, operand in zip(combined, operands, strict=True)
    ]


def whole_windows(shape: Sequence[int], update: Sequence[int], dims: ScatterDims) -> dict[int, int]:
    """The dimensions of the operand that every window has from end to end, and which they are of updates."""
    dropped = dims.inserted_window_dims + dims.input_batching_dims
    kept = [dim for dim in range(len(shape)) if dim not in dropped]
    axes = dict(zip(kept, dims.update_window_dims, strict=True))
    moved = dims.scatter_dims_to_operand_dims
    return {dim: axis for dim, axis in axes.items() if dim not in moved and update[axis] == shape[dim]}


def _with_ones(shape: Sequence[int], dims: Iterable[int]) -> tuple[int, ...]:
    """A shape in which some dimensions have size 1."""
    ones = {*dims}
    return tuple(1 if dim in ones else size for dim, size in enumerate(shape))


def _rows(array: Array, dims: Sequence[int]) -> Array:
    """An array as a table: in a row all elements along some dimensions."""
    others = [dim for dim in range(array.ndim) if dim not in dims]
    sizes = [prod(array.shape[dim] for dim in some) for some in (others, dims)]
    return np.transpose(array, (*others, *dims)).reshape(sizes)


def _unrolled(table: Array, shape: Sequence[int], dims: Sequence[int]) -> Array:
    """The array of a shape whose table it is."""
    order = [*(dim for dim in range(len(shape)) if dim not in dims), *dims]
    array = table.reshape([shape[dim] for dim in order])
    return np.transpose(array, [order.index(dim) for dim in range(len(shape))])


def _targets(
    shape: Sequence[int], indices: Array, update: Sequence[int], dims: ScatterDims
) -> tuple[Array, Array]:
    """For every element of an update of a shape its place in a flat operand, and whether its window lies
    inside."""
    vectors = _index_vectors(indices, dims.index_vector_dim)
    rank = len(update)
    batch = [dim for dim in range(rank) if dim not in dims.update_window_dims]
    dropped = dims.inserted_window_dims + dims.input_batching_dims
    kept = [dim for dim in range(len(shape)) if dim not in dropped]
    place = np.zeros(tuple(update), np.int64)
    inside = np.ones(tuple(update), np.bool_)
    for dim, size in enumerate(shape):
        index = np.zeros((1,) * rank, np.int64)
        if dim in dims.scatter_dims_to_operand_dims:
            start = vectors[..., dims.scatter_dims_to_operand_dims.index(dim)]
            index = index + start.reshape([update[d] if d in batch else 1 for d in range(rank)])
        if dim in dims.input_batching_dims:
            where = dims.scatter_indices_batching_dims[dims.input_batching_dims.index(dim)]
            where -= where > dims.index_vector_dim
            index = index + _along(_count(size), batch[where], rank)
        axis = dims.update_window_dims[kept.index(dim)] if dim in kept else None
        window = 1 if axis is None else update[axis]
        inside &= (index >= 0) & (index <= size - window)
        if axis is not None:
            index = index + _along(_count(window), axis, rank)
        place = place * size + index
    return place, inside


NARROW = 32
"""Rows of fewer elements are combined element by element."""


def _combine(table: Array, place: Array, rows: Array, kind: str) -> Array:
    """A table with rows combined in at places, those for the same place in their order."""
    if kind == "set":
        result = np.array(table)
        result[place] = rows
        return result
    result, function = np.array(widen(table), order="C"), UFUNCS[kind]
    width = result.shape[1]
    if width < NARROW or not place.size:
        places = place if width == 1 else place[:, np.newaxis] * width + _count(width)
        function.at(result.reshape(-1), places.reshape(-1), widen(rows).reshape(-1))
    else:
        _combine_rows(result, place, rows, function)
    return result.astype(table.dtype, copy=False)


def _combine_rows(result: Array, place: Array, rows: Array, function: np.ufunc) -> None:
    """Where few places have many rows each, place by place; else the first row of every place at once, then
    the second, …"""
    order = np.argsort(place, kind="stable")
    places, first, counts = np.unique(place[order], return_index=True, return_counts=True)
    if places.size <= counts.max():
        for where, start, count in zip(places, first, counts, strict=True):
            chosen = widen(rows[order[start : start + count]])
            function(result[where], function.reduce(chosen, axis=0), out=result[where])
        return
    for chosen in _turns(order, first, counts):
        where = place[chosen]
        result[where] = function(result[where], widen(rows[chosen]))


def _turns(order: Array, first: Array, counts: Array) -> list[Array]:
    """The numbers of the first updates of all places, of the second, … `order` has them place by place."""
    turn = np.arange(order.size) - np.repeat(first, counts)
    ends = np.cumsum(np.bincount(turn))
    return np.split(order[np.argsort(turn, kind="stable")], ends[:-1])


def _combine_with(tables: Sequence[Array], place: Array, updates: Sequence[Array], body: Body) -> list[Array]:
    """In rounds: the first update of every place at once, then the second, …"""
    results = [np.array(table) for table in tables]
    order = np.argsort(place, kind="stable")
    _, first, counts = np.unique(place[order], return_index=True, return_counts=True)
    for chosen in _turns(order, first, counts) if place.size else ():
        where = place[chosen]
        combined = body(*(result[where] for result in results), *(update[chosen] for update in updates))
        for result, new in zip(results, combined, strict=True):
            result[where] = new
    return results
