"""Shardy's pipelines by their names.

sdy-import-pipeline       makes a program ready: meshes with names, a copy of each constant for each use,
                          manual axes spelled out, data-flow edges
sdy-propagation-pipeline  that, all layers of propagation, through functions and their calls, and the export
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from shardc.passes.shardy.call_graph import drop_uncalled
from shardc.passes.shardy.call_shardings import (
    give_calls_result_shardings,
    give_functions_result_shardings,
    reshard_call_results,
)
from shardc.passes.shardy.constant_splitting import ConstantOrScalarSplitter
from shardc.passes.shardy.constraint_application import ApplyShardingConstraints
from shardc.passes.shardy.copied_functions import FlattenCallGraph, PreOrderFuncs, UnflattenCallGraph
from shardc.passes.shardy.edges import AddDataFlowEdges
from shardc.passes.shardy.export import drop_axes_of_size_one
from shardc.passes.shardy.export_pipeline import ExportPipeline
from shardc.passes.shardy.func_edges import add_func_edges, sink_func_edges
from shardc.passes.shardy.import_steps import clean_manual_axes, import_groups
from shardc.passes.shardy.layers import UserPriorityPropagate
from shardc.passes.shardy.named_calls import ExportNamedComputations, ImportFuncCalls
from shardc.passes.shardy.steps import name_meshes


@dataclass(frozen=True)
class ImportPipeline(ModulePass):
    """Make a program ready for the layers of propagation.

    Newer Shardys can put the bodies of functions into the places of their calls at once, and not after the
    import: `enable_late_inlining=false`. `dedup_functions_fully` changes nothing at this end.
    """

    name = "sdy-import-pipeline"

    dedup_functions_fully: bool = False
    enable_late_inlining: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        drop_uncalled(op)
        name_meshes(op)
        drop_axes_of_size_one(op)
        give_calls_result_shardings(op)
        ConstantOrScalarSplitter().apply(ctx, op)
        drop_uncalled(op)
        clean_manual_axes(op)
        AddDataFlowEdges().apply(ctx, op)
        if not self.enable_late_inlining:
            _inline(ctx, op)
            _settle_constraints(ctx, op)


def _inline(ctx: Context, op: ModuleOp) -> None:
    """Put the body of a function, a copy for each call, into the place of the call."""
    FlattenCallGraph().apply(ctx, op)
    drop_uncalled(op)
    ImportFuncCalls().apply(ctx, op)


def _settle_constraints(ctx: Context, op: ModuleOp) -> None:
    ApplyShardingConstraints().apply(ctx, op)
    import_groups(op)


@dataclass(frozen=True)
class PropagationPipeline(ModulePass):
    """Import, all layers, and export.

    With `dedup_functions_fully` all calls of a function keep sharing it, however they are sharded. How newer
    Shardys go through calls (`enable_late_inlining`, `enable_native_non_flat_support`) changes nothing here.
    """

    name = "sdy-propagation-pipeline"

    conservative_propagation: bool = False
    propagation_strategy: str = "aggressive"
    run_op_priority_propagation: bool = True
    dedup_functions_fully: bool = False
    enable_late_inlining: bool = False
    enable_native_non_flat_support: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        ImportPipeline().apply(ctx, op)
        if self.dedup_functions_fully:
            add_func_edges(op)
        else:
            _inline(ctx, op)
        _settle_constraints(ctx, op)
        PreOrderFuncs().apply(ctx, op)
        UserPriorityPropagate(
            keep_sharding_rules=True,
            conservative_propagation=self.conservative_propagation,
            propagation_strategy=self.propagation_strategy,
            run_op_priority_propagation=self.run_op_priority_propagation,
        ).apply(ctx, op)
        if self.dedup_functions_fully:
            sink_func_edges(op)
        else:
            ExportNamedComputations().apply(ctx, op)
        give_functions_result_shardings(op)
        UnflattenCallGraph().apply(ctx, op)
        drop_uncalled(op)
        reshard_call_results(op)
        ExportPipeline().apply(ctx, op)
