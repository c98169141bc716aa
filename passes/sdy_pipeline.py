"""Shardy's whole pipeline by its name: preparation, all layers of propagation, and export."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from shardc.dialects.locations import locate, location_of
from shardc.dialects.sdy import ConstantOp as SdyConstantOp
from shardc.dialects.sdy import ReshardOp, ShardingConstraintOp, ShardingGroupOp
from shardc.dialects.snapshot import snapshot
from shardc.dialects.stablehlo.data_movement import ConstantOp
from shardc.passes.propagate import Propagate, check_strategy
from shardc.passes.sdy_layers import erase_dead
from shardc.passes.sdy_rules import warn_of_unknown_call
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
        Propagate(
            check_strategy(self.propagation_strategy),
            self.run_op_priority_propagation,
            conservative=self.conservative_propagation,
            divisible=True,
            closed=True,
        ).apply(ctx, op)
        for inner in list(op.walk()):
            if isinstance(inner, ShardingGroupOp):
                inner.detach()
            elif isinstance(inner, ShardingConstraintOp):
                _to_reshard(inner)
            elif isinstance(inner, ConstantOp):
                _to_sdy_constant(inner)
        _erase_unused_functions(op)
        erase_dead(snapshot(op), edges_of)
        for function in op.body.block.ops:
            if isinstance(function, FuncOp):
                _merge_constants(function.body.block)


def _to_reshard(op: ShardingConstraintOp) -> None:
    made = ReshardOp.create(
        operands=[op.input],
        result_types=[op.result.type],
        properties={"sharding": op.sharding},
        attributes=op.attributes,
    )
    locate(made, location_of(op.location))
    Rewriter.replace_op(op, made)


def _erase_unused_functions(module: ModuleOp) -> None:
    """Remove private functions that nobody calls, directly or not."""
    while True:
        called = {op.callee.string_value() for op in module.walk() if isinstance(op, CallOp)}
        functions = [op for op in module.body.block.ops if isinstance(op, FuncOp)]
        unused = [f for f in functions if f.sym_visibility and f.sym_name.data not in called]
        for function in unused:
            function.detach()
            function.erase()
        if not unused:
            return


def _merge_constants(block: Block) -> None:
    """Let equal constants of a block be one, the first."""
    first: dict[tuple[object, ...], SdyConstantOp] = {}
    for op in list(block.ops):
        if isinstance(op, SdyConstantOp):
            known = first.setdefault((op.value, *sorted(op.attributes.items())), op)
            if known is not op:
                Rewriter.replace_op(op, [], [known.output])
        for region in op.regions:
            _merge_constants(region.block)


def _to_sdy_constant(op: ConstantOp) -> None:
    made = SdyConstantOp.create(
        result_types=op.result_types, properties=op.properties, attributes=op.attributes
    )
    locate(made, location_of(op.location))
    Rewriter.replace_op(op, made)
