"""The passes that are called as Shardy's own tool calls them."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.passes import ModulePass

from shardc.passes.shardy.edges import AddDataFlowEdges, SinkDataFlowEdges
from shardc.passes.shardy.layers import (
    AggressivePropagate,
    BasicPropagate,
    OpPriorityPropagate,
    UserPriorityPropagate,
)
from shardc.passes.shardy.partitioning import (
    ConvertGlobalToLocal,
    InsertExplicitReshards,
    ReshardToCollectives,
)
from shardc.passes.shardy.pipeline import PropagationPipeline
from shardc.passes.shardy.rules import PopulateRules
from shardc.passes.shardy.steps import STEPS, step_class

SDY_PASSES: dict[str, Callable[[], type[ModulePass]]] = {
    made.name: (lambda made=made: made)
    for made in (
        AddDataFlowEdges,
        AggressivePropagate,
        BasicPropagate,
        ConvertGlobalToLocal,
        InsertExplicitReshards,
        OpPriorityPropagate,
        PopulateRules,
        PropagationPipeline,
        ReshardToCollectives,
        SinkDataFlowEdges,
        UserPriorityPropagate,
        *(step_class(name, step) for name, step in STEPS.items()),
    )
}
"""Shardy's name -> the pass, as `PASSES` has it."""
