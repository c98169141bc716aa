"""dot: the product of vectors or matrices. A Graph holds the dot_general that it stands for."""

from __future__ import annotations

from shardc.graph import DotDims, Op
from shardc.graph.types import TensorType
from shardc.ops.contraction.dot_general import product_type
from shardc.ops.definition import OpDef, Syntax, Trait, Work, of
from shardc.ops.formats import FUNCTIONAL
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule, Kind
from shardc.ops.rule_builder import RuleBuilder, partial_kind
from shardc.ops.untyped import Types, UntypedOp


def _types(op: UntypedOp) -> Types:
    lhs, rhs = op.arity(2)
    if lhs.rank not in (1, 2) or rhs.rank not in (1, 2):
        raise op.error(f"takes vectors and matrices, got {lhs} and {rhs}")
    return product_type(op, DotDims.of_dot(lhs.rank))


def _rule(op: Op) -> FactorRule:
    """The last dimension of the left is contracted with the first of the right."""
    lhs, rhs = op.operands
    contracting = lhs.rank - 1
    builder = RuleBuilder(op)
    if lhs.rank == 2:
        builder.factor(lhs.shape[0], {0: 0}, {0: 0})
    if rhs.rank == 2:
        builder.factor(rhs.shape[1], {1: 1}, {0: contracting})
    builder.factor(rhs.shape[0], {0: contracting, 1: 0}, kind=Kind.REDUCTION)
    return builder.build(reduction=partial_kind("sum", rhs.dtype), linear=[[0], [1]])


def _multiply_adds(op: Op) -> int:
    return 2 * op.results[0].size * op.operands[1].shape[0]


dot = define(
    OpDef(
        name="stablehlo.dot",
        doc="The product of vectors or matrices.",
        infer=_types,
        rule=_rule,
        work=Work(_multiply_adds),
        traits=frozenset(
            (
                Trait.PRODUCT,
                Trait.MATMUL,
            )
        ),
        syntax=Syntax(
            ("lhs", "rhs"),
            attrs={"precision_config": "precision_config?"},
            format=f"$lhs `,` $rhs custom<PrecisionConfig>($precision_config) attr-dict {FUNCTIONAL}",
        ),
        example=of(
            "stablehlo.dot",
            [TensorType((8, 4), "f32"), TensorType((4, 6), "f32")],
            TensorType((8, 6), "f32"),
        ),
    )
)
