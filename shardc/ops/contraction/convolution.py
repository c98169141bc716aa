"""convolution: windows of the first operand times the second, its kernel.

A sharded spatial dimension needs its neighbours' edges, unless its windows are tiles (windows/geometry.py).
"""

from __future__ import annotations

from math import prod
from typing import cast

from shardc.graph import ConvDims, Op
from shardc.graph.types import TensorType
from shardc.ops.definition import Lying, OpDef, Rate, Syntax, Trait, Work, of
from shardc.ops.formats import FUNCTIONAL
from shardc.ops.meanings import kernel
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule, Kind
from shardc.ops.rule_builder import RuleBuilder, integer, ints, pairs, partial_kind
from shardc.ops.untyped import Types, UntypedOp
from shardc.ops.windows.geometry import windowed
from shardc.semantics import contraction as kernels

_IMAGES = ConvDims(0, 3, (1, 2), 2, 3, (0, 1), 0, 3, (1, 2))
"""[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"""


def _types(op: UntypedOp) -> Types:
    lhs, rhs = op.arity(2)
    dims = op.get("dimension_numbers", ConvDims)
    spatial = len(dims.input_spatial)
    if lhs.rank != spatial + 2 or rhs.rank != spatial + 2:
        raise op.error(f"over {spatial} spatial dimensions needs rank {spatial + 2}, got {lhs} and {rhs}")
    for name, found in _numbers(dims).items():
        if sorted(found) != list(range(lhs.rank)):
            raise op.error(f"has {name} dimensions {found}, which are not 0 to {lhs.rank - 1} in some order")
    groups = op.integer("feature_group_count", 1)
    batches = op.integer("batch_group_count", 1)
    features, kernel_features = lhs.shape[dims.input_feature], rhs.shape[dims.kernel_input_feature]
    outputs, batch = rhs.shape[dims.kernel_output_feature], lhs.shape[dims.input_batch]
    if groups < 1 or batches < 1 or (groups > 1 and batches > 1):
        raise op.error(f"has {groups} feature groups and {batches} batch groups; one of them must be 1")
    if features != kernel_features * groups:
        raise op.error(
            f"has {features} input features, but a kernel for {groups} groups of {kernel_features}"
        )
    if outputs % groups or outputs % batches or batch % batches:
        raise op.error(
            f"cannot split {outputs} output features and batch {batch} in {groups} feature "
            f"and {batches} batch groups"
        )
    shape = [0] * lhs.rank
    shape[dims.output_batch] = batch // batches
    shape[dims.output_feature] = outputs
    sizes = windowed(
        op,
        tuple(lhs.shape[d] for d in dims.input_spatial),
        tuple(rhs.shape[d] for d in dims.kernel_spatial),
        op.integers("window_strides", (1,) * spatial),
        op.pairs("padding", ((0, 0),) * spatial),
        op.integers("lhs_dilation", (1,) * spatial),
        op.integers("rhs_dilation", (1,) * spatial),
    )
    for dim, size in zip(dims.output_spatial, sizes, strict=True):
        shape[dim] = size
    return (TensorType(tuple(shape), op.result_dtype(lhs.dtype)),)


def _numbers(dims: ConvDims) -> dict[str, tuple[int, ...]]:
    """The dimensions of the input, the kernel and the output."""
    return {
        "input": (dims.input_batch, dims.input_feature, *dims.input_spatial),
        "kernel": (dims.kernel_input_feature, dims.kernel_output_feature, *dims.kernel_spatial),
        "output": (dims.output_batch, dims.output_feature, *dims.output_spatial),
    }


def _rule(op: Op) -> FactorRule:
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
        _spatial(builder, op, dims, spatial)
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


def _spatial(builder: RuleBuilder, op: Op, dims: ConvDims, spatial: int) -> None:
    """The number of windows and the window's size share the operand's dimension; the larger is major."""
    source, window, out = (
        dims.input_spatial[spatial],
        dims.kernel_spatial[spatial],
        dims.output_spatial[spatial],
    )
    left, length = op.operands[0].shape[source], op.operands[1].shape[window]
    count = op.results[0].shape[out]
    tiles = _tiles(op, spatial, left, length, count)
    sizes = {Kind.PERMUTATION: count, Kind.REDUCTION: length}
    for kind in sizes if count >= length else reversed(sizes):
        size = min(sizes[kind], left)
        if size > 1 and kind is Kind.PERMUTATION:
            builder.factor(size, {0: source}, {0: out}, kind, plain=tiles)
        elif size > 1:
            builder.factor(size, {0: source, 1: window}, kind=kind, plain=tiles)
        left //= max(size, 1)


def _tiles(op: Op, spatial: int, size: int, length: int, count: int) -> bool:
    rank = spatial + 1
    plain = (
        pairs(op, "padding", rank)[spatial] == (0, 0)
        and ints(op, "lhs_dilation", (1,) * rank)[spatial] == 1
        and ints(op, "rhs_dilation", (1,) * rank)[spatial] == 1
        and not ints(op, "window_reversal", (0,) * rank)[spatial]
        and (count == 1 or ints(op, "window_strides", (1,) * rank)[spatial] == length)
    )
    return plain and size == count * length and (count >= length or count == 1)


def _multiply_adds(op: Op) -> int:
    """Every element of the result takes a kernel without its output features."""
    dims = cast(ConvDims, op.attrs["dimension_numbers"])
    kernel_shape = op.operands[1].shape
    taps = prod(n for d, n in enumerate(kernel_shape) if d != dims.kernel_output_feature)
    return 2 * op.results[0].size * taps


def _turned(op: Op, lying: Lying) -> int:
    """The images, where features, which are summed, are no neighbours, as in the gradient of a kernel."""
    dims = cast(ConvDims, op.attrs["dimension_numbers"])
    images = op.operands[0]
    return 0 if dims.input_feature == lying[0] else images.nbytes


_ATTRS = {
    "window_strides": "ints?",
    "padding": "pairs?",
    "lhs_dilation": "ints?",
    "rhs_dilation": "ints?",
    "window_reversal": "bools?",
    "dimension_numbers": "conv",
    "feature_group_count": "int",
    "batch_group_count": "int",
}

convolution = define(
    OpDef(
        name="stablehlo.convolution",
        doc="Windows of the first operand times the second, its kernel.",
        infer=_types,
        rule=_rule,
        meaning=kernel(kernels.convolution, *_ATTRS, dtype=True),
        work=Work(_multiply_adds, rate=lambda op: Rate.CONVOLUTION, turned=_turned),
        traits=frozenset((Trait.PRODUCT,)),
        syntax=Syntax(
            ("lhs", "rhs"),
            attrs={**_ATTRS, "precision_config": "precision_config?"},
            format=(
                "`(` $lhs `,` $rhs `)` `dim_numbers` `=` custom<ConvolutionDimensions>($dimension_numbers) "
                "`,` `window` `=` custom<WindowAttributes>($window_strides, $padding, $lhs_dilation, "
                f"$rhs_dilation, $window_reversal) attr-dict {FUNCTIONAL}"
            ),
        ),
        example=of(
            "stablehlo.convolution",
            [TensorType((8, 16, 16, 4), "f32"), TensorType((3, 3, 4, 6), "f32")],
            TensorType((8, 16, 16, 6), "f32"),
            dimension_numbers=_IMAGES,
            padding=((1, 1), (1, 1)),
            feature_group_count=1,
            batch_group_count=1,
        ),
    )
)
