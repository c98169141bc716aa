"""fold-padding: slices of a padded tensor along a sharded dimension -> the tensor, moved by some elements.

    %0 = stablehlo.pad %x, %zero, low = [1], high = [1], interior = [0] : … -> tensor<66xf32>
    %1 = stablehlo.slice %0 [0:64] : (tensor<66xf32>) -> tensor<64xf32>

becomes

    %1 = stablehlo.pad %x, %zero, low = [1], high = [-1], interior = [0] : … -> tensor<64xf32>

So stencils with borders are written. 66 elements are split elsewhere than 64: nearly all would change places,
and back. Moved by one, an element a block crosses a border (a halo). A slice that undoes the padding is the
tensor itself. Dimensions that are whole are cut before they are padded.
"""

from __future__ import annotations

from typing import cast

from xdsl.rewriter import Rewriter

from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.snapshot import Snapshot
from shardc.graph import Node, TensorType, walk
from shardc.ops import hlo
from shardc.passes.graph_pass import GraphPass
from shardc.rewrite.remade import made_before

Ints = tuple[int, ...]


class FoldPadding(GraphPass):
    """Put padding by what is left of it in the place of slices of padded tensors."""

    name = "fold-padding"

    def rewrite(self, shared: SharedGraph) -> bool:
        snap = shared.snapshot()
        nodes = [node for f in snap.graph.functions.values() for node in walk(f.body)]
        padded = {node.results[0]: node for node in nodes if node.name == hlo.pad.name}
        changed = False
        for node in nodes:
            pad = padded.get(node.operands[0]) if node.name == hlo.slice_.name else None
            left = _left(snap, pad, node) if pad else None
            if pad and left:
                _replace(snap, pad, node, *left)
                changed = True
        for pad in padded.values():
            if changed and not snap.ops[pad.id].results[0].uses:
                Rewriter.erase_op(snap.ops[pad.id])
        return changed


def _left(snap: Snapshot, pad: Node, node: Node) -> tuple[Ints, Ints] | None:
    """What a slice leaves of padding, below and above; None if it takes steps, or nothing is split."""
    low, high, interior = (
        cast(Ints, pad.attrs[key]) for key in ("edge_padding_low", "edge_padding_high", "interior_padding")
    )
    starts, limits = (cast(Ints, node.attrs[key]) for key in ("start_indices", "limit_indices"))
    sharding = snap.graph.values[node.results[0]].sharding
    plain = not any(interior) and all(step == 1 for step in cast(Ints, node.attrs["strides"]))
    if sharding is None or not plain:
        return None
    shape = snap.graph.type(pad.results[0]).shape
    below = tuple(n - start for n, start in zip(low, starts, strict=True))
    above = tuple(n - (size - limit) for n, size, limit in zip(high, shape, limits, strict=True))
    split = [dim for dim, each in enumerate(sharding.dims) if each.axes and (low[dim] or high[dim])]
    kept = all(  # some of the tensor is left
        size + min(n, 0) + min(m, 0) > 0
        for size, n, m in zip(snap.graph.type(pad.operands[0]).shape, below, above, strict=True)
    )
    return (below, above) if split and kept else None


def _replace(snap: Snapshot, pad: Node, node: Node, below: Ints, above: Ints) -> None:
    """Put what is left of the padding in the place of a slice."""
    old, value = snap.ops[node.id], snap.ssa[pad.operands[0]]
    sharding = snap.graph.values[node.results[0]].sharding
    assert sharding is not None
    whole = [not dim.axes for dim in sharding.dims]
    type = snap.graph.type(pad.operands[0])
    cuts = [
        (max(-n, 0), max(-m, 0)) if here else (0, 0) for n, m, here in zip(below, above, whole, strict=True)
    ]
    if any(map(any, cuts)):
        limits = tuple(size - m for size, (_, m) in zip(type.shape, cuts, strict=True))
        starts = tuple(n for n, _ in cuts)
        type = TensorType(tuple(m - n for n, m in zip(starts, limits, strict=True)), type.dtype)
        ones = (1,) * type.rank
        value = made_before(
            old, hlo.slice_, [value], type, start_indices=starts, limit_indices=limits, strides=ones
        )
        value.name_hint = old.results[0].name_hint
    low = tuple(n + cut for n, (cut, _) in zip(below, cuts, strict=True))
    high = tuple(n + cut for n, (_, cut) in zip(above, cuts, strict=True))
    if any((*low, *high)):
        fill, result = snap.ssa[pad.operands[1]], snap.graph.type(node.results[0])
        none = (0,) * type.rank
        amounts = {"edge_padding_low": low, "edge_padding_high": high, "interior_padding": none}
        value = made_before(old, hlo.pad, [value, fill], result, **amounts)
        value.name_hint = old.results[0].name_hint
    old.results[0].replace_all_uses_with(value)
    Rewriter.erase_op(old)
