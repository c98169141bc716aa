"""sdy-explicit-gather-scatter-batching: a dimension indexed by its own number becomes a batch dimension.

    %i = stablehlo.iota dim = 0 : tensor<4x1xi32>
    %c = stablehlo.concatenate %i, %o, dim = 1
    %0 = "stablehlo.gather"(%a, %c) <collapsed_slice_dims = [0], start_index_map = [0, 1], …>

becomes

    %0 = "stablehlo.gather"(%a, %o) <operand_batching_dims = [0], start_indices_batching_dims = [0],
                                     start_index_map = [1], …>

so that an axis may split it without communication. Only the first dimension of operand and indices is
looked at, as in Shardy. A select or clamp of an iota must leave it as it is: Shardy takes some that do not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from shardc.dialects.build import IRBuilder
from shardc.dialects.convert import python_of
from shardc.dialects.dense import DenseAttr
from shardc.dialects.locations import location_of
from shardc.dialects.snapshot import snapshot
from shardc.dialects.stablehlo.attributes import GatherAttr, ScatterAttr
from shardc.dialects.types import type_of
from shardc.graph.attrs import GatherDims, ScatterDims
from shardc.ops import hlo, sdy
from shardc.passes.shardy.layers import erase_dead
from shardc.passes.shardy.values import made_by


@dataclass(frozen=True)
class ExplicitBatching(ModulePass):
    """Rewrite gathers and scatters; unused operations go."""

    name = "sdy-explicit-gather-scatter-batching"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        builder = IRBuilder(op)
        for inner in list(op.walk()):
            if inner.name in _DIMS:
                _batch(inner, builder)
        erase_dead(snapshot(op), lambda node, graph: None)


_DIMS = {hlo.gather.name: "dimension_numbers", hlo.scatter.name: "scatter_dimension_numbers"}
"""What says how indices address the operand. The fields of both are the same ones, in the same order."""


def _batch(op: Operation, builder: IRBuilder) -> None:
    attr = op.properties[_DIMS[op.name]]
    assert isinstance(attr, GatherAttr | ScatterAttr)
    window, dropped, batching, _, mapped, vector = _fields(attr.data)
    at = len(op.results)  # the indices come after as many operands
    if batching or 0 not in dropped:
        return
    place = _place(op.operands[0], op.operands[at], mapped, vector)
    if place is None:
        return
    op.operands[at] = _without(op, builder, at, place, vector)
    rest, others = (tuple(d for d in dims if d != 0) for dims in (dropped, mapped))
    changed = (window, rest, (0,), (0,), others, vector)
    op.properties[_DIMS[op.name]] = (
        GatherAttr(GatherDims(*changed))
        if isinstance(attr, GatherAttr)
        else ScatterAttr(ScatterDims(*changed))
    )


Dims = tuple[int, ...]


def _fields(dims: GatherDims | ScatterDims) -> tuple[Dims, Dims, Dims, Dims, Dims, int]:
    """Of slices or updates, of the operand dropped and batching, of the indices batching, mapped, vector."""
    return tuple(getattr(dims, name) for name in dims.__slots__)  # pyright: ignore[reportReturnType]


def _place(operand: SSAValue, indices: SSAValue, mapped: tuple[int, ...], vector: int) -> int | None:
    """Which component of the indices is, at every place, the number of the place along dimension 0."""
    shape, sizes = type_of(indices.type).shape, type_of(operand.type).shape
    if not sizes or vector >= len(shape) or vector == 0 or shape[vector] < 2 or shape[0] != sizes[0]:
        return None
    if 0 not in mapped:
        return None
    place = mapped.index(0)
    if made_by(indices, hlo.concatenate.name):
        joined = _owner(indices)
        if python_of(joined.properties["dimension"]) != vector or len(joined.operands) != shape[vector]:
            return None
        indices = joined.operands[place]
    return place if _counts(indices) else None


def _without(op: Operation, builder: IRBuilder, at: int, place: int, vector: int) -> SSAValue:
    """The indices without one component."""
    indices = op.operands[at]
    builder.before(op)
    with builder.at(location_of(op.location)):
        if made_by(indices, hlo.concatenate.name):
            parts = [part for number, part in enumerate(_owner(indices).operands) if number != place]
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


def _counts(value: SSAValue) -> bool:
    """Whether each element is the number of its place along dimension 0."""
    if not isinstance(value, OpResult) or not type_of(value.type).shape:
        return False
    known = _COUNTING.get(value.op.name)
    return known is not None and known(value.op)


def _iota(op: Operation) -> bool:
    return python_of(op.properties["iota_dimension"]) == 0 and _has_room(op)


def _convert(op: Operation) -> bool:
    return _has_room(op) and _counts(op.operands[0])


def _has_room(op: Operation) -> bool:
    """Whether the dtype reaches to the end of dimension 0."""
    type = type_of(op.results[0].type)
    dtype = type.numpy
    return dtype.kind in "iu" and np.iinfo(dtype).max >= type.shape[0] - 1


def _reshape(op: Operation) -> bool:
    """Dimension 0 stays what it is."""
    source, shape = type_of(op.operands[0].type).shape, type_of(op.results[0].type).shape
    return bool(source) and source[0] == shape[0] and _counts(op.operands[0])


def _broadcast(op: Operation) -> bool:
    source, shape = type_of(op.operands[0].type).shape, type_of(op.results[0].type).shape
    dims = cast("tuple[int, ...]", python_of(op.properties["broadcast_dimensions"]))
    return bool(dims) and dims[0] == 0 and source[0] == shape[0] and _counts(op.operands[0])


def _select(op: Operation) -> bool:
    """select(i < 0, i + n, i), as JAX wraps indices."""
    wrong, other, kept = op.operands
    if _counts(other) and _counts(kept):
        return True
    if not _counts(kept) or not made_by(wrong, hlo.compare.name):
        return False
    compared = _owner(wrong)
    below = python_of(compared.properties["comparison_direction"]) == "LT"
    return below and _counts(compared.operands[0]) and _number(compared.operands[1]) == 0


def _clamp(op: Operation) -> bool:
    low, value, high = op.operands
    least, most = _number(low), _number(high)
    if least is None or most is None or not _counts(value):
        return False
    return least <= 0 and most >= type_of(value.type).shape[0] - 1


def _number(value: SSAValue) -> int | None:
    """The whole number that a value is everywhere."""
    while made_by(value, hlo.broadcast_in_dim.name, hlo.reshape.name, hlo.convert.name):
        value = _owner(value).operands[0]
    if not made_by(value, hlo.constant.name, sdy.constant.name):
        return None
    held = _owner(value).properties["value"]
    if not isinstance(held, DenseAttr) or not held.data.value.is_splat:
        return None
    return int(held.data.value.array().flat[0])


def _owner(value: SSAValue) -> Operation:
    assert isinstance(value, OpResult)
    return value.op


_COUNTING: dict[str, Callable[[Operation], bool]] = {
    hlo.iota.name: _iota,
    hlo.reshape.name: _reshape,
    hlo.broadcast_in_dim.name: _broadcast,
    hlo.convert.name: _convert,
    hlo.select.name: _select,
    hlo.clamp.name: _clamp,
}
