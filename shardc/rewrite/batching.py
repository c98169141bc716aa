"""A dimension of gather or scatter that is indexed by its own number becomes a batch dimension.

    %i = stablehlo.iota dim = 0 : tensor<4x1xi32>
    %c = stablehlo.concatenate %i, %o, dim = 1
    %0 = "stablehlo.gather"(%a, %c) <collapsed_slice_dims = [0], start_index_map = [0, 1], …>

becomes

    %0 = "stablehlo.gather"(%a, %o) <operand_batching_dims = [0], start_indices_batching_dims = [0],
                                     start_index_map = [1], …>

so that an axis may split it without communication. A select or clamp of such numbers must leave them as they
are.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import cast

import numpy as np
from msgspec.structs import astuple
from xdsl.ir import Operation, OpResult, SSAValue

from shardc.dialects.build import IRBuilder
from shardc.dialects.convert import python_of
from shardc.dialects.dense import DenseAttr
from shardc.dialects.locations import location_of
from shardc.dialects.makers import made_by, owner
from shardc.dialects.stablehlo.attributes import GatherAttr, ScatterAttr
from shardc.dialects.types import type_of
from shardc.graph.attrs import GatherDims, ScatterDims
from shardc.ops import hlo, sdy

_DIMS = {hlo.gather.name: "dimension_numbers", hlo.scatter.name: "scatter_dimension_numbers"}
"""What says how indices address the operand. The fields of both are the same ones, in the same order."""


def batched(op: Operation, builder: IRBuilder, first_only: bool = False) -> bool:
    """Make batch dimensions of those that are indexed by their own numbers; whether there was one.

    first_only: of the first dimension of operand and indices alone, where there are no others.
    """
    key = _DIMS.get(op.name)
    if key is None:
        return False
    found = False
    while True:
        attr = op.properties[key]
        assert isinstance(attr, GatherAttr | ScatterAttr)
        window, dropped, batching, of_indices, mapped, vector = _fields(attr.data)
        at = len(op.results)  # the indices come after as many operands
        place = _place(op, at, (window, dropped, batching, of_indices, mapped, vector), first_only)
        if place is None:
            return found
        dim, number, along = place
        op.operands[at] = _without(op, builder, at, number, vector)
        pairs = sorted([*zip(batching, of_indices, strict=True), (dim, along)])
        rest, others = (tuple(d for d in dims if d != dim) for dims in (dropped, mapped))
        changed = (window, rest, tuple(d for d, _ in pairs), tuple(b for _, b in pairs), others, vector)
        op.properties[key] = (
            GatherAttr(GatherDims(*changed))
            if isinstance(attr, GatherAttr)
            else ScatterAttr(ScatterDims(*changed))
        )
        found = True


Dims = tuple[int, ...]


def _fields(dims: GatherDims | ScatterDims) -> tuple[Dims, Dims, Dims, Dims, Dims, int]:
    """Of slices or updates, of the operand dropped and batching, of the indices batching, mapped, vector."""
    return astuple(dims)  # pyright: ignore[reportReturnType]


def _place(
    op: Operation, at: int, fields: tuple[Dims, Dims, Dims, Dims, Dims, int], first_only: bool
) -> tuple[int, int, int] | None:
    """A dimension of the operand, which component of the indices is for it, and along which it counts."""
    _, dropped, batching, of_indices, mapped, vector = fields
    indices = op.operands[at]
    shape, sizes = type_of(indices.type).shape, type_of(op.operands[0].type).shape
    if vector >= len(shape) or shape[vector] < 2 or (first_only and batching):
        return None
    for number, dim in enumerate(mapped):
        for along in range(len(shape)):
            free = dim in dropped and along != vector and along not in of_indices
            if free and shape[along] == sizes[dim] and not (first_only and (dim or along)):
                part = _component(indices, number, vector)
                if part is not None and _counts(part, along):
                    return dim, number, along
    return None


def _component(indices: SSAValue, number: int, vector: int) -> SSAValue | None:
    """One component of the indices, or all of them if they are of one making; None where it is in pieces."""
    if not made_by(indices, hlo.concatenate.name):
        return indices
    joined = owner(indices)
    total = type_of(indices.type).shape[vector]
    if python_of(joined.properties["dimension"]) != vector or len(joined.operands) != total:
        return None
    return joined.operands[number]


def _without(op: Operation, builder: IRBuilder, at: int, place: int, vector: int) -> SSAValue:
    """The indices without one component."""
    indices = op.operands[at]
    builder.before(op)
    with builder.at(location_of(op.location).named(None)):
        if made_by(indices, hlo.concatenate.name):
            parts = [part for number, part in enumerate(owner(indices).operands) if number != place]
        else:
            total = type_of(indices.type).shape[vector]
            ranges = [pair for pair in ((0, place), (place + 1, total)) if pair[0] < pair[1]]
            parts = [_slice(builder, indices, vector, *pair) for pair in ranges]
        return parts[0] if len(parts) == 1 else builder.one(hlo.concatenate.name, *parts, dimension=vector)


def _slice(builder: IRBuilder, value: SSAValue, dim: int, start: int, limit: int) -> SSAValue:
    shape = type_of(value.type).shape
    starts, limits = [0] * len(shape), list(shape)
    starts[dim], limits[dim] = start, limit
    return builder.one(
        hlo.slice_.name,
        value,
        start_indices=tuple(starts),
        limit_indices=tuple(limits),
        strides=(1,) * len(shape),
    )


def _counts(value: SSAValue, dim: int) -> bool:
    """Whether each element is the number of its place along a dimension."""
    if not isinstance(value, OpResult) or not type_of(value.type).shape:
        return False
    known = _COUNTING.get(value.op.name)
    return known is not None and known(value.op, dim)


def _iota(op: Operation, dim: int) -> bool:
    return python_of(op.properties["iota_dimension"]) == dim and _has_room(op, dim)


def _convert(op: Operation, dim: int) -> bool:
    return _has_room(op, dim) and _counts(op.operands[0], dim)


def _has_room(op: Operation, dim: int) -> bool:
    """Whether the dtype reaches to the end of the dimension."""
    type = type_of(op.results[0].type)
    dtype = type.numpy
    return dtype.kind in "iu" and np.iinfo(dtype).max >= type.shape[dim] - 1


def _reshape(op: Operation, dim: int) -> bool:
    """The dimension stays what it is."""
    source, shape = type_of(op.operands[0].type).shape, type_of(op.results[0].type).shape
    before = prod(shape[:dim])
    same = [d for d, size in enumerate(source) if size == shape[dim] and prod(source[:d]) == before]
    return any(_counts(op.operands[0], d) for d in same)


def _broadcast(op: Operation, dim: int) -> bool:
    source, shape = type_of(op.operands[0].type).shape, type_of(op.results[0].type).shape
    dims = cast("tuple[int, ...]", python_of(op.properties["broadcast_dimensions"]))
    from_ = dims.index(dim) if dim in dims else None
    return from_ is not None and source[from_] == shape[dim] and _counts(op.operands[0], from_)


def _select(op: Operation, dim: int) -> bool:
    """select(i < 0, i + n, i), as JAX wraps indices."""
    wrong, other, kept = op.operands
    if _counts(other, dim) and _counts(kept, dim):
        return True
    if not _counts(kept, dim) or not made_by(wrong, hlo.compare.name):
        return False
    compared = owner(wrong)
    below = python_of(compared.properties["comparison_direction"]) == "LT"
    return below and _counts(compared.operands[0], dim) and _number(compared.operands[1]) == 0


def _clamp(op: Operation, dim: int) -> bool:
    low, value, high = op.operands
    least, most = _number(low), _number(high)
    if least is None or most is None or not _counts(value, dim):
        return False
    return least <= 0 and most >= type_of(value.type).shape[dim] - 1


def _number(value: SSAValue) -> int | None:
    """The whole number that a value is everywhere."""
    while made_by(value, hlo.broadcast_in_dim.name, hlo.reshape.name, hlo.convert.name):
        value = owner(value).operands[0]
    if not made_by(value, hlo.constant.name, sdy.constant.name):
        return None
    held = owner(value).properties["value"]
    if not isinstance(held, DenseAttr) or not held.data.value.is_splat:
        return None
    return int(held.data.value.array().flat[0])


_COUNTING: dict[str, Callable[[Operation, int], bool]] = {
    hlo.iota.name: _iota,
    hlo.reshape.name: _reshape,
    hlo.broadcast_in_dim.name: _broadcast,
    hlo.convert.name: _convert,
    hlo.select.name: _select,
    hlo.clamp.name: _clamp,
}
