"""Reshards where the text of a module asks for them.

%1 = sdy.sharding_constraint %0 <@m, [{}, {"a"}]>     ->     %1 = sdy.reshard %0 <@m, [{}, {"a"}]>
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.dialects.locations import locate, location_of
from shardc.dialects.sdy import ReshardOp, ShardingConstraintOp
from shardc.dialects.shardings import attr_of
from shardc.layout import Sharding


def to_reshard(op: ShardingConstraintOp) -> None:
    """Replace a constraint by a reshard."""
    made = ReshardOp.create(
        operands=[op.input],
        result_types=[op.result.type],
        properties={"sharding": op.sharding},
        attributes=op.attributes,
    )
    locate(made, location_of(op.location))
    Rewriter.replace_op(op, made)


def reshard_operand(op: Operation, number: int, sharding: Sharding) -> None:
    """Let an operation take an operand in another sharding."""
    made = _reshard(op, op.operands[number], sharding)
    Rewriter.insert_op(made, InsertPoint.before(op))
    op.operands[number] = made.result


def reshard_result(op: Operation, number: int, sharding: Sharding) -> None:
    """Let all that use a result take it in another sharding."""
    uses = [(use.operation, use.index) for use in op.results[number].uses]
    made = _reshard(op, op.results[number], sharding)
    Rewriter.insert_op(made, InsertPoint.after(op))
    for user, place in uses:
        user.operands[place] = made.result


def _reshard(op: Operation, value: SSAValue, sharding: Sharding) -> ReshardOp:
    made = ReshardOp.create(
        operands=[value], result_types=[value.type], properties={"sharding": attr_of(sharding)}
    )
    locate(made, location_of(op.location))
    return made
