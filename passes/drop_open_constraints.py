"""drop-open-constraints: a constraint that leaves everything open -> its operand.

    %1 = stablehlo.sine %0 : tensor<4x16xf32>
    %2 = sdy.sharding_constraint %1 <@mesh, [{?}, {?}]> : tensor<4x16xf32>
    return %2 : tensor<4x16xf32>

becomes

    %1 = stablehlo.sine %0 : tensor<4x16xf32>
    return %1 : tensor<4x16xf32>

JAX writes one after every operation of a shard_map that is manual over some axes only, and one without
dimensions after every operation on scalars there, which goes too; also in the regions of reductions and
sorts, where it would hide what they compute.
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
        constraints = [op for op in shared.snapshot().ops if type(op) is ShardingConstraintOp]
        dropped = [op for op in constraints if _says_nothing(op)]
        for op in dropped:
            Rewriter.replace_op(op, [], [op.operands[0]])
        return bool(dropped)


def _says_nothing(op: ShardingConstraintOp) -> bool:
    sharding = op.sharding.data
    if sharding.replicated or sharding.unreduced or PARTIAL in op.attributes:
        return False
    if not sharding.dims:
        return _is_per_device(op)
    return all(dim.open and not dim.axes and dim.priority is None for dim in sharding.dims)


def _is_per_device(op: Operation) -> bool:
    """Whether an operation stands in per-device code, or in a region over scalars."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, FuncOp):
        if isinstance(parent, ManualComputationOp) or not has(parent.name, Trait.REGION):
            return True
        parent = parent.parent_op()
    return False
