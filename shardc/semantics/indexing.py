"""Operations whose operands say where: dynamic slices, gather, scatter."""

from __future__ import annotations

from collections.abc import Sequence

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
    indices: list[Array] = []
    for dim in range(operand.ndim):
        index = np.zeros((1,) * rank, np.int64)
        if dim in dims.start_index_map:
            start = vectors[..., dims.start_index_map.index(dim)]
            start = np.clip(start, 0, operand.shape[dim] - slice_sizes[dim])
            index = index + start.reshape(start.shape + (1,) * len(kept))
        if dim in dims.operand_batching_dims:
            where = dims.start_indices_batching_dims[dims.operand_batching_dims.index(dim)]
            where -= where > dims.index_vector_dim
            index = index + _along(_count(operand.shape[dim]), where, rank)
        if dim in kept:
            index = index + _along(_count(slice_sizes[dim]), batch_rank + kept.index(dim), rank)
        indices.append(index)
    shape = vectors.shape[:-1] + tuple(slice_sizes[dim] for dim in kept)
    result = np.broadcast_to(operand[tuple(indices)], shape)
    others = [dim for dim in range(rank) if dim not in dims.offset_dims]
    return np.moveaxis(result, range(rank), (*others, *dims.offset_dims))


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
    place, inside = _targets(operands[0], scatter_indices, updates[0], scatter_dimension_numbers)
    place = place[inside]
    flat_updates = [update[inside] for update in updates]
    if kind is not None and len(operands) == 1:
        result = _combine(operands[0], place, flat_updates[0], kind)
        return [result.reshape(operands[0].shape)]
    if body is None:
        raise ValueError("a scatter of several operands needs a body")
    return _combine_with(operands, place, flat_updates, body)


def _targets(operand: Array, indices: Array, update: Array, dims: ScatterDims) -> tuple[Array, Array]:
    """For every update element its place in the flat operand, and whether its window lies inside."""
    vectors = _index_vectors(indices, dims.index_vector_dim)
    batch = [dim for dim in range(update.ndim) if dim not in dims.update_window_dims]
    dropped = dims.inserted_window_dims + dims.input_batching_dims
    kept = [dim for dim in range(operand.ndim) if dim not in dropped]
    place = np.zeros(update.shape, np.int64)
    inside = np.ones(update.shape, np.bool_)
    for dim, size in enumerate(operand.shape):
        index = np.zeros((1,) * update.ndim, np.int64)
        if dim in dims.scatter_dims_to_operand_dims:
            start = vectors[..., dims.scatter_dims_to_operand_dims.index(dim)]
            index = index + start.reshape([update.shape[d] if d in batch else 1 for d in range(update.ndim)])
        if dim in dims.input_batching_dims:
            where = dims.scatter_indices_batching_dims[dims.input_batching_dims.index(dim)]
            where -= where > dims.index_vector_dim
            index = index + _along(_count(size), batch[where], update.ndim)
        axis = dims.update_window_dims[kept.index(dim)] if dim in kept else None
        window = 1 if axis is None else update.shape[axis]
        inside &= (index >= 0) & (index <= size - window)
        if axis is not None:
            index = index + _along(_count(window), axis, update.ndim)
        place = place * size + index
    return place, inside


def _combine(operand: Array, place: Array, updates: Array, kind: str) -> Array:
    if kind == "set":
        result = np.array(operand).reshape(-1)
        result[place] = updates
        return result
    wide = np.array(widen(operand)).reshape(-1)
    UFUNCS[kind].at(wide, place, widen(updates))
    return wide.astype(operand.dtype, copy=False)


def _combine_with(
    operands: Sequence[Array], place: Array, updates: Sequence[Array], body: Body
) -> list[Array]:
    """In rounds: the first update of every place at once, then the second, …"""
    results = [np.array(operand).reshape(-1) for operand in operands]
    order = np.argsort(place, kind="stable")
    sorted_place = place[order]
    first = np.searchsorted(sorted_place, sorted_place)
    turn = np.arange(place.size) - first
    for number in range(int(turn.max(initial=-1)) + 1):
        chosen = order[turn == number]
        where = place[chosen]
        combined = body(*(result[where] for result in results), *(update[chosen] for update in updates))
        for result, new in zip(results, combined, strict=True):
            result[where] = new
    return [result.reshape(operand.shape) for result, operand in zip(results, operands, strict=True)]
