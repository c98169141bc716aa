"""sdy-explicit-gather-scatter-batching: a dimension indexed by its own number becomes a batch dimension.

As batch-indices, but only the first dimension of operand and indices is looked at, as in Shardy. Shardy takes
some selects and clamps of such numbers that do not leave them as they are.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from shardc.dialects.build import IRBuilder
from shardc.dialects.snapshot import snapshot
from shardc.passes.shardy.layers import erase_dead
from shardc.rewrite.batching import batched


class ExplicitBatching(ModulePass):
    """Rewrite gathers and scatters; unused operations go."""

    name = "sdy-explicit-gather-scatter-batching"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        builder = IRBuilder(op)
        for inner in list(op.walk()):
            batched(inner, builder, first_only=True)
        erase_dead(snapshot(op), lambda node, graph: None)
