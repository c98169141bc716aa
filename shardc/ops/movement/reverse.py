"""reverse: elements in the opposite order along some dimensions."""

from __future__ import annotations

from shardc.graph import Op
from shardc.graph.types import TensorType
from shardc.ops.definition import OpDef, Syntax, Trait, of
from shardc.ops.formats import SAME_TYPE
from shardc.ops.meanings import kernel
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule, Kind
from shardc.ops.rule_builder import RuleBuilder, ints
from shardc.ops.untyped import Types, UntypedOp
from shardc.semantics import movement as kernels

_X = TensorType((8, 4), "f32")


def _types(op: UntypedOp) -> Types:
    operand = op.one()
    op.dimensions("dimensions", operand.rank)
    return (operand,)


def _rule(op: Op) -> FactorRule:
    """Reversed dimensions are permuted."""
    builder = RuleBuilder(op)
    for dim, size in enumerate(op.operands[0].shape):
        builder.along(dim, size, Kind.PERMUTATION if dim in ints(op, "dimensions") else Kind.PASS)
    return builder.build(linear=[[0]], monotone=[[0]])


reverse = define(
    OpDef(
        name="stablehlo.reverse",
        doc="`stablehlo.reverse %0, dims = [0] : tensor<4xf32>`.",
        infer=_types,
        rule=_rule,
        meaning=kernel(kernels.reverse, "dimensions"),
        traits=frozenset((Trait.MOVES,)),
        syntax=Syntax(
            ("operand",),
            attrs={"dimensions": "ints"},
            format=f"$operand `,` `dims` `=` $dimensions attr-dict {SAME_TYPE}",
        ),
        example=of("stablehlo.reverse", [_X], _X, dimensions=(1,)),
    )
)
