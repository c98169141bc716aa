"""What moves elements, on stacks: the same with the dimension of the slices in front, which stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from shardc.graph.attrs import Dense
from shardc.layout import Sharding
from shardc.layout.sharding import Dim
from shardc.ops import hlo, sdy
from shardc.ops.batching import Batch, Batching
from shardc.ops.definition import OpDef
from shardc.ops.derivatives.terms import Term


def ints(b: Batch, name: str) -> tuple[int, ...]:
    """An attribute that is an array of integers."""
    return tuple(cast("tuple[int, ...]", b.op.attrs[name]))


def behind(dims: Sequence[int]) -> tuple[int, ...]:
    """Dimensions of a slice as those of a stack."""
    return tuple(dim + 1 for dim in dims)


def alike(b: Batch) -> Sequence[Term]:
    """All operands as stacks, and nothing else changed."""
    return b.build(b.every())


def dimensions(*names: str) -> Batching:
    """All operands as stacks; these attributes name dimensions."""

    def run(b: Batch) -> Sequence[Term]:
        shifted: dict[str, object] = {}
        for name in names:
            value = b.op.attrs[name]
            shifted[name] = value + 1 if isinstance(value, int) else behind(ints(b, name))
        return b.build(b.every(), **shifted)

    return run


def attributes(b: Batch, first: Mapping[str, object]) -> dict[str, object]:
    """Attributes with an entry per dimension, those that are there, with one more in front."""
    return {
        name: (entry, *cast("tuple[object, ...]", b.op.attrs[name]))
        for name, entry in first.items()
        if name in b.op.attrs
    }


def _slice(b: Batch) -> Sequence[Term]:
    first = {"start_indices": 0, "limit_indices": b.size, "strides": 1}
    return b.build(b.given, **attributes(b, first))


def _broadcast(b: Batch) -> Sequence[Term]:
    return b.build(b.given, broadcast_dimensions=(0, *behind(ints(b, "broadcast_dimensions"))))


def _transpose(b: Batch) -> Sequence[Term]:
    return b.build(b.given, permutation=(0, *behind(ints(b, "permutation"))))


_PADDING = ("edge_padding_low", "edge_padding_high", "interior_padding")


def _pad(b: Batch) -> Sequence[Term]:
    """Where each slice has a number of its own around it, that is chosen where the padding is."""
    around: dict[str, Any] = {name: (0, *ints(b, name)) for name in _PADDING}
    x: Term = b.full(0)
    if 1 not in b.stacks:
        return b.build([x, b.given[1]], **around)
    value: Term = b.given[1]
    scalar = value.type.with_shape(())
    (padded,) = b.build([x, value.filled(0, scalar)], **around)
    inside = truth(x, True, x.shape)
    outside = inside.op(hlo.pad, truth(x, False, ()), **around)
    return [padded.where(outside, value.broadcast(padded.shape, (0,)))]


def truth(like: Term, value: bool, shape: tuple[int, ...]) -> Term:
    """One truth value as a tensor."""
    type = like.type.with_dtype("bool").with_shape(shape)
    dense = Dense(np.array(value), shape)
    return Term(like.b, like.b.one(hlo.constant.name, result=type, value=dense))


def _barrier(b: Batch) -> Sequence[Term]:
    """Values that are not stacks stay what they are."""
    first, *others = b.every()
    return first.ops(hlo.optimization_barrier, *others, results=b.results, **b.op.attrs)


def _constraint(b: Batch) -> Sequence[Term]:
    """What is said of a slice is said of the stack, and nothing of the dimension of the slices."""
    sharding = cast(Sharding, b.op.attrs["sharding"])
    dims = (Dim(open=True), *sharding.dims)
    stacked = Sharding(sharding.mesh, dims, sharding.replicated, sharding.unreduced, sharding.kind)
    return b.build(b.given, sharding=stacked)


MOVEMENT: dict[OpDef, Batching] = {
    hlo.bitcast_convert: alike,
    hlo.broadcast_in_dim: _broadcast,
    hlo.concatenate: dimensions("dimension"),
    hlo.optimization_barrier: _barrier,
    hlo.pad: _pad,
    hlo.reshape: alike,
    hlo.reverse: dimensions("dimensions"),
    hlo.slice_: _slice,
    hlo.transpose: _transpose,
    sdy.sharding_constraint: _constraint,
}
