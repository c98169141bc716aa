"""chlo.top_k: the greatest of the last dimension, and where they are."""

from __future__ import annotations

from shardc.graph import Op
from shardc.graph.types import TensorType
from shardc.ops.definition import OpDef, Rate, Syntax, Work, of, per_operand
from shardc.ops.meanings import kernels
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule, Kind
from shardc.ops.rule_builder import RuleBuilder
from shardc.ops.untyped import Types, UntypedOp
from shardc.semantics import ordering

_K = TensorType((8, 2), "f32")


def _types(op: UntypedOp) -> Types:
    operand, k = op.one(), op.integer("k")
    if operand.rank < 1 or not 0 <= k <= operand.shape[-1]:
        raise op.error(f"cannot take {k} of the last dimension of {operand}")
    values = operand.with_shape((*operand.shape[:-1], k))
    return (values, values.with_dtype("i32"))


def top_k_rule(op: Op) -> FactorRule:
    """Values and positions of the k largest along a dimension, the last of chlo's, which must be whole.

    sdy has a rule for the custom call only, and there takes the dimension for pass-through if k is its size.
    """
    shape = op.operands[0].shape
    builder = RuleBuilder(op)
    for dim, (size, kept) in enumerate(zip(shape, op.results[0].shape, strict=True)):
        whole = size != kept or (op.name == "chlo.top_k" and dim == len(shape) - 1)
        plain = False if whole or dim == len(shape) - 1 else None
        builder.along(dim, size, Kind.REPLICATE if whole else Kind.PASS, blocked=size != kept, plain=plain)
    return builder.build()


top_k = define(
    OpDef(
        name="chlo.top_k",
        doc="The k greatest of the last dimension, and where they are.",
        infer=_types,
        rule=top_k_rule,
        meaning=kernels(ordering.top_k, "k"),
        work=Work(per_operand, rate=lambda op: Rate.ARGMAX),
        syntax=Syntax(
            ("operand",),
            ("values", "indices"),
            attrs={"k": "int", "is_stable": "bool?"},
            format=(
                "`(` $operand `,` `k` `=` $k `)` attr-dict `:` type($operand) `->` "
                "`(` type($values) `,` type($indices) `)`"
            ),
        ),
        example=of("chlo.top_k", [TensorType((8, 4), "f32")], _K, _K.with_dtype("i32"), k=2),
    )
)
