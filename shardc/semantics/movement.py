"""Operations that make or rearrange data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shardc.graph.attrs import Dense
from shardc.layout.limits import iinfo
from shardc.semantics.arrays import Array, has_four_bits


def constant(*, value: Dense) -> Array:
    """The array of a constant; a splat stays a view of one element."""
    return value.array()


def iota(*, iota_dimension: int, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """0, 1, 2, … along one dimension; a broadcast view."""
    column = [1] * len(shape)
    column[iota_dimension] = shape[iota_dimension]
    counts = np.arange(shape[iota_dimension]).astype(dtype)
    return np.broadcast_to(counts.reshape(column), tuple(shape))


def broadcast_in_dim(operand: Array, *, broadcast_dimensions: Sequence[int], shape: Sequence[int]) -> Array:
    """Dimension i of the operand becomes dimension broadcast_dimensions[i]; a broadcast view."""
    order = sorted(range(operand.ndim), key=lambda i: broadcast_dimensions[i])
    placed = [1] * len(shape)
    for i in order:
        placed[broadcast_dimensions[i]] = operand.shape[i]
    return np.broadcast_to(np.transpose(operand, order).reshape(placed), tuple(shape))


def reshape(operand: Array, *, shape: Sequence[int]) -> Array:
    """The same elements in row-major order."""
    return operand.reshape(tuple(shape))


def transpose(operand: Array, *, permutation: Sequence[int]) -> Array:
    """Dimension i of the result is dimension permutation[i] of the operand."""
    return np.transpose(operand, permutation)


def reverse(operand: Array, *, dimensions: Sequence[int]) -> Array:
    """Reversed along each of the dimensions."""
    return np.flip(operand, tuple(dimensions))


def concatenate(*operands: Array, dimension: int) -> Array:
    """One after another along a dimension."""
    return np.concatenate(operands, dimension)


def join(
    *operands: Array, dimension: int, start_indices: Sequence[int], limit_indices: Sequence[int]
) -> Array:
    """Slices along a dimension, one after another."""
    ends = zip(operands, start_indices, limit_indices, strict=True)
    return np.concatenate([np.take(x, range(i, n), dimension) for x, i, n in ends], dimension)


def slice_(
    operand: Array,
    *,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Array:
    """start:limit:stride in every dimension; a view."""
    steps = strides or (1,) * operand.ndim
    return operand[tuple(map(slice, start_indices, limit_indices, steps))]


def pad(
    operand: Array,
    padding_value: Array,
    *,
    edge_padding_low: Sequence[int],
    edge_padding_high: Sequence[int],
    interior_padding: Sequence[int] | None = None,
) -> Array:
    """Padding before, between and after the elements of each dimension; negative edges cut off."""
    gaps = interior_padding or (0,) * operand.ndim
    spread = [max(size + (size - 1) * gap, 0) for size, gap in zip(operand.shape, gaps, strict=True)]
    low, high = [max(n, 0) for n in edge_padding_low], [max(n, 0) for n in edge_padding_high]
    padded = [a + n + b for a, n, b in zip(low, spread, high, strict=True)]
    result = np.full(padded, padding_value, operand.dtype)
    inside = [slice(a, a + n, gap + 1) for a, n, gap in zip(low, spread, gaps, strict=True)]
    result[tuple(inside)] = operand
    starts = [max(-n, 0) for n in edge_padding_low]
    ends = [size - max(-n, 0) for size, n in zip(padded, edge_padding_high, strict=True)]
    return result[tuple(map(slice, starts, ends))]


def bitcast_convert(operand: Array, *, dtype: np.dtype[Any], shape: Sequence[int]) -> Array:
    """The same bits as another dtype; a wider element is a last dimension of narrower ones."""
    if has_four_bits(operand.dtype) or has_four_bits(dtype):
        bits = _bits(operand).reshape(-1, _width(dtype))
        padded = np.pad(bits, ((0, 0), (0, 8 * dtype.itemsize - bits.shape[1])))
        return np.packbits(padded, axis=1, bitorder="little").reshape(-1).view(dtype).reshape(tuple(shape))
    return np.ascontiguousarray(operand).reshape(-1).view(dtype).reshape(tuple(shape))


def _bits(operand: Array) -> Array:
    """The bits of every element, the least one first."""
    held = np.ascontiguousarray(operand).reshape(-1, 1).view(np.uint8)
    return np.unpackbits(held, axis=1, bitorder="little")[:, : _width(operand.dtype)]


def _width(dtype: np.dtype[Any]) -> int:
    return iinfo(dtype).bits if has_four_bits(dtype) else 8 * dtype.itemsize


def get_dimension_size(operand: Array, *, dimension: int) -> Array:
    """The size of a dimension, i32[]."""
    return np.asarray(operand.shape[dimension], np.int32)
