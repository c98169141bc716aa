"""dot_general, einsum and convolution. Narrow floats are multiplied and summed in f32 and rounded once."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from shardc.graph.attrs import ConvDims, DotDims
from shardc.semantics.arrays import Array, is_narrow, quiet, widen
from shardc.semantics.movement import pad
from shardc.semantics.windows import windows


@quiet
def dot_general(
    lhs: Array, rhs: Array, *, dot_dimension_numbers: DotDims, dtype: np.dtype[Any] | None = None
) -> Array:
    """Result dimensions: batch, then those left of lhs, then those left of rhs. `dtype` is the result's."""
    dims, dtype = dot_dimension_numbers, dtype or lhs.dtype
    lhs, rhs = _factors(lhs, rhs, dtype)
    batch = [lhs.shape[i] for i in dims.lhs_batching]
    left = [lhs.shape[i] for i in _free(lhs, dims.lhs_batching, dims.lhs_contracting)]
    right = [rhs.shape[i] for i in _free(rhs, dims.rhs_batching, dims.rhs_contracting)]
    product = np.matmul(*matrices(lhs, rhs, dims))
    return product.reshape((*batch, *left, *right)).astype(dtype, copy=False)


def matrices(lhs: Array, rhs: Array, dims: DotDims) -> tuple[Array, Array]:
    """The operands of a dot_general as stacks: [batch, left, summed] and [batch, summed, right]."""
    left = _free(lhs, dims.lhs_batching, dims.lhs_contracting)
    right = _free(rhs, dims.rhs_batching, dims.rhs_contracting)
    batch = prod(lhs.shape[i] for i in dims.lhs_batching)
    summed = prod(lhs.shape[i] for i in dims.lhs_contracting)
    rows = np.transpose(lhs, (*dims.lhs_batching, *left, *dims.lhs_contracting))
    columns = np.transpose(rhs, (*dims.rhs_batching, *dims.rhs_contracting, *right))
    return (
        rows.reshape((batch, prod(lhs.shape[i] for i in left), summed)),
        columns.reshape((batch, summed, prod(rhs.shape[i] for i in right))),
    )


def _free(array: Array, batch: Sequence[int], contracting: Sequence[int]) -> list[int]:
    return [dim for dim in range(array.ndim) if dim not in batch and dim not in contracting]


def _factors(lhs: Array, rhs: Array, dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """The operands in the type that products are summed in: f32 for narrow floats, else the wider one."""
    lhs, rhs = widen(lhs), widen(rhs)
    if not is_narrow(dtype):
        wide = np.result_type(lhs.dtype, rhs.dtype, dtype)
        return lhs.astype(wide, copy=False), rhs.astype(wide, copy=False)
    return lhs, rhs


@quiet
def einsum(lhs: Array, rhs: Array, *, einsum_config: str, dtype: np.dtype[Any] | None = None) -> Array:
    """The product summed over the letters that the result lacks: ij,jk->ik. `dtype` is the result's."""
    dtype = dtype or lhs.dtype
    product = np.einsum(einsum_config, *_factors(lhs, rhs, dtype), optimize=True)
    return np.asarray(product).astype(dtype, copy=False)


@quiet
def convolution(
    lhs: Array,
    rhs: Array,
    *,
    dimension_numbers: ConvDims,
    window_strides: Sequence[int] | None = None,
    padding: Sequence[tuple[int, int]] | None = None,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    window_reversal: Sequence[bool] | None = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    dtype: np.dtype[Any] | None = None,
) -> Array:
    """Windows of lhs, one per output position, each multiplied with the kernel and summed.

    With groups, the g-th part of the input features (or of the batch) meets the g-th part of the kernel's
    outputs only.
    """
    dims, dtype = dimension_numbers, dtype or lhs.dtype
    spatial = len(dims.input_spatial)
    ones = (1,) * spatial
    lhs, rhs = _factors(lhs, rhs, dtype)
    image = _spread(lhs, dims.input_spatial, padding or ((0, 0),) * spatial, lhs_dilation or ones)
    image = np.transpose(image, (dims.input_batch, dims.input_feature, *dims.input_spatial))
    kernel = np.transpose(rhs, (dims.kernel_output_feature, dims.kernel_input_feature, *dims.kernel_spatial))
    for dim, flipped in enumerate(window_reversal or ()):
        kernel = np.flip(kernel, dim + 2) if flipped else kernel
    view = windows(
        image,
        (1, 1, *kernel.shape[2:]),
        (1, 1, *(window_strides or ones)),
        (1, 1, *(rhs_dilation or ones)),
    )
    view = view.reshape(view.shape[: spatial + 2] + view.shape[spatial + 4 :])
    result = _grouped_product(view, kernel, feature_group_count, batch_group_count)
    order = np.argsort((dims.output_batch, dims.output_feature, *dims.output_spatial))
    return np.transpose(result, order).astype(dtype, copy=False)


def _spread(
    image: Array, spatial: Sequence[int], padding: Sequence[tuple[int, int]], dilation: Sequence[int]
) -> Array:
    """The image with padding around and zeros between its elements, along its spatial dimensions."""
    ends, gaps = dict(zip(spatial, padding, strict=True)), dict(zip(spatial, dilation, strict=True))
    if not any(map(any, padding)) and not any(gap > 1 for gap in dilation):
        return image
    around = [ends.get(dim, (0, 0)) for dim in range(image.ndim)]
    return pad(
        image,
        image.dtype.type(0),
        edge_padding_low=[low for low, _ in around],
        edge_padding_high=[high for _, high in around],
        interior_padding=[gaps.get(dim, 1) - 1 for dim in range(image.ndim)],
    )


WINDOWS = 1 << 20
"""How many elements of windows are copied at a time."""


def _grouped_product(view: Array, kernel: Array, feature_groups: int, batch_groups: int) -> Array:
    """[batch, in, *out, *window] and [outputs, in / groups, *window] -> [batch / groups, outputs, *out].

    Windows are copied into matrices, some at a time, in the order in which they lie: what is next in memory
    is next in the matrix, whose rows are positions, or where positions are next, terms.
    """
    spatial = kernel.ndim - 2
    groups, outputs = feature_groups * batch_groups, kernel.shape[0] // (feature_groups * batch_groups)
    batch, features = view.shape[0] // batch_groups, view.shape[1] // feature_groups
    split = view.reshape((batch_groups, batch, feature_groups, features, *view.shape[2:]))
    positions, terms = [1, *range(4, 4 + spatial)], [3, *range(4 + spatial, split.ndim)]
    rows, inner = _as_they_lie(split, positions), _as_they_lie(split, terms)
    columns = kernel.reshape((groups, outputs, *(split.shape[dim] for dim in terms)))
    columns = np.transpose(columns, (0, *(2 + terms.index(dim) for dim in inner), 1))
    if _nearest(split, rows) < _nearest(split, inner):
        product = _sum_of_parts(np.transpose(split, (0, 2, *inner, *rows)), columns)
    else:
        product = _product_of_parts(np.transpose(split, (0, 2, *rows, *inner)), columns)
    product = product.reshape((groups, *(split.shape[dim] for dim in rows), outputs))
    first, *others = (1 + rows.index(dim) for dim in positions)
    result = np.transpose(product, (first, 0, spatial + 2, *others))
    return result.reshape((batch, groups * outputs, *result.shape[3:]))


def _product_of_parts(windows: Array, columns: Array) -> Array:
    """[*groups, *positions, *terms] and [groups, *terms, outputs] -> [groups, positions, outputs]."""
    groups, *terms, outputs = columns.shape
    positions, inner = windows.shape[2 : windows.ndim - len(terms)], prod(terms)
    result = np.empty((groups, positions[0], prod(positions[1:]), outputs), windows.dtype)
    factor = columns.reshape((groups, inner, outputs))
    for part in _parts(windows):
        here = result[:, part]
        matrix = windows[:, :, part].reshape((groups, here.shape[1] * here.shape[2], inner))
        here[...] = np.matmul(matrix, factor).reshape(here.shape)
    return result


def _sum_of_parts(windows: Array, columns: Array) -> Array:
    """[*groups, *terms, *positions] and [groups, *terms, outputs] -> [groups, positions, outputs]."""
    groups, *terms, outputs = columns.shape
    positions = prod(windows.shape[2 + len(terms) :])
    result = np.zeros((groups, positions, outputs), windows.dtype)
    for part in _parts(windows):
        here = columns[:, part]
        factor = here.reshape((groups, prod(here.shape[1:-1]), outputs))
        matrix = windows[:, :, part].reshape((groups, factor.shape[1], positions))
        result += np.matmul(matrix.transpose(0, 2, 1), factor)
    return result


def _parts(windows: Array) -> list[slice]:
    """Along the first dimension after the groups, of about WINDOWS elements each."""
    size = windows.shape[2]
    step = max(1, WINDOWS * size // max(1, windows.size))
    return [slice(start, start + step) for start in range(0, size, step)]


def _as_they_lie(array: Array, dims: Sequence[int]) -> list[int]:
    """The dimensions, those whose elements are nearest to each other last, but for those of size 1."""
    return sorted(dims, key=lambda dim: (array.shape[dim] == 1, -abs(array.strides[dim])))


def _nearest(array: Array, dims: Sequence[int]) -> int:
    """Bytes from an element to the next along that of the dimensions along which they are nearest."""
    return min((abs(array.strides[dim]) for dim in dims if array.shape[dim] > 1), default=array.nbytes)
