"""A dimension from which gather takes all, or to which scatter gives all, is not indexed.

    %c = stablehlo.concatenate %i, %o, dim = 1                    // %i: tensor<4x1xi32>
    %0 = "stablehlo.gather"(%a, %c) <start_index_map = [0, 1], slice_sizes = [1, 8], …>
                                                                  // %a: tensor<16x8xf32>
becomes

    %0 = "stablehlo.gather"(%a, %i) <start_index_map = [0], slice_sizes = [1, 8], …>

A gather moves such a slice to where it fits, which is 0 always. A scatter leaves out what does not fit, so
there the index must be 0. JAX has such indices where a vmapped index is one of a dynamic slice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from msgspec.structs import replace
from xdsl.ir import Operation, SSAValue

from shardc.dialects.build import IRBuilder
from shardc.dialects.convert import python_of
from shardc.dialects.dense import DenseAttr
from shardc.dialects.locations import location_of
from shardc.dialects.makers import made_by, owner
from shardc.dialects.stablehlo.attributes import GatherAttr, ScatterAttr
from shardc.dialects.types import type_of
from shardc.graph import Dense, TensorType
from shardc.ops import hlo, sdy
from shardc.rewrite.constants import splat_of, value_of

_ENDS = {hlo.minimum.name: min, hlo.maximum.name: max}


def unindexed(op: Operation, builder: IRBuilder) -> bool:
    """Leave out what says where whole dimensions are taken from or put to; whether there was some."""
    if op.name == hlo.gather.name:
        attr = op.properties["dimension_numbers"]
        assert isinstance(attr, GatherAttr)
        mapped, vector = attr.data.start_index_map, attr.data.index_vector_dim
        whole = _taken(op)
    elif op.name == hlo.scatter.name and len(op.results) == 1:
        attr = op.properties["scatter_dimension_numbers"]
        assert isinstance(attr, ScatterAttr)
        mapped, vector = attr.data.scatter_dims_to_operand_dims, attr.data.index_vector_dim
        whole = _given(op, attr)
    else:
        return False
    indices = op.operands[1]
    gone = [number for number, dim in enumerate(mapped) if dim in whole]
    if isinstance(attr, ScatterAttr):
        gone = [number for number in gone if component(indices, number, vector) == 0]
    kept = [number for number in range(len(mapped)) if number not in gone]
    if not gone or not kept or not _has_parts(indices, vector):
        return False
    builder.before(op)
    with builder.at(location_of(op.location).named(None)):
        op.operands[1] = _only(builder, indices, kept, vector)
    rest = tuple(mapped[number] for number in kept)
    if isinstance(attr, GatherAttr):
        op.properties["dimension_numbers"] = GatherAttr(replace(attr.data, start_index_map=rest))
    else:
        changed = replace(attr.data, scatter_dims_to_operand_dims=rest)
        op.properties["scatter_dimension_numbers"] = ScatterAttr(changed)
    return True


def _taken(op: Operation) -> list[int]:
    """The dimensions of which a gather takes all."""
    sizes = cast("tuple[int, ...]", python_of(op.properties["slice_sizes"]))
    return [dim for dim, size in enumerate(type_of(op.operands[0].type).shape) if size == sizes[dim]]


def _given(op: Operation, attr: ScatterAttr) -> list[int]:
    """The dimensions that the updates of a scatter have all of."""
    dims, shape = attr.data, type_of(op.operands[0].type).shape
    updates = type_of(op.operands[2].type).shape
    left_out = (*dims.inserted_window_dims, *dims.input_batching_dims)
    window = [dim for dim in range(len(shape)) if dim not in left_out]
    sizes = {dim: updates[of] for dim, of in zip(window, dims.update_window_dims, strict=True)}
    sizes |= dict.fromkeys(dims.inserted_window_dims, 1)
    return [dim for dim, size in sizes.items() if size == shape[dim]]


def _has_parts(indices: SSAValue, vector: int) -> bool:
    """Whether the components of indices are made one by one."""
    if made_by(indices, hlo.clamp.name):
        return _has_parts(owner(indices).operands[1], vector)
    return _is_joined(indices, vector)


def _is_joined(indices: SSAValue, vector: int) -> bool:
    if not made_by(indices, hlo.concatenate.name):
        return False
    joined = owner(indices)
    sizes = {type_of(part.type).shape[vector] for part in joined.operands}
    return python_of(joined.properties["dimension"]) == vector and sizes == {1}


def _only(builder: IRBuilder, value: SSAValue, kept: Sequence[int], vector: int) -> SSAValue:
    """Indices, or limits of them, with these components."""
    type = type_of(value.type)
    if not type.shape:
        return value
    if _is_joined(value, vector):
        parts = [owner(value).operands[number] for number in kept]
        return parts[0] if len(parts) == 1 else builder.one(hlo.concatenate.name, *parts, dimension=vector)
    if made_by(value, hlo.clamp.name):
        return builder.one(
            hlo.clamp.name, *(_only(builder, each, kept, vector) for each in owner(value).operands)
        )
    shape = (*type.shape[:vector], len(kept), *type.shape[vector + 1 :])
    known = [component(value, number, vector) for number in kept]
    if None not in known:
        one = {*known}.pop() if len({*known}) == 1 else None
        elements = np.asarray(known if one is None else one, type.numpy)
        held = Dense(elements, shape if one is not None else elements.shape)
        numbers = builder.one(hlo.constant.name, result=TensorType(held.shape, type.dtype), value=held)
        if one is not None:
            return numbers
        result = TensorType(shape, type.dtype)
        return builder.one(hlo.broadcast_in_dim.name, numbers, result=result, broadcast_dimensions=(vector,))
    pieces = [_slice(builder, value, vector, number) for number in kept]
    return pieces[0] if len(pieces) == 1 else builder.one(hlo.concatenate.name, *pieces, dimension=vector)


def _slice(builder: IRBuilder, value: SSAValue, dim: int, place: int) -> SSAValue:
    shape = type_of(value.type).shape
    starts, limits = [0] * len(shape), list(shape)
    starts[dim], limits[dim] = place, place + 1
    strides = (1,) * len(shape)
    return builder.one(
        hlo.slice_.name, value, start_indices=tuple(starts), limit_indices=tuple(limits), strides=strides
    )


def component(value: SSAValue, number: int, vector: int | None) -> int | None:
    """The whole number that a component of indices is everywhere; `vector` is None where all are alike."""
    element = splat_of(value)
    if element is not None:
        return int(element)
    if made_by(value, hlo.constant.name, sdy.constant.name):
        held = value_of(owner(value))
        if vector is None or not isinstance(held, DenseAttr):
            return None
        found = {*np.take(held.data.value.array(), number, axis=vector).ravel().tolist()}
        return int(found.pop()) if len(found) == 1 else None
    if made_by(value, hlo.broadcast_in_dim.name):
        dims = cast("tuple[int, ...]", python_of(owner(value).properties["broadcast_dimensions"]))
        (source,) = owner(value).operands
        if vector not in dims:
            return component(source, number, None)
        at = dims.index(vector)
        return component(source, number, at if type_of(source.type).shape[at] > 1 else None)
    if vector is not None and _is_joined(value, vector):
        return component(owner(value).operands[number], 0, None)
    if made_by(value, *_ENDS, hlo.clamp.name):
        given = [
            component(each, number, vector if type_of(each.type).shape else None)
            for each in owner(value).operands
        ]
        return _limited(owner(value).name, given)
    return None


def _limited(name: str, given: Sequence[int | None]) -> int | None:
    """What minimum, maximum and clamp give of numbers; a clamp that has one place needs none."""
    if name in _ENDS:
        known = [number for number in given if number is not None]
        return _ENDS[name](known) if len(known) == len(given) else None
    low, number, high = given
    if low is None or high is None:
        return None
    if low == high:
        return low
    return None if number is None else max(low, min(number, high))
