"""Shardy's whole pipeline by its name: preparation, all layers of propagation, and export.

    %0 = stablehlo.tanh %arg0 : tensor<8x8xf32>                                   // %arg0 is [{"a"}, {}]
    %1 = sdy.sharding_constraint %0 <@m, [{}, {"a"}]> : tensor<8x8xf32>

becomes

    %0 = stablehlo.tanh %arg0 {sdy.sharding = …<[<@m, [{}, {"a"}]>]>} : tensor<8x8xf32>
    %1 = sdy.reshard %0 <@m, [{}, {"a"}]> : tensor<8x8xf32>

All shardings that come out are closed, and divide the dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from shardc.dialects.locations import locate, location_of
from shardc.dialects.sdy import ConstantOp as SdyConstantOp
from shardc.dialects.sdy import ShardingConstraintOp, ShardingGroupOp
from shardc.dialects.snapshot import snapshot
from shardc.dialects.stablehlo.constants import ConstantOp
from shardc.passes.propagate import Propagate, check_strategy
from shardc.passes.shardy.call_reshards import divide_functions, reshard_calls
from shardc.passes.shardy.calls import drop_uncalled_functions, mark_functions, share_functions
from shardc.passes.shardy.concatenations import reshard_concatenations
from shardc.passes.shardy.constants import merge_constants
from shardc.passes.shardy.export import (
    close_shardings,
    describe_meshes,
    drop_axes_of_size_one,
    drop_manual_axes_of_size_one,
    lift_meshes,
)
from shardc.passes.shardy.layers import erase_dead
from shardc.passes.shardy.reshards import to_reshard
from shardc.passes.shardy.rules import drop_rules, warn_of_unknown_call
from shardc.passes.shardy.unreduced import reduce_partial_sums
from shardc.propagation.edges import edges_of


@dataclass(frozen=True)
class PropagationPipeline(ModulePass):
    """Preparation, all layers, and what Shardy's export does."""

    name = "sdy-propagation-pipeline"

    conservative_propagation: bool = False
    propagation_strategy: str = "aggressive"
    run_op_priority_propagation: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        warn_of_unknown_call(op)
        drop_uncalled_functions(op)
        lift_meshes(op)
        drop_manual_axes_of_size_one(op)
        drop_axes_of_size_one(op)
        mark_functions(op)
        Propagate(
            check_strategy(self.propagation_strategy),
            self.run_op_priority_propagation,
            conservative=self.conservative_propagation,
            divisible=True,
            merge_copies=False,
        ).apply(ctx, op)
        erase_dead(snapshot(op), edges_of)
        share_functions(op)
        for function in op.body.block.ops:
            if isinstance(function, FuncOp):
                merge_constants(function.body.block)
        for inner in list(op.walk()):
            if isinstance(inner, ShardingGroupOp):
                inner.detach()
            elif isinstance(inner, ShardingConstraintOp):
                to_reshard(inner)
            elif isinstance(inner, ConstantOp):
                _to_sdy_constant(inner)
        close_shardings(op)
        divide_functions(op)
        reshard_calls(op)
        reduce_partial_sums(op)
        reshard_concatenations(op)
        erase_dead(snapshot(op), lambda node, graph: None)
        describe_meshes(op)
        drop_rules(op)


def _to_sdy_constant(op: ConstantOp) -> None:
    made = SdyConstantOp.create(
        result_types=op.result_types, properties=op.properties, attributes=op.attributes
    )
    locate(made, location_of(op.location))
    Rewriter.replace_op(op, made)
