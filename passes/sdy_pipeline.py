"""Shardy's whole pipeline by its name: preparation, all layers of propagation, and export."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from shardc.dialects.locations import locate, location_of
from shardc.dialects.sdy import ConstantOp as SdyConstantOp
from shardc.dialects.sdy import ReshardOp, ShardingConstraintOp, ShardingGroupOp
from shardc.dialects.snapshot import snapshot
from shardc.dialects.stablehlo.data_movement import BroadcastInDimOp, ConstantOp, IotaOp
from shardc.passes.propagate import Propagate, check_strategy
from shardc.passes.sdy_call_reshards import divide_functions, reshard_calls
from shardc.passes.sdy_calls import drop_uncalled_functions, mark_functions, share_functions
from shardc.passes.sdy_concat import reshard_concatenations
from shardc.passes.sdy_export import close_shardings, describe_meshes, drop_axes_of_size_one, lift_meshes
from shardc.passes.sdy_layers import erase_dead
from shardc.passes.sdy_rules import drop_rules, warn_of_unknown_call
from shardc.passes.sdy_unreduced import reduce_partial_sums
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
                _merge_constants(function.body.block)
        for inner in list(op.walk()):
            if isinstance(inner, ShardingGroupOp):
                inner.detach()
            elif isinstance(inner, ShardingConstraintOp):
                _to_reshard(inner)
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


def _to_reshard(op: ShardingConstraintOp) -> None:
    made = ReshardOp.create(
        operands=[op.input],
        result_types=[op.result.type],
        properties={"sharding": op.sharding},
        attributes=op.attributes,
    )
    locate(made, location_of(op.location))
    Rewriter.replace_op(op, made)


def _merge_constants(block: Block) -> None:
    """Let equal constants of a block be one, the first, and equal broadcasts of scalars too."""
    first: dict[tuple[object, ...], Operation] = {}
    for op in list(block.ops):
        if isinstance(op, _MERGED) and not any(_rank(operand) for operand in op.operands):
            attributes = sorted((op.properties | op.attributes).items())
            key = (op.name, *op.operands, *op.result_types, *attributes)
            known = first.setdefault(key, op)
            if known is not op:
                Rewriter.replace_op(op, [], known.results)
        for region in op.regions:
            _merge_constants(region.block)


_MERGED = (BroadcastInDimOp, ConstantOp, IotaOp, SdyConstantOp)


def _rank(value: SSAValue) -> int:
    return len(value.type.get_shape()) if isinstance(value.type, TensorType) else 0


def _to_sdy_constant(op: ConstantOp) -> None:
    made = SdyConstantOp.create(
        result_types=op.result_types, properties=op.properties, attributes=op.attributes
    )
    locate(made, location_of(op.location))
    Rewriter.replace_op(op, made)
