"""triangular_solve: a x = b, or x a = b, for triangular a."""

from __future__ import annotations

from shardc.graph import Op
from shardc.graph.types import TensorType
from shardc.ops.definition import COMPUTES, OpDef, Syntax, of
from shardc.ops.meanings import kernel
from shardc.ops.numerics.matrices import check_square
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule, Kind
from shardc.ops.rule_builder import RuleBuilder
from shardc.ops.untyped import Types, UntypedOp
from shardc.semantics import linear_algebra as kernels

_B = TensorType((2, 4, 8), "f32")


def _types(op: UntypedOp) -> Types:
    a, b = op.arity(2)
    check_square(op, a)
    side = -2 if op.get("left_side", bool) else -1
    if a.dtype != b.dtype or a.rank != b.rank or a.shape[:-2] != b.shape[:-2] or a.shape[-1] != b.shape[side]:
        raise op.error(f"cannot solve {a} for {b}")
    return (b,)


def _rule(op: Op) -> FactorRule:
    """op(a) x = b, or x op(a) = b if not left_side. The solutions are independent of each other: plain."""
    a, b = op.operands
    rows, columns = a.rank - 2, a.rank - 1
    left = bool(op.attrs.get("left_side", False))
    transposed = op.attrs.get("transpose_a") in ("TRANSPOSE", "ADJOINT")
    own, contracting = (columns, rows) if transposed == left else (rows, columns)
    bound, free = (rows, columns) if left else (columns, rows)
    builder = RuleBuilder(op)
    for dim in range(rows):
        builder.along(dim, a.shape[dim])
    equation = (a.shape[own], {0: own, 1: bound})
    if left:
        builder.factor(*equation, kind=Kind.REPLICATE)
    builder.factor(b.shape[free], {1: free}, {0: free}, Kind.REPLICATE, plain=True)
    if not left:
        builder.factor(*equation, kind=Kind.REPLICATE)
    builder.factor(a.shape[contracting], {0: contracting}, {0: bound}, Kind.REPLICATE)
    return builder.build(linear=[[1]])


triangular_solve = define(
    OpDef(
        name="stablehlo.triangular_solve",
        doc="Solves a x = b, or x a = b, for triangular a.",
        infer=_types,
        rule=_rule,
        meaning=kernel(kernels.triangular_solve, "left_side", "lower", "unit_diagonal", "transpose_a"),
        work=COMPUTES,
        syntax=Syntax(
            ("a", "b"),
            attrs={"left_side": "bool", "lower": "bool", "unit_diagonal": "bool", "transpose_a": "transpose"},
        ),
        example=of(
            "stablehlo.triangular_solve",
            [TensorType((2, 4, 4), "f32"), _B],
            _B,
            left_side=True,
            lower=True,
            unit_diagonal=False,
            transpose_a="NO_TRANSPOSE",
        ),
    )
)
