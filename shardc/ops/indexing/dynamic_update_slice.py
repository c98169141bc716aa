"""The operand with a block overwritten, from where the start indices say."""

from __future__ import annotations

from shardc.graph import Op
from shardc.ops.definition import Moved, OpDef, Syntax, Work, of
from shardc.ops.formats import FUNCTIONAL
from shardc.ops.indexing.indices import PLACE, ROWS, check_starts
from shardc.ops.meanings import kernel
from shardc.ops.registry import define
from shardc.ops.rule import FactorRule, Kind
from shardc.ops.rule_builder import RuleBuilder
from shardc.ops.untyped import Types, UntypedOp
from shardc.semantics import ops as kernels


def _types(op: UntypedOp) -> Types:
    if len(op.operands) < 2:
        raise op.error("needs an operand and an update")
    operand, update = op.operands[:2]
    check_starts(op, op.operands[2:], operand.rank)
    if update.rank != operand.rank or update.dtype != operand.dtype:
        raise op.error(f"needs an update of the operand's rank and dtype, got {operand} and {update}")
    for dim, size in enumerate(update.shape):
        if size > operand.shape[dim]:
            raise op.error(f"cannot write {size} elements to dimension {dim} of {operand}")
    return (operand,)


def _rule(op: Op) -> FactorRule:
    """The update must be whole where it is smaller (in sdy not if the indices are constant)."""
    builder = RuleBuilder(op)
    for dim, (size, part) in enumerate(zip(op.operands[0].shape, op.operands[1].shape, strict=True)):
        if size == part:
            builder.factor(size, {0: dim, 1: dim}, {0: dim})
        else:
            builder.factor(size, {0: dim}, {0: dim}, plain=False)
            builder.factor(part, {1: dim}, kind=Kind.REPLICATE)
    return builder.build(linear=[[0, 1]], monotone=[[0, 1]])


def _moved(op: Op) -> Moved:
    """The start indices and the update are read, the update is written; the operand changes in place."""
    others = (type.nbytes for type in op.operands[1:])
    return (0, *others), (op.operands[1].nbytes,)


dynamic_update_slice = define(
    OpDef(
        name="stablehlo.dynamic_update_slice",
        doc="`stablehlo.dynamic_update_slice %0, %update, %i, %j : (…) -> tensor<8x4xf32>`, starts clamped.",
        infer=_types,
        rule=_rule,
        meaning=kernel(kernels.dynamic_update_slice),
        work=Work(lambda op: 0, _moved),
        syntax=Syntax(("operand", "update", "*start_indices"), format=f"operands attr-dict {FUNCTIONAL}"),
        example=of("stablehlo.dynamic_update_slice", [ROWS, ROWS.with_shape((2, 4)), PLACE, PLACE], ROWS),
    )
)
