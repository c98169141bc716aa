"""fold-padding: slices of a padded tensor along a sharded dimension -> the tensor, moved by some elements.

    %0 = stablehlo.pad %x, %zero, low = [1], high = [1], interior = [0] : … -> tensor<66xf32>
    %1 = stablehlo.slice %0 [0:64] : (tensor<66xf32>) -> tensor<64xf32>

becomes

    %1 = stablehlo.pad %x, %zero, low = [1], high = [-1], interior = [0] : … -> tensor<64xf32>

So stencils with borders are written. 66 elements are split elsewhere than 64: nearly all would change places,
and back. Moved by one, an element a block crosses a border (a halo). A slice that undoes the padding is the
tensor itself. Dimensions that are whole are cut before they are padded. Padding by less than nothing is a
slice. The derivative of such a stencil is one of a sum of padded tensors: a sum of slices, each of which is a
tensor moved.
"""

from __future__ import annotations

from typing import cast

from msgspec import Struct
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter

from shardc.dialects.convert import python_of
from shardc.dialects.makers import erase_unused, owner
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.types import type_of
from shardc.graph import walk
from shardc.layout import Sharding
from shardc.ops import Trait, has, hlo
from shardc.passes.graph_pass import GraphPass
from shardc.rewrite.remade import made_before, remade
from shardc.rewrite.slice_ranges import Ints, Range


class FoldPadding(GraphPass):
    """Put padding by what is left of it in the place of slices of padded tensors."""

    name = "fold-padding"

    def rewrite(self, shared: SharedGraph) -> bool:
        snap = shared.snapshot()
        padded, cut = dict[SSAValue, _Padded](), dict[SSAValue, None]()
        for node in (node for f in snap.graph.functions.values() for node in walk(f.body)):
            if node.name not in (hlo.pad.name, hlo.slice_.name):
                continue
            op, sharding = snap.ops[node.id], snap.graph.values[node.results[0]].sharding
            value, whole = _moved(op, sharding, padded), op.operands[0]
            if value is not None:
                cut[whole] = None
                op.results[0].replace_all_uses_with(value)
                Rewriter.erase_op(op)
            elif node.name == hlo.pad.name and not any(_ints(op, "interior_padding")):
                padded[op.results[0]] = _Padded(whole, op.operands[1], *_widths(op))
        for value in reversed(cut):
            if owner(value).parent is not None:
                erase_unused(value)
        return bool(cut)


class _Padded(Struct, frozen=True):
    """A value with a fill value around it, in each dimension so many elements below and above; less than none
    where it is cut."""

    value: SSAValue
    fill: SSAValue
    low: Ints
    high: Ints

    @property
    def shape(self) -> Ints:
        """That of the whole."""
        inside = type_of(self.value.type).shape
        return tuple(n + size + m for n, size, m in zip(self.low, inside, self.high, strict=True))


class _Computed(Struct, frozen=True):
    """A value, the operations that compute it element by element, last ones first, and of what."""

    value: SSAValue
    ops: list[Operation]
    leaves: list[SSAValue]


def _computed(value: SSAValue, padded: dict[SSAValue, _Padded]) -> _Computed | None:
    """How a value is computed of padded tensors, each step for the next alone; None if it is not."""
    found, due = _Computed(value, [], []), [value]
    while due:
        value = due.pop()
        if value in padded:
            found.leaves.append(value)
        elif isinstance(value, OpResult) and has(value.op.name, Trait.ELEMENTWISE) and value.has_one_use():
            found.ops.append(value.op)
            due += reversed(value.op.operands)
        else:
            return None
    return found


def _left(padded: _Padded, part: Range, sharding: Sharding) -> _Padded | None:
    """What a part of a padded tensor is; None if nothing is split, or nothing of the tensor is left."""
    low, high = padded.low, padded.high
    below = tuple(n - start for n, start in zip(low, part.starts, strict=True))
    above = tuple(n - (m - end) for n, m, end in zip(high, padded.shape, part.limits, strict=True))
    split = any(each.axes and (low[dim] or high[dim]) for dim, each in enumerate(sharding.dims))
    inside = type_of(padded.value.type).shape
    kept = all(size + min(n, 0) + min(m, 0) > 0 for size, n, m in zip(inside, below, above, strict=True))
    return _Padded(padded.value, padded.fill, below, above) if split and kept else None


def _moved(old: Operation, sharding: Sharding | None, padded: dict[SSAValue, _Padded]) -> SSAValue | None:
    """The part that an operation takes of what is computed of padded tensors, made before it of what is left
    of them; None of others. What is padded then is known to be."""
    part = Range.taken(old)
    found = _computed(old.operands[0], padded) if part and sharding else None
    if part is None or sharding is None or found is None:
        return None
    left = {leaf: _left(padded[leaf], part, sharding) for leaf in found.leaves}
    if not all(left.values()):
        return None
    shape, whole = type_of(old.results[0].type).shape, [not dim.axes for dim in sharding.dims]
    new = dict[SSAValue, SSAValue]()
    for leaf, each in left.items():
        assert each is not None
        new[leaf] = made = _what_is_left(old, each, whole)
        if made is not each.value:
            padded[made] = each
    for op in reversed(found.ops):
        made = remade(
            op, [new[value] for value in op.operands], type_of(op.results[0].type).with_shape(shape), old
        )
        owner(made).attributes.update(old.attributes)
        new[op.results[0]] = made
    return new[found.value]


def _what_is_left(old: Operation, left: _Padded, whole: list[bool]) -> SSAValue:
    """The padding that is left, of a tensor whose `whole` dimensions are cut before."""
    value, below, above = left.value, left.low, left.high
    type = type_of(value.type)
    cuts = [
        (max(-n, 0), max(-m, 0)) if here else (0, 0) for n, m, here in zip(below, above, whole, strict=True)
    ]
    if any(map(any, cuts)):
        limits = tuple(size - m for size, (_, m) in zip(type.shape, cuts, strict=True))
        starts = tuple(n for n, _ in cuts)
        type = type.with_shape(Range(starts, limits).shape)
        ones = (1,) * type.rank
        value = made_before(
            old, hlo.slice_, [value], type, start_indices=starts, limit_indices=limits, strides=ones
        )
        value.name_hint = old.results[0].name_hint
    low = tuple(n + cut for n, (cut, _) in zip(below, cuts, strict=True))
    high = tuple(n + cut for n, (_, cut) in zip(above, cuts, strict=True))
    if any((*low, *high)):
        result, none = type.with_shape(type_of(old.results[0].type).shape), (0,) * type.rank
        amounts = {"edge_padding_low": low, "edge_padding_high": high, "interior_padding": none}
        value = made_before(old, hlo.pad, [value, left.fill], result, **amounts)
        value.name_hint = old.results[0].name_hint
    return value


def _widths(op: Operation) -> tuple[Ints, Ints]:
    return _ints(op, "edge_padding_low"), _ints(op, "edge_padding_high")


def _ints(op: Operation, key: str) -> Ints:
    return cast(Ints, python_of(op.properties[key]))
