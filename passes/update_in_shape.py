"""update-in-shape: an update that is computed of slices, of most of a split tensor -> computed in its shape.

    %0 = stablehlo.slice %x [0:62] : (tensor<64xf32>) -> tensor<62xf32>
    %1 = stablehlo.slice %x [2:64] : (tensor<64xf32>) -> tensor<62xf32>
    %2 = stablehlo.add %0, %1 : tensor<62xf32>
    %3 = stablehlo.dynamic_update_slice %x, %2, %one : tensor<64xf32>

becomes

    %0 = stablehlo.pad %x, %zero, low = [1], high = [-1], interior = [0] : … -> tensor<64xf32>
    %1 = stablehlo.pad %x, %zero, low = [-1], high = [1], interior = [0] : … -> tensor<64xf32>
    %2 = stablehlo.add %0, %1 : tensor<64xf32>
    %3 = stablehlo.select %inside, %2, %x : tensor<64xf32>                      // 1 <= iota < 63

So stencils are written whose border stays: `u.at[1:-1].set(…)`. 62 elements are split elsewhere than 64, and
an update is taken from wherever it lies. In the tensor's shape each device computes what it keeps, and an
element a block crosses a border (a halo). What is computed outside the box is not chosen. So are constants
written, and what is the same all along the split dimensions: `u.at[:4].set(0)`. A box that fits in a block,
slices from farther away than a block, and what divides by elements or has a logarithm stay: what is infinite
outside the box would be NaN in a derivative. A scatter that sets a box that fits in a block becomes
dynamic_update_slice. Dimensions that are whole stay as they are.
"""

from __future__ import annotations

from functools import partial, reduce
from typing import cast

from msgspec import Struct
from xdsl.ir import Operation, OpResult, SSAValue

from shardc.dialects.build import IRBuilder
from shardc.dialects.convert import python_of
from shardc.dialects.locations import location_of
from shardc.dialects.makers import erase_unused, made_by, owner
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.types import type_of
from shardc.forms.site import INDEX, compare, scalar, spread
from shardc.graph import TensorType, is_inexact, walk
from shardc.layout import Sharding
from shardc.ops import Trait, has, hlo
from shardc.passes.graph_pass import GraphPass
from shardc.rewrite.constants import splat_of
from shardc.rewrite.known_places import Box, box_of
from shardc.rewrite.remade import remade

Ints = tuple[int, ...]


class UpdateInShape(GraphPass):
    """Compute updates in the shape of what they update, and choose."""

    name = "update-in-shape"

    def rewrite(self, shared: SharedGraph) -> bool:
        snap, builder, changed = shared.snapshot(), IRBuilder(shared.module), False
        for node in [node for f in snap.graph.functions.values() for node in walk(f.body)]:
            op = snap.ops[node.id]
            box = box_of(op)
            sharding = snap.graph.values[node.results[0]].sharding if box else None
            if box and sharding and _is_rewritten(op, box, sharding, builder):
                changed = True
        return changed


def _is_rewritten(op: Operation, box: Box, sharding: Sharding, builder: IRBuilder) -> bool:
    """Whether an update is computed in the shape of its tensor, or has become one that runs on blocks."""
    frame = _frame(box, sharding)
    large = {dim: side for dim, side in frame.items() if side.block < type_of(box.update.type).shape[dim]}
    if frame and not large and op.name == hlo.scatter.name:
        if _is_alike(box.update, frame):
            large = frame
        elif not box.combine:
            _write_slice(op, box, builder)
            return True
    ops = _computed(box.update, large) if large else None
    if ops is None:
        return False
    _replace(op, box, large, ops, builder)
    return True


class _Side(Struct, frozen=True):
    """One dimension of the tensor: its size, where the box starts in it, and how large blocks are."""

    size: int
    start: int
    block: int


Frame = dict[int, _Side]
"""The dimensions in which the update becomes as large as the tensor."""


def _frame(box: Box, sharding: Sharding) -> Frame:
    """The split dimensions of which the box has a part."""
    shape, part = type_of(box.tensor.type).shape, type_of(box.update.type).shape
    blocks = sharding.local_shape(shape)
    return {
        dim: _Side(size, box.starts[dim], blocks[dim])
        for dim, size in enumerate(shape)
        if sharding.dims[dim].axes and part[dim] < size
    }


def _computed(update: SSAValue, frame: Frame) -> list[Operation] | None:
    """The operations, in order, that make an update of slices and numbers; None if it is made of others."""
    seen, found = set[SSAValue](), list[Operation]()
    left = [(update, False)]
    while left:
        value, is_ready = left.pop()
        if is_ready:
            found.append(owner(value))
        elif value not in seen and not _is_alike(value, frame):
            seen.add(value)
            if made_by(value, hlo.slice_.name):
                if not _is_near(owner(value), frame):
                    return None
            elif isinstance(value, OpResult) and _is_smooth(value.op):
                left += [(value, True), *((operand, False) for operand in value.op.operands)]
            else:
                return None
    return found


def _is_smooth(op: Operation) -> bool:
    """Whether an elementwise operation has a finite derivative wherever it is computed: one that is infinite
    at an element that is not chosen would make NaN of that element's cotangent, which is zero."""
    if op.name in (hlo.divide.name, hlo.remainder.name):
        return bool(splat_of(op.operands[1]))
    exact = not is_inexact(type_of(op.results[0].type).dtype)
    return op.name in _SMOOTH or (exact and has(op.name, Trait.ELEMENTWISE))


def _is_alike(value: SSAValue, frame: Frame) -> bool:
    """Whether a value is the same all along the dimensions of the frame."""
    if not type_of(value.type).shape or splat_of(value) is not None:
        return True
    return made_by(value, hlo.broadcast_in_dim.name) and not frame.keys() & {*_ints(owner(value), _DIMS)}


def _is_near(op: Operation, frame: Frame) -> bool:
    """Whether a slice takes no steps, and puts elements less than a block from where they lie."""
    steps = _ints(op, "strides")
    return all(
        steps[dim] == 1 and max(map(abs, _widths(op, dim, side))) < side.block for dim, side in frame.items()
    )


def _widths(op: Operation, dim: int, side: _Side) -> tuple[int, int]:
    """How much of the frame lies before and behind what is sliced, the slice being in the box."""
    below = side.start - _ints(op, "start_indices")[dim]
    return below, side.size - below - type_of(op.operands[0].type).shape[dim]


def _replace(op: Operation, box: Box, frame: Frame, ops: list[Operation], builder: IRBuilder) -> None:
    """Compute an update in the frame, and choose it in the box. Who else uses what makes it gets slices."""
    grown = dict[SSAValue, SSAValue]()
    for old in ops:
        for value in old.operands:
            if value not in grown:
                grown[value] = _leaf(value, frame, builder)
        type = _grown(type_of(old.results[0].type), frame)
        grown[old.results[0]] = remade(old, [grown[value] for value in old.operands], type)
    update = grown[box.update] if ops else _leaf(box.update, frame, builder)
    builder.before(op)
    with builder.at(location_of(op.location)):
        chosen = _chosen(op, box, frame, update, builder)
    op.results[0].replace_all_uses_with(chosen)
    erase_unused(op.results[0])
    starts = [frame[dim].start if dim in frame else 0 for dim in range(len(box.starts))]
    for old in reversed(ops):
        value = old.results[0]
        if value.uses:
            builder.before(old)
            with builder.at(location_of(old.location)):
                part = _part(grown[value], starts, type_of(value.type).shape, old, builder)
            value.replace_all_uses_with(part)
            erase_unused(value)


def _write_slice(op: Operation, box: Box, builder: IRBuilder) -> None:
    """The scatter of a box that a block can hold as dynamic_update_slice, which blocks have a form for."""
    builder.before(op)
    with builder.at(location_of(op.location)):
        places = [scalar(builder, start, INDEX) for start in box.starts]
        written = builder.one(hlo.dynamic_update_slice.name, box.tensor, box.update, *places)
    op.results[0].replace_all_uses_with(_marked(written, op))
    erase_unused(op.results[0])


def _leaf(value: SSAValue, frame: Frame, builder: IRBuilder) -> SSAValue:
    """A slice, or a value that is the same all along the frame, in the frame, before the old one."""
    type = type_of(value.type)
    if not type.shape:
        return value
    old, result = owner(value), _grown(type, frame)
    element = splat_of(value)
    builder.before(old)
    with builder.at(location_of(old.location)):
        if element is not None:
            return _marked(scalar(builder, element, result), old)
        (source,) = old.operands
        if made_by(value, hlo.broadcast_in_dim.name):
            made = builder.one(old.name, source, result=result, broadcast_dimensions=_ints(old, _DIMS))
            return _marked(made, old)
        starts = [0 if dim in frame else start for dim, start in enumerate(_ints(old, "start_indices"))]
        widths = [_widths(old, dim, frame[dim]) if dim in frame else (0, 0) for dim in range(type.rank)]
        if any(map(any, widths)):
            low, high = zip(*widths, strict=True)
            moved = builder.one(
                hlo.pad.name,
                source,
                scalar(builder, 0, type.with_shape(())),
                edge_padding_low=low,
                edge_padding_high=high,
                interior_padding=(0,) * type.rank,
            )
            source = _marked(moved, old)
        return _part(source, starts, result.shape, old, builder)


def _chosen(op: Operation, box: Box, frame: Frame, update: SSAValue, builder: IRBuilder) -> SSAValue:
    """The tensor, with what the update makes of it in the box."""
    type, shape = type_of(update.type), type_of(box.tensor.type).shape
    starts = [0 if dim in frame else start for dim, start in enumerate(box.starts)]
    kept = _part(box.tensor, starts, type.shape, op, builder)
    if box.combine:
        update = _marked(builder.one(box.combine, kept, update), op)
    tests = [spread(builder, _within(box, dim, frame[dim], builder), type.shape, (dim,)) for dim in frame]
    inside = reduce(partial(builder.one, hlo.and_.name), tests)
    chosen = _marked(builder.one(hlo.select.name, inside, update, kept), op)
    if type.shape == shape:
        return chosen
    places = [scalar(builder, start, INDEX) for start in starts]
    return _marked(builder.one(hlo.dynamic_update_slice.name, box.tensor, chosen, *places), op)


def _within(box: Box, dim: int, side: _Side, builder: IRBuilder) -> SSAValue:
    """Which places of a dimension of the frame are the box's: bool[size]."""
    type, end = INDEX.with_shape((side.size,)), side.start + type_of(box.update.type).shape[dim]
    place = builder.one(hlo.iota.name, result=type, iota_dimension=0)
    ends = [("GE", side.start)] * (side.start > 0) + [("LT", end)] * (end < side.size)
    tests = [compare(builder, place, which, scalar(builder, n, type)) for which, n in ends]
    return reduce(partial(builder.one, hlo.and_.name), tests)


def _part(value: SSAValue, starts: list[int], shape: Ints, old: Operation, builder: IRBuilder) -> SSAValue:
    """A slice, marked as an old operation is; the value itself if it is all of it."""
    if type_of(value.type).shape == shape:
        return value
    part = builder.one(
        hlo.slice_.name,
        value,
        start_indices=tuple(starts),
        limit_indices=tuple(start + size for start, size in zip(starts, shape, strict=True)),
        strides=(1,) * len(shape),
    )
    return _marked(part, old)


def _grown(type: TensorType, frame: Frame) -> TensorType:
    return type.with_shape(tuple(frame[dim].size if dim in frame else n for dim, n in enumerate(type.shape)))


def _marked(value: SSAValue, old: Operation) -> SSAValue:
    """What is new, with the sharding of what it stands for."""
    owner(value).attributes.update(old.attributes)
    return value


def _ints(op: Operation, key: str) -> Ints:
    return cast(Ints, python_of(op.properties[key]))


_DIMS = "broadcast_dimensions"

_SMOOTH = {
    each.name
    for each in (
        *(hlo.add, hlo.subtract, hlo.multiply, hlo.negate, hlo.maximum, hlo.minimum, hlo.abs_, hlo.sign),
        *(hlo.select, hlo.clamp, hlo.convert, hlo.tanh, hlo.logistic, hlo.sine, hlo.cosine),
    )
}
