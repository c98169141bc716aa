"""scatter-in-shape: gradients of max pooling with padding -> unpool of the tensor that is padded.

    %0 = stablehlo.pad %x, %low, low = [1], high = [1], interior = [0] : … -> tensor<66xf32>     // %x is [x]
    %1 = "stablehlo.select_and_scatter"(%0, %s, %zero) … : … -> tensor<66xf32>
    %2 = stablehlo.slice %1 [1:65] : (tensor<66xf32>) -> tensor<64xf32>

becomes

    %2 = "shardc.unpool"(%x, %s, %low, %zero) <{padding = dense<1> : …, …}> … : … -> tensor<64xf32>

JAX writes it so. 66 elements are split elsewhere than 64, so nearly all would change places, and back. Where
dimensions that are whole are padded alone, nothing changes.
"""

from __future__ import annotations

from typing import cast

from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.dialects.convert import attribute_of, python_of
from shardc.dialects.derive import op_class
from shardc.dialects.makers import erase_unused, made_by, owner
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.types import type_of
from shardc.graph import walk
from shardc.layout import Sharding
from shardc.ops import combiner, hlo, own
from shardc.passes.graph_pass import GraphPass
from shardc.rewrite.slice_ranges import Ints, Range


class ScatterInShape(GraphPass):
    """Scatter to a tensor in the shape that it has without padding."""

    name = "scatter-in-shape"

    def rewrite(self, shared: SharedGraph) -> bool:
        snap, changed = shared.snapshot(), False
        adds = dict[Operation, bool]()
        for node in (node for f in snap.graph.functions.values() for node in walk(f.body)):
            op = snap.ops[node.id]
            if node.name == hlo.select_and_scatter.name:
                adds[op] = combiner(node.regions[1], snap.graph) == "sum"
            sharding = snap.graph.values[node.results[0]].sharding if node.name == hlo.slice_.name else None
            scatter = op.operands[0].owner if sharding else None
            if sharding and isinstance(scatter, Operation) and adds.get(scatter):
                changed |= _unpooled(op, scatter, sharding)
        return changed


def _unpooled(cut: Operation, scatter: Operation, sharding: Sharding) -> bool:
    """Put an unpool in the place of a slice that undoes padding, if a split dimension is padded."""
    padded, source, init = scatter.operands
    if not made_by(padded, hlo.pad.name) or not scatter.results[0].has_one_use():
        return False
    pad = owner(padded)
    low, high, interior = (
        cast(Ints, python_of(pad.properties[f"{side}_padding{rest}"]))
        for side, rest in (("edge", "_low"), ("edge", "_high"), ("interior", ""))
    )
    around, shape = tuple(zip(low, high, strict=True)), type_of(pad.operands[0].type).shape
    inside = Range(low, tuple(n + size for n, size in zip(low, shape, strict=True)))
    split = any(dim.axes and any(pair) for dim, pair in zip(sharding.dims, around, strict=True))
    own_padding = "padding" in scatter.properties and any(
        map(any, cast("tuple[Ints, ...]", python_of(scatter.properties["padding"])))
    )
    if not split or own_padding or any(interior) or min(low + high) < 0 or Range.of(cut) != inside:
        return False
    made = op_class(own.unpool).create(
        operands=[pad.operands[0], source, pad.operands[1], init],
        result_types=[cut.results[0].type],
        properties={**scatter.properties, "padding": attribute_of("padding", around)},
        attributes=dict(cut.attributes),
        regions=[scatter.detach_region(region) for region in [*scatter.regions]],
        location=scatter.location,
    )
    Rewriter.insert_op(made, InsertPoint.before(cut))
    made.results[0].name_hint = cut.results[0].name_hint
    cut.results[0].replace_all_uses_with(made.results[0])
    erase_unused(cut.results[0])
    return True
