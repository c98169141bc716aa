"""The passes that are called as Shardy's own tool calls them."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.passes import ModulePass

from shardc.passes.sdy_edges import AddDataFlowEdges, SinkDataFlowEdges
from shardc.passes.sdy_layers import (
    AggressivePropagate,
    BasicPropagate,
    OpPriorityPropagate,
    UserPriorityPropagate,
)
from shardc.passes.sdy_pipeline import PropagationPipeline
from shardc.passes.sdy_rules import PopulateRules

SDY_PASSES: dict[str, Callable[[], type[ModulePass]]] = {
    made.name: (lambda made=made: made)
    for made in (
        AddDataFlowEdges,
        AggressivePropagate,
        BasicPropagate,
        OpPriorityPropagate,
        PopulateRules,
        PropagationPipeline,
        SinkDataFlowEdges,
        UserPriorityPropagate,
    )
}
"""Shardy's name -> the pass, as `PASSES` has it."""
