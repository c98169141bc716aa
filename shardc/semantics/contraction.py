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
    image = np.transpose(lhs, (dims.input_batch, dims.input_feature, *dims.input_spatial))
    kernel = np.transpose(rhs, (dims.kernel_output_feature, dims.kernel_input_feature, *dims.kernel_spatial))
    for dim, flipped in enumerate(window_reversal or ()):
        kernel = np.flip(kernel, dim + 2) if flipped else kernel
    image = _spread(image, padding or ((0, 0),) * spatial, lhs_dilation or ones)
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


def _spread(image: Array, padding: Sequence[tuple[int, int]], dilation: Sequence[int]) -> Array:
    return pad(
        image,
        image.dtype.type(0),
        edge_padding_low=(0, 0, *(low for low, _ in padding)),
        edge_padding_high=(0, 0, *(high for _, high in padding)),
        interior_padding=(0, 0, *(factor - 1 for factor in dilation)),
    )


def _grouped_product(view: Array, kernel: Array, feature_groups: int, batch_groups: int) -> Array:
    """[batch, in, *out, *window] and [outputs, in / groups, *window] -> [batch / groups, outputs, *out]."""
    spatial = kernel.ndim - 2
    out, window = view.shape[2 : 2 + spatial], view.shape[2 + spatial :]
    groups = feature_groups * batch_groups
    batch, features = view.shape[0] // batch_groups, view.shape[1] // feature_groups
    split = view.reshape((batch_groups, batch, feature_groups, features, *out, *window))
    rank = split.ndim
    # [batch group, feature group, batch, *out, features, *window]
    order = (0, 2, 1, *range(4, 4 + spatial), 3, *range(4 + spatial, rank))
    inner = features * prod(window)
    rows = np.transpose(split, order).reshape((groups, batch * prod(out), inner))
    outputs = kernel.shape[0] // groups
    columns = kernel.reshape((groups, outputs, inner)).transpose(0, 2, 1)
    product = np.matmul(rows, columns).reshape((groups, batch, *out, outputs))
    # [batch, group, outputs, *out]
    order = (1, 0, rank_of_outputs := 2 + spatial, *range(2, rank_of_outputs))
    return np.transpose(product, order).reshape((batch, groups * outputs, *out))
