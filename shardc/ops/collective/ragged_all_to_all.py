"""Every device sends rows of its block to others: which and how many, its arguments say."""

from __future__ import annotations

from shardc.graph import Op, TensorType, is_integer
from shardc.layout.axes import size_of
from shardc.ops.collective.blocks import BLOCK, GROUP
from shardc.ops.definition import OpDef, Spelling, Syntax, Trait
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule, Kind
from shardc.ops.rule_builder import RuleBuilder
from shardc.ops.untyped import Types, UntypedOp

_TABLES = ("input_offsets", "send_sizes", "output_offsets", "recv_sizes")


def _types(op: UntypedOp) -> Types:
    op.arity(2 + len(_TABLES))
    operand, output, *tables = op.operands
    if not operand.rank or (operand.shape[1:], operand.dtype) != (output.shape[1:], output.dtype):
        raise op.error(f"sends rows of {operand}, which do not fit into {output}")
    count = size_of(op.axes("axes"))
    for name, table in zip(_TABLES, tables, strict=True):
        if table.rank != 1 or not is_integer(table.dtype) or table.shape != tables[0].shape:
            raise op.error(f"{name} is {table}, not a row of integers as long as input_offsets")
        if table.shape[0] % count:
            raise op.error(f"{name} is {table}, whose size is no multiple of the {count} positions")
    return (output,)


def _rule(op: Op) -> FactorRule:
    """Rows change places; the other dimensions pass."""
    builder = RuleBuilder(op)
    operand, output = op.operands[:2]
    for dim, size in enumerate(operand.shape[1:], 1):
        builder.factor(size, {0: dim, 1: dim}, {0: dim})
    builder.factor(operand.shape[0], {0: 0}, kind=Kind.REPLICATE)
    builder.factor(output.shape[0], {1: 0}, {0: 0}, kind=Kind.REPLICATE)
    for number, table in enumerate(op.operands[2:], 2):
        builder.factor(table.shape[0], {number: 0}, kind=Kind.REPLICATE)
    return builder.build(linear=[[0, 1]])


_TABLE = TensorType((4,), "i32")

ragged_all_to_all = define(
    OpDef(
        name="spmd.ragged_all_to_all",
        title="ragged all-to-all",
        doc="Sends `send_sizes` rows from `input_offsets` on to each position in turn, which puts them into "
        "its `output` from `output_offsets` on.",
        infer=_types,
        rule=_rule,
        traits=frozenset((Trait.ALONG_AXES, Trait.COLLECTIVE)),
        syntax=Syntax(("operand", "output", *_TABLES), attrs={"axes": "text"}),
        sends=lambda b, n: b,
        steps=lambda n: n - 1,
        spelling=Spelling(variable="exchanged"),
        example=Op(
            "spmd.ragged_all_to_all", (BLOCK, BLOCK, *(_TABLE,) * len(_TABLES)), (BLOCK,), {"axes": GROUP}
        ),
    )
)
"""`sends` counts all rows of the operand: how many go is known only when it runs."""
