"""cholesky: the triangular factor of each matrix."""

from __future__ import annotations

from shardc.graph import Op
from shardc.graph.types import TensorType
from shardc.ops.definition import COMPUTES, OpDef, Syntax, of
from shardc.ops.elementwise.types import check_class
from shardc.ops.formats import SAME_TYPE
from shardc.ops.meanings import kernel
from shardc.ops.numerics.matrices import check_square
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule, Kind
from shardc.ops.rule_builder import RuleBuilder
from shardc.ops.untyped import Types, UntypedOp
from shardc.semantics import linear_algebra as kernels

_MATRICES = TensorType((8, 4, 4), "f32")


def _types(op: UntypedOp) -> Types:
    operand = op.one()
    check_class(op, operand, "fc")
    check_square(op, operand)
    return (operand,)


def _rule(op: Op) -> FactorRule:
    """One factorisation per matrix; the matrices (the last two dimensions) must be whole."""
    shape = op.operands[0].shape
    builder = RuleBuilder(op)
    for dim, size in enumerate(shape):
        builder.along(dim, size, Kind.PASS if dim < len(shape) - 2 else Kind.REPLICATE)
    return builder.build()


cholesky = define(
    OpDef(
        name="stablehlo.cholesky",
        doc="`stablehlo.cholesky %0, lower = true : tensor<4x4xf32>`: the triangular factor of each matrix.",
        infer=_types,
        rule=_rule,
        meaning=kernel(kernels.cholesky, "lower"),
        work=COMPUTES,
        syntax=Syntax(
            ("a",),
            attrs={"lower": "bool?"},
            format=f"$a `,` `lower` `=` $lower attr-dict {SAME_TYPE}",
        ),
        example=of("stablehlo.cholesky", [_MATRICES], _MATRICES, lower=True),
    )
)
