"""slice: some elements of each dimension, from a start to a limit with a stride."""

from __future__ import annotations

from shardc.graph import Op
from shardc.graph.types import TensorType
from shardc.ops.definition import KEEPS, OpDef, Spelling, Syntax, Trait, of
from shardc.ops.formats import FUNCTIONAL
from shardc.ops.meanings import kernel
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule, Kind
from shardc.ops.rule_builder import RuleBuilder
from shardc.ops.untyped import Types, UntypedOp
from shardc.semantics import movement as kernels


def _types(op: UntypedOp) -> Types:
    operand = op.one()
    starts, limits = op.integers("start_indices"), op.integers("limit_indices")
    strides = op.integers("strides", (1,) * operand.rank)
    for key, values in (("start_indices", starts), ("limit_indices", limits), ("strides", strides)):
        op.check_length(key, values, operand.rank)
    for dim, (start, limit, stride) in enumerate(zip(starts, limits, strides, strict=True)):
        if not 0 <= start <= limit <= operand.shape[dim]:
            raise op.error(f"has {start}:{limit} in dimension {dim} of {operand}")
        if stride < 1:
            raise op.error(f"has stride {stride} in dimension {dim}; strides are at least 1")
    shape = tuple(
        -(-(limit - start) // stride) for start, limit, stride in zip(starts, limits, strides, strict=True)
    )
    return (operand.with_shape(shape),)


def _rule(op: Op) -> FactorRule:
    """Dimensions that lose elements are permuted; their factor has the operand's size."""
    builder = RuleBuilder(op)
    for dim, (size, kept) in enumerate(zip(op.operands[0].shape, op.results[0].shape, strict=True)):
        builder.along(dim, size, Kind.PASS if size == kept else Kind.PERMUTATION)
    return builder.build(linear=[[0]], monotone=[[0]])


slice_ = define(
    OpDef(
        name="stablehlo.slice",
        doc="`stablehlo.slice %0 [1:3, 0:8:2] : (tensor<4x8xf32>) -> tensor<2x4xf32>`.",
        infer=_types,
        rule=_rule,
        meaning=kernel(kernels.slice_, "start_indices", "limit_indices", "strides"),
        work=KEEPS,
        traits=frozenset(
            (
                Trait.MOVES,
                Trait.EXCERPT,
            )
        ),
        syntax=Syntax(
            ("operand",),
            attrs={"start_indices": "ints", "limit_indices": "ints", "strides": "ints"},
            format=(
                "$operand custom<SliceRanges>($start_indices, $limit_indices, $strides) "
                f"attr-dict {FUNCTIONAL}"
            ),
        ),
        example=of(
            "stablehlo.slice",
            [TensorType((8, 4), "f32")],
            TensorType((8, 2), "f32"),
            start_indices=(0, 1),
            limit_indices=(8, 3),
            strides=(1, 1),
        ),
        spelling=Spelling(variable="part"),
    )
)
