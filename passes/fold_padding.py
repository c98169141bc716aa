"""fold-padding: slices of a padded tensor along a sharded dimension -> the tensor, moved by some elements.

    %0 = stablehlo.pad %x, %zero, low = [1], high = [1], interior = [0] : … -> tensor<66xf32>
    %1 = stablehlo.slice %0 [0:64] : (tensor<66xf32>) -> tensor<64xf32>

becomes

    %1 = stablehlo.pad %x, %zero, low = [1], high = [-1], interior = [0] : … -> tensor<64xf32>

So stencils with borders are written. 66 elements are split elsewhere than 64: nearly all would change places,
and back. Moved by one, an element a block crosses a border (a halo). A slice that undoes the padding is the
tensor itself. Dimensions that are whole are cut before they are padded. Padding by less than nothing is a
slice. The derivative of such a stencil is one of a sum of padded tensors: a sum of slices, each of which is a
tensor moved. Where borders are repeated several slices share out such a sum, and what JAX sums over nothing,
for the dimensions that are not padded, is the constant that it is. A slice to which as many constants are
joined at the other end, or with which it is padded there, is the tensor moved, too.
"""

from __future__ import annotations

from math import prod
from typing import Any, cast

import numpy as np
from msgspec import Struct
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter

from shardc.dialects.build import IRBuilder
from shardc.dialects.convert import python_of
from shardc.dialects.makers import erase_unused, made_by, owner
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.types import type_of
from shardc.graph import walk
from shardc.graph.attrs import Dense
from shardc.layout import Sharding
from shardc.ops import Trait, has, hlo
from shardc.passes.graph_pass import GraphPass
from shardc.rewrite.constants import splat_of
from shardc.rewrite.identities import reshaped_back
from shardc.rewrite.no_elements import element_around_nothing
from shardc.rewrite.remade import made_before, remade
from shardc.rewrite.shifted import shifted
from shardc.rewrite.slice_ranges import Ints, Range

Dims = frozenset[int]


class FoldPadding(GraphPass):
    """Put padding by what is left of it in the place of slices of padded tensors."""

    name = "fold-padding"

    def rewrite(self, shared: SharedGraph) -> bool:
        snap, builder = shared.snapshot(), IRBuilder(shared.module)
        padded, cut = dict[SSAValue, _Padded](), dict[SSAValue, None]()
        for node in (node for f in snap.graph.functions.values() for node in walk(f.body)):
            if node.name not in _FOLDED:
                continue
            op, sharding = snap.ops[node.id], snap.graph.values[node.results[0]].sharding
            value, whole = _simpler(op) or _moved(op, sharding, padded), op.operands[0]
            value = value or shifted(op, _split(sharding), builder)
            if value is not None:
                cut.update(dict.fromkeys(op.operands))
                op.results[0].replace_all_uses_with(value)
                Rewriter.erase_op(op)
            elif node.name == hlo.pad.name and not any(_ints(op, "interior_padding")):
                split = _split(snap.graph.values[node.operands[0]].sharding)
                padded[op.results[0]] = _Padded(whole, op.operands[1], *_widths(op), split)
        for value in reversed(cut):
            if isinstance(value, OpResult) and value.op.parent is not None:
                erase_unused(value)
        return bool(cut)


class _Padded(Struct, frozen=True):
    """A value with a fill value around it, in each dimension so many elements below and above; less than none
    where it is cut. `split` are the dimensions along which the value is split."""

    value: SSAValue
    fill: SSAValue
    low: Ints
    high: Ints
    split: Dims

    @property
    def shape(self) -> Ints:
        """That of the whole."""
        inside = type_of(self.value.type).shape
        return tuple(n + size + m for n, size, m in zip(self.low, inside, self.high, strict=True))

    @property
    def has_elements(self) -> bool:
        """Whether anything of the value is in it."""
        sizes = zip(self.low, type_of(self.value.type).shape, self.high, strict=True)
        return all(size + min(n, 0) + min(m, 0) > 0 for n, size, m in sizes)


_FOLDED = {each.name for each in (hlo.pad, hlo.slice_, hlo.concatenate, hlo.reduce, hlo.broadcast_in_dim)}


def _simpler(op: Operation) -> SSAValue | None:
    """A tensor from which dimensions of size 1 came and went, or a constant. A number that is taken out of an
    array, and made one again, stays: random keys are found by that."""
    back = op.name == hlo.broadcast_in_dim.name and (
        type_of(op.results[0].type).size != 1 or made_by(op.operands[0], hlo.reduce.name)
    )
    return (reshaped_back(op) if back else None) or _element(op)


def _element(op: Operation) -> SSAValue | None:
    """The constant of which a value is all, that is padded with it, or a reduction of nothing."""
    element = element_around_nothing(op)
    if element is None and op.name == hlo.pad.name:
        inside, fill = map(splat_of, op.operands)
        alike = inside is not None and fill is not None and inside.tobytes() == fill.tobytes()
        element = fill if alike else None
    return None if element is None else _constant(op, element, type_of(op.results[0].type).shape)


def _constant(old: Operation, element: Any, shape: Ints) -> SSAValue:
    type = type_of(old.results[0].type).with_shape(shape)
    return made_before(old, hlo.constant, [], type, value=Dense(np.asarray(element), shape))


class _Computed(Struct, frozen=True):
    """A value, the operations that compute it element by element, last ones first, and of what: padded
    tensors, and constants."""

    value: SSAValue
    ops: list[Operation]
    leaves: list[SSAValue]
    constants: list[SSAValue]


def _computed(value: SSAValue, padded: dict[SSAValue, _Padded]) -> _Computed | None:
    """How a value is computed of padded tensors, each step for the next alone, and the last for slices that
    take each element once; None if it is not.
    """
    found, due = _Computed(value, [], [], []), [value]
    if value not in padded and not _is_shared_out(value):
        return None
    while due:
        value = due.pop()
        if value in padded:
            found.leaves.append(value)
        elif splat_of(value) is not None:
            found.constants.append(value)
        elif (
            isinstance(value, OpResult)
            and has(value.op.name, Trait.ELEMENTWISE)
            and (value is found.value or value.has_one_use())
        ):
            found.ops.append(value.op)
            due += reversed(value.op.operands)
        else:
            return None
    return found


def _is_shared_out(value: SSAValue) -> bool:
    """Whether a value has one use, or slices take no more of it than there is."""
    parts = [Range.taken(use.operation) for use in value.uses]
    taken = sum(prod(part.shape) for part in parts if part is not None)
    return len(parts) == 1 or (None not in parts and taken <= type_of(value.type).size)


def _left(padded: _Padded, part: Range, split: Dims) -> _Padded | None:
    """What a part of a padded tensor is; None if it moves along none of the dimensions that are `split`."""
    low, high = padded.low, padded.high
    below = tuple(n - start for n, start in zip(low, part.starts, strict=True))
    above = tuple(n - (m - end) for n, m, end in zip(high, padded.shape, part.limits, strict=True))
    moves = any(
        n or m for dim, (n, m) in enumerate(zip(low, high, strict=True)) if dim in split | padded.split
    )
    return _Padded(padded.value, padded.fill, below, above, padded.split) if moves else None


def _moved(old: Operation, sharding: Sharding | None, padded: dict[SSAValue, _Padded]) -> SSAValue | None:
    """The part that an operation takes of what is computed of padded tensors, made before it of what is left
    of them; None of others. What is padded then is known to be."""
    part = Range.taken(old)
    found = _computed(old.operands[0], padded) if part and sharding else None
    if part is None or sharding is None or found is None:
        return None
    split = _split(sharding)
    left = {leaf: _left(padded[leaf], part, split) for leaf in found.leaves}
    fills = {leaf: splat_of(each.fill) for leaf, each in left.items() if each and not each.has_elements}
    if len(fills) == len(left) or not all(left.values()) or None in fills.values():
        return None
    shape = type_of(old.results[0].type).shape
    elements = {value: splat_of(value) for value in found.constants} | fills
    new = {value: _constant(old, element, shape) for value, element in elements.items()}
    for leaf, each in left.items():
        if each is not None and leaf not in new:
            new[leaf] = made = _what_is_left(old, each, split | each.split)
            if made is not each.value:
                padded[made] = each
    for op in reversed(found.ops):
        made = remade(
            op, [new[value] for value in op.operands], type_of(op.results[0].type).with_shape(shape), old
        )
        owner(made).attributes.update(old.attributes)
        new[op.results[0]] = made
    return new[found.value]


def _what_is_left(old: Operation, left: _Padded, split: Dims) -> SSAValue:
    """The padding that is left, of a tensor that is cut before along the dimensions that are not `split`."""
    value, below, above = left.value, left.low, left.high
    type = type_of(value.type)
    cuts = [
        (0, 0) if dim in split else (max(-n, 0), max(-m, 0))
        for dim, (n, m) in enumerate(zip(below, above, strict=True))
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


def _split(sharding: Sharding | None) -> Dims:
    """The dimensions along which a value is split."""
    dims = () if sharding is None else sharding.dims
    return frozenset(number for number, dim in enumerate(dims) if dim.axes)


def _widths(op: Operation) -> tuple[Ints, Ints]:
    return _ints(op, "edge_padding_low"), _ints(op, "edge_padding_high")


def _ints(op: Operation, key: str) -> Ints:
    return cast(Ints, python_of(op.properties[key]))
