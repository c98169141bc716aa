"""Rules of operations that slide a window: convolution, reduce_window, select_and_scatter.

A sharded dimension needs its neighbours' edges, unless its windows are tiles: they touch, and none crosses an
edge. Then a block of the operand holds the windows of its block of the result (patch embedding, pooling).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from shardc.graph.attrs import ConvDims
from shardc.graph.program import Op
from shardc.rules.build import RuleBuilder, integer, ints, pairs, partial_kind
from shardc.rules.rule import FactorRule, Kind


def convolution(op: Op) -> FactorRule:
    """Factors: batch groups, batch, spatial ones, feature groups, input features, output features."""
    dims = cast(ConvDims, op.attrs["dimension_numbers"])
    kernel, out = op.operands[1], op.results[0]
    batch_groups = integer(op, "batch_group_count", 1)
    feature_groups = integer(op, "feature_group_count", 1)
    builder = RuleBuilder(op)
    if batch_groups > 1:
        builder.factor(
            batch_groups, {0: dims.input_batch, 1: dims.kernel_output_feature}, {0: dims.output_feature}
        )
    builder.factor(out.shape[dims.output_batch], {0: dims.input_batch}, {0: dims.output_batch})
    for spatial in range(len(dims.input_spatial)):
        _conv_spatial(builder, op, dims, spatial)
    if feature_groups > 1:
        builder.factor(
            feature_groups, {0: dims.input_feature, 1: dims.kernel_output_feature}, {0: dims.output_feature}
        )
    builder.factor(
        kernel.shape[dims.kernel_input_feature],
        {0: dims.input_feature, 1: dims.kernel_input_feature},
        kind=Kind.REDUCTION,
    )
    features = out.shape[dims.output_feature] // (batch_groups * feature_groups)
    if features > 1:
        builder.factor(features, {1: dims.kernel_output_feature}, {0: dims.output_feature})
    return builder.build(reduction=partial_kind("sum", out.dtype), linear=[[0], [1]])


def _conv_spatial(builder: RuleBuilder, op: Op, dims: ConvDims, spatial: int) -> None:
    """The number of windows and the window's size share the operand's dimension; the larger is major."""
    source, window, out = (
        dims.input_spatial[spatial],
        dims.kernel_spatial[spatial],
        dims.output_spatial[spatial],
    )
    left, length = op.operands[0].shape[source], op.operands[1].shape[window]
    count = op.results[0].shape[out]
    tiles = _conv_tiles(op, spatial, left, length, count)
    sizes = {Kind.PERMUTATION: count, Kind.REDUCTION: length}
    for kind in sizes if count >= length else reversed(sizes):
        size = min(sizes[kind], left)
        if size > 1 and kind is Kind.PERMUTATION:
            builder.factor(size, {0: source}, {0: out}, kind, plain=tiles)
        elif size > 1:
            builder.factor(size, {0: source, 1: window}, kind=kind, plain=tiles)
        left //= max(size, 1)


def _conv_tiles(op: Op, spatial: int, size: int, length: int, count: int) -> bool:
    rank = spatial + 1
    plain = (
        pairs(op, "padding", rank)[spatial] == (0, 0)
        and ints(op, "lhs_dilation", (1,) * rank)[spatial] == 1
        and ints(op, "rhs_dilation", (1,) * rank)[spatial] == 1
        and not ints(op, "window_reversal", (0,) * rank)[spatial]
        and (count == 1 or ints(op, "window_strides", (1,) * rank)[spatial] == length)
    )
    return plain and size == count * length and (count >= length or count == 1)


def reduce_window(op: Op) -> FactorRule:
    """Inputs, then one scalar init each, which goes into every window."""
    builder = RuleBuilder(op)
    for dim, (size, count) in enumerate(zip(op.operands[0].shape, op.results[0].shape, strict=True)):
        window, stride, padded = _window(op, dim)
        if window == stride == 1 and not padded:
            builder.along(dim, count)
        else:
            tiles = window == stride and not padded and size == count * window
            builder.along(dim, count, Kind.PERMUTATION, plain=tiles)
    kind = partial_kind(op.combiner, op.results[0].dtype)
    every = range(len(op.operands))
    return builder.build(
        linear=[every] if kind == "sum" else [],
        max_only=[every] if kind == "max" else [],
        min_only=[every] if kind == "min" else [],
    )


def select_and_scatter(op: Op) -> FactorRule:
    """Operand, source (one element per window), init."""
    builder = RuleBuilder(op)
    for dim, (size, count) in enumerate(zip(op.operands[0].shape, op.operands[1].shape, strict=True)):
        window, stride, padded = _window(op, dim)
        if window == stride == 1 and not padded:
            builder.along(dim, size)
        else:
            builder.factor(count, {1: dim}, kind=Kind.REPLICATE)
            builder.factor(size, {0: dim}, {0: dim}, Kind.PERMUTATION)
    return builder.build()


def _window(op: Op, dim: int) -> tuple[int, int, bool]:
    """The window's length and stride in one dimension, and whether there is padding or dilation."""
    rank = op.operands[0].rank
    ones = (1,) * rank
    dilated = ints(op, "base_dilations", ones)[dim] != 1 or ints(op, "window_dilations", ones)[dim] != 1
    return (
        ints(op, "window_dimensions", ones)[dim],
        ints(op, "window_strides", ones)[dim],
        dilated or pairs(op, "padding", rank)[dim] != (0, 0),
    )


RULES: dict[str, Callable[[Op], FactorRule | None]] = {
    "stablehlo.convolution": convolution,
    "stablehlo.reduce_window": reduce_window,
    "stablehlo.select_and_scatter": select_and_scatter,
}
