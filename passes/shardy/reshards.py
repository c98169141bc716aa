"""A constraint -> a reshard to the same sharding, once shardings are found.

%1 = sdy.sharding_constraint %0 <@m, [{}, {"a"}]>     ->     %1 = sdy.reshard %0 <@m, [{}, {"a"}]>
"""

from __future__ import annotations

from xdsl.rewriter import Rewriter

from shardc.dialects.locations import locate, location_of
from shardc.dialects.sdy import ReshardOp, ShardingConstraintOp


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
