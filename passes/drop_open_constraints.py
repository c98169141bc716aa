"""drop-open-constraints: a constraint that leaves everything open -> its operand.

    %1 = stablehlo.sine %0 : tensor<4x16xf32>
    %2 = sdy.sharding_constraint %1 <@mesh, [{?}, {?}]> : tensor<4x16xf32>
    return %2 : tensor<4x16xf32>

becomes

    %1 = stablehlo.sine %0 : tensor<4x16xf32>
    return %1 : tensor<4x16xf32>

JAX writes one after every operation of a shard_map that is manual over some axes only, and one without
dimensions after every operation on scalars there, which goes too; also in the regions of reductions and
sorts, where it would hide what they compute. There JAX says of scalars that they are whole over the axes of a
mesh that are explicit, where others are not (`<@mesh, [], replicated={"data"}>`), which says nothing either.
"""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from shardc.dialects.sdy import ManualComputationOp, ShardingConstraintOp
from shardc.dialects.shardings import PARTIAL
from shardc.dialects.shared_graph import SharedGraph
from shardc.ops import Trait, has
from shardc.passes.graph_pass import GraphPass


class DropOpenConstraints(GraphPass):
    """Drop constraints that say nothing."""

    name = "drop-open-constraints"

    def rewrite(self, shared: SharedGraph) -> bool:
        constraints = [op for op in shared.ops() if type(op) is ShardingConstraintOp]
        dropped = [op for op in constraints if _says_nothing(op)]
        for op in dropped:
            Rewriter.replace_op(op, [], [op.operands[0]])
        return bool(dropped)


def _says_nothing(op: ShardingConstraintOp) -> bool:
    sharding, around = op.sharding.data, _around(op)
    if sharding.unreduced or PARTIAL in op.attributes:
        return False
    if not sharding.dims and around is not None and not isinstance(around, ManualComputationOp):
        return True  # a scalar of a reduction or sort is nowhere, also where it is said to be whole
    if sharding.replicated:
        return False
    if not sharding.dims:
        return around is not None
    return all(dim.open and not dim.axes and dim.priority is None for dim in sharding.dims)


def _around(op: Operation) -> Operation | None:
    """What an operation stands in: per-device code, or the operation whose region is over scalars."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, FuncOp):
        if isinstance(parent, ManualComputationOp) or not has(parent.name, Trait.REGION):
            return parent
        parent = parent.parent_op()
    return None
