"""batch-indices: a dimension that gather or scatter index by its own number -> a batch dimension.

    %i = stablehlo.iota dim = 0 : tensor<4x1xi32>
    %c = stablehlo.concatenate %i, %o, dim = 1
    %0 = "stablehlo.gather"(%a, %c) <collapsed_slice_dims = [0], start_index_map = [0, 1], …>

becomes

    %0 = "stablehlo.gather"(%a, %o) <operand_batching_dims = [0], start_indices_batching_dims = [0],
                                     start_index_map = [1], …>

So `y[jnp.arange(n), j]` stays where the rows of y and j are: what is indexed by numbers of its own is there.
Where all of a dimension is taken, or given, it is not indexed:

    %c = stablehlo.concatenate %i, %o, dim = 1
    %0 = "stablehlo.gather"(%a, %c) <start_index_map = [0, 1], slice_sizes = [1, 8], …>
                                                                 // %a: tensor<4x8xf32>
becomes

    %0 = "stablehlo.gather"(%a, %i) <start_index_map = [0], slice_sizes = [1, 8], …>

What is taken at one known place is a slice: the derivative of `x.at[1:-1].add(y)` gathers so. A scatter that
subtracts (`x.at[i].subtract(y)`) adds what is negated, of which sums may be partial.
"""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from shardc.dialects.build import IRBuilder
from shardc.dialects.locations import location_of
from shardc.dialects.makers import erase_unused
from shardc.dialects.shared_graph import SharedGraph
from shardc.ops import hlo
from shardc.passes.graph_pass import GraphPass
from shardc.rewrite.batching import batched
from shardc.rewrite.known_places import slice_of_gather
from shardc.rewrite.negated import negated
from shardc.rewrite.unindexed import unindexed


class BatchIndices(GraphPass):
    """Rewrite gathers and scatters; what only made their indices goes."""

    name = "batch-indices"

    def rewrite(self, shared: SharedGraph) -> bool:
        ops = [op for op in shared.ops() if op.name in (hlo.gather.name, hlo.scatter.name)]
        builder, changed = IRBuilder(shared.module), False
        for op in ops:
            indices = op.operands[len(op.results)]
            if _sliced(op, builder) or any([rewrite(op, builder) for rewrite in _REWRITES]):
                erase_unused(indices)
                changed = True
        return changed


_REWRITES = (negated, unindexed, batched)


def _sliced(op: Operation, builder: IRBuilder) -> bool:
    """Put a slice in the place of a gather at one known place; whether it was one."""
    with builder.at(location_of(op.location)):
        taken = slice_of_gather(op, builder)
    if taken is None:
        return False
    taken.name_hint = op.results[0].name_hint
    op.results[0].replace_all_uses_with(taken)
    Rewriter.erase_op(op)
    return True
