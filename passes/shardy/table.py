"""The passes that are called as Shardy's own tool calls them."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.passes import ModulePass

from shardc.passes.shardy.batching import ExplicitBatching
from shardc.passes.shardy.constant_splitting import ConstantOrScalarSplitter, ConstantSplitter
from shardc.passes.shardy.constraint_application import ApplyShardingConstraints
from shardc.passes.shardy.copied_functions import FlattenCallGraph, PreOrderFuncs, UnflattenCallGraph
from shardc.passes.shardy.edges import AddDataFlowEdges, SinkDataFlowEdges
from shardc.passes.shardy.export_pipeline import ExportPipeline
from shardc.passes.shardy.layers import (
    AggressivePropagate,
    BasicPropagate,
    OpPriorityPropagate,
    UserPriorityPropagate,
)
from shardc.passes.shardy.named_calls import ExportNamedComputations, ImportFuncCalls
from shardc.passes.shardy.newer import NEWER_STEPS, TranslateMesh
from shardc.passes.shardy.partitioning import (
    ConvertGlobalToLocal,
    InsertExplicitReshards,
    ReshardToCollectives,
)
from shardc.passes.shardy.permutations import ResolvePermutationFactors
from shardc.passes.shardy.pipeline import ImportPipeline, PropagationPipeline
from shardc.passes.shardy.rules import PopulateRules
from shardc.passes.shardy.steps import OLDER_STEPS, STEPS, step_class

SDY_PASSES: dict[str, Callable[[], type[ModulePass]]] = {
    made.name: (lambda made=made: made)
    for made in (
        AddDataFlowEdges,
        AggressivePropagate,
        ApplyShardingConstraints,
        BasicPropagate,
        ConstantOrScalarSplitter,
        ConstantSplitter,
        ConvertGlobalToLocal,
        ExplicitBatching,
        ExportNamedComputations,
        ExportPipeline,
        FlattenCallGraph,
        ImportFuncCalls,
        ImportPipeline,
        InsertExplicitReshards,
        OpPriorityPropagate,
        PopulateRules,
        PreOrderFuncs,
        PropagationPipeline,
        ReshardToCollectives,
        ResolvePermutationFactors,
        SinkDataFlowEdges,
        TranslateMesh,
        UnflattenCallGraph,
        UserPriorityPropagate,
        *(step_class(name, step) for name, step in (STEPS | NEWER_STEPS | OLDER_STEPS).items()),
    )
}
"""Shardy's name -> the pass, as `PASSES` has it."""
