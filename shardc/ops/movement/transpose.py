"""transpose: dimensions in another order."""

from __future__ import annotations

from shardc.graph import Op
from shardc.graph.types import TensorType
from shardc.ops.definition import Lying, OpDef, Syntax, Trait, Work, of
from shardc.ops.formats import FUNCTIONAL
from shardc.ops.meanings import kernel
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule
from shardc.ops.rule_builder import RuleBuilder, ints
from shardc.ops.untyped import Types, UntypedOp
from shardc.semantics import movement as kernels


def _types(op: UntypedOp) -> Types:
    operand = op.one()
    permutation = op.dimensions("permutation", operand.rank)
    op.check_length("permutation", permutation, operand.rank)
    return (operand.with_shape(tuple(operand.shape[dim] for dim in permutation)),)


def _rule(op: Op) -> FactorRule:
    """Dimension i of the result is dimension permutation[i] of the operand."""
    builder = RuleBuilder(op)
    for out, dim in enumerate(ints(op, "permutation")):
        builder.factor(op.operands[0].shape[dim], {0: dim}, {0: out})
    return builder.build(linear=[[0]], monotone=[[0]])


def _turned(op: Op, lying: Lying) -> int:
    """All of it, unless neighbours stay neighbours."""
    return 0 if ints(op, "permutation")[lying[1]] == lying[0] else op.operands[0].nbytes


transpose = define(
    OpDef(
        name="stablehlo.transpose",
        doc="`stablehlo.transpose %0, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>`.",
        infer=_types,
        rule=_rule,
        meaning=kernel(kernels.transpose, "permutation"),
        work=Work(lambda op: 0, turned=_turned),
        traits=frozenset((Trait.MOVES, Trait.VIEW, Trait.EXCERPT)),
        syntax=Syntax(
            ("operand",),
            attrs={"permutation": "ints"},
            format=f"$operand `,` `dims` `=` $permutation attr-dict {FUNCTIONAL}",
        ),
        example=of(
            "stablehlo.transpose",
            [TensorType((8, 4), "f32")],
            TensorType((4, 8), "f32"),
            permutation=(1, 0),
        ),
    )
)
