"""Reading and writing at computed places."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

import numpy as np

from shardc.frontend.onnx.errors import Invalid
from shardc.frontend.onnx.node import Lower, Node
from shardc.frontend.onnx.operators.maths import (
    add,
    axis,
    compare,
    concat,
    iota,
    mul,
    row,
    slice_,
    transpose,
    vector,
)
from shardc.frontend.onnx.values import Array
from shardc.frontend.text.builtins.gathers import take, take_along_axis
from shardc.frontend.text.builtins.indexing import wrapped
from shardc.frontend.text.builtins.sorting import sort_by
from shardc.frontend.text.emitter import Emitter, NewRegion
from shardc.frontend.text.values import Tensor
from shardc.graph.attrs import GatherDims, ScatterDims
from shardc.graph.types import TensorType
from shardc.ops import hlo

_REDUCTIONS = {
    "add": hlo.add.name,
    "mul": hlo.multiply.name,
    "max": hlo.maximum.name,
    "min": hlo.minimum.name,
}


def _gather(n: Node) -> Tensor:
    x = n.x(0)
    dim = axis(n.int("axis"), x.rank)
    places = n.value(1).array
    part = None if places is None else _part(n.e, x, dim, places)
    return take(n.e, x, n.x(1), dim) if part is None else part


def _part(e: Emitter, x: Tensor, dim: int, places: Array) -> Tensor | None:
    """The elements at known places, if they are one or at even distances."""
    size = x.shape[dim]
    if outside := [int(place) for place in places.reshape(-1) if not -size <= place < size]:
        raise Invalid(f"place {outside[0]} of {size}")
    found = [int(place) % size for place in places.reshape(-1)]
    if places.ndim == 0:
        return row(e, x, dim, found[0])
    steps = {after - before for before, after in pairwise(found)} or {1}
    if places.ndim > 1 or not found or len(steps) > 1 or min(steps) < 1:
        return None
    return slice_(e, x, dim, found[0], found[-1] + 1, min(steps))


def _gather_elements(n: Node) -> Tensor:
    e, x, indices = n.e, n.x(0), n.x(1)
    dim = axis(n.int("axis"), x.rank)
    for other in range(x.rank):
        if other != dim:
            x = slice_(e, x, other, 0, indices.shape[other])
    return take_along_axis(e, x, indices, dim)


def _gather_nd(n: Node) -> Tensor:
    """The slices of x at index vectors, for every place of the leading batch dimensions."""
    e, x, indices, batch = n.e, n.x(0), n.x(1), n.int("batch_dims")
    if not 0 <= batch < min(indices.rank, x.rank) or batch + indices.shape[-1] > x.rank:
        raise Invalid(f"indices {indices.type} of {x.type} with {batch} batch dimensions")
    count = indices.shape[-1]
    leading = tuple(range(batch))
    indexed = tuple(range(batch, batch + count))
    places = _wrapped(e, indices, [x.shape[dim] for dim in indexed])
    free = indices.rank - 1
    rest = x.rank - batch - count
    return e.op(
        hlo.gather.name,
        x,
        places,
        dimension_numbers=GatherDims(
            tuple(range(free, free + rest)), indexed, leading, leading, indexed, indices.rank - 1
        ),
        slice_sizes=tuple(1 if dim < batch + count else size for dim, size in enumerate(x.shape)),
        indices_are_sorted=False,
    )


def _wrapped(e: Emitter, indices: Tensor, sizes: Sequence[int]) -> Tensor:
    """Index vectors with the sizes added to the negative entries."""
    limits = e.broadcast_in_dim(vector(e, sizes, indices.dtype), indices.shape, (indices.rank - 1,))
    return e.op(hlo.select.name, compare(e, "LT", indices, 0), add(e, indices, limits), indices)


def combine(e: Emitter, kind: str, dtype: str) -> NewRegion:
    """What a scatter does with the old element and the new one."""
    scalar = TensorType((), dtype)

    def body(old: Tensor, new: Tensor) -> list[Tensor]:
        return [new if kind == "none" else e.op(_REDUCTIONS[kind], old, new)]

    return (scalar, scalar), body


def scatter(e: Emitter, x: Tensor, places: Tensor, updates: Tensor, dims: ScatterDims, kind: str) -> Tensor:
    (result,) = e.ops(
        hlo.scatter.name,
        x,
        places,
        updates,
        regions=[combine(e, kind, x.dtype)],
        weak=False,
        scatter_dimension_numbers=dims,
        indices_are_sorted=False,
        unique_indices=False,
    )
    return result


def _scatter_nd(n: Node) -> Tensor:
    e, x, indices, updates = n.e, n.x(0), n.x(1), n.x(2)
    if not indices.rank or indices.shape[-1] > x.rank:
        raise Invalid(f"indices {indices.type} of {x.type}")
    count, free = indices.shape[-1], indices.rank - 1
    indexed = tuple(range(count))
    window = tuple(range(free, free + x.rank - count))
    dims = ScatterDims(window, indexed, (), (), indexed, indices.rank - 1)
    places = _wrapped(e, indices, x.shape[:count])
    return scatter(e, x, places, updates, dims, n.text("reduction", "none"))


def _scatter_elements(n: Node) -> Tensor:
    """Every update goes where its own index says along one axis, and stays where it is along the others."""
    e, x, indices, updates = n.e, n.x(0), n.x(1), n.x(2)
    dim = axis(n.int("axis"), x.rank)
    places = wrapped(e, indices, x.shape[dim])
    columns = [
        e.reshape(places if i == dim else iota(e, indices.shape, i, indices.dtype), (*indices.shape, 1))
        for i in range(x.rank)
    ]
    every = tuple(range(x.rank))
    dims = ScatterDims((), every, (), (), every, x.rank)
    return scatter(e, x, concat(e, columns, x.rank), updates, dims, n.text("reduction", "none"))


def _top_k(n: Node) -> list[Tensor]:
    e, x = n.e, n.x(0)
    count = n.int("k") if n.version < 10 else n.numbers(1)[0]
    dim = axis(n.int("axis", -1), x.rank)
    index = iota(e, x.shape, dim)
    values, places = sort_by(e, "top_k", [x, index], dim, bool(n.int("largest", 1)))
    return [slice_(e, values, dim, 0, count), e.cast(slice_(e, places, dim, 0, count), "i64")]


def _compress(n: Node) -> Tensor:
    """The places where the condition holds, which must be known."""
    e, x = n.e, n.x(0)
    places = np.flatnonzero(n.known(1).reshape(-1))
    if "axis" not in n.attributes:
        return take(e, e.reshape(x, (x.type.size,)), vector(e, places), 0)
    return take(e, x, vector(e, places), axis(n.int("axis"), x.rank))


def _folded_only(n: Node) -> Tensor:
    """The result's shape depends on the elements: all of them must be known, and then fold.py has it."""
    for index, value in enumerate(n.inputs):
        if value is not None:
            n.known(index)
    raise n.unsupported("of large constants")


def _max_unpool(n: Node) -> Tensor:
    """Zeros, with the elements of x at their flat indices in the pooled image."""
    e, x, indices = n.e, n.x(0), n.x(1)
    kernel = n.ints("kernel_shape") or ()
    rank = len(kernel)
    strides = n.ints("strides") or (1,) * rank
    pads = n.ints("pads") or (0,) * (2 * rank)
    sizes = [
        (size - 1) * s + k - pads[i] - pads[rank + i]
        for i, (size, s, k) in enumerate(zip(x.shape[2:], strides, kernel, strict=True))
    ]
    shape = (*x.shape[:2], *sizes)
    stated = n.numbers(2) if n.has(2) else shape
    flat = e.splat(0, TensorType((prod(shape),), x.dtype))
    count = x.type.size
    dims = ScatterDims((), (0,), (), (), (0,), 1)
    done = scatter(e, flat, e.reshape(indices, (count, 1)), e.reshape(x, (count,)), dims, "none")
    image = e.reshape(done, shape)
    if tuple(stated) == shape:
        return image
    return e.op(
        hlo.pad.name,
        image,
        e.splat(0, TensorType((), x.dtype)),
        edge_padding_low=(0,) * x.rank,
        edge_padding_high=tuple(a - b for a, b in zip(stated, shape, strict=True)),
        interior_padding=(0,) * x.rank,
    )


def _tensor_scatter(n: Node) -> Tensor:
    """A cache with the update of every batch written at its own index, around the end if circular."""
    e, past, update = n.e, n.x(0), n.x(1)
    dim = axis(n.int("axis", -2), past.rank)
    count, size = update.shape[dim], past.shape[dim]
    start = n.x(2) if n.has(2) else e.splat(0, TensorType((past.shape[0],), "i64"))
    order = (0, dim, *(i for i in range(1, past.rank) if i != dim))
    back = tuple(order.index(i) for i in range(past.rank))
    moved, new = transpose(e, past, order), transpose(e, update, order)
    grid = (past.shape[0], count)
    place = add(e, iota(e, grid, 1, "i64"), e.broadcast_in_dim(e.cast(start, "i64"), grid, (0,)))
    if n.text("mode", "linear") == "circular":
        place = e.op(hlo.remainder.name, place, e.splat(size, place.type))
    columns = [e.reshape(t, (*grid, 1)) for t in (iota(e, grid, 0, "i64"), place)]
    dims = ScatterDims(tuple(range(2, past.rank)), (0, 1), (), (), (0, 1), 2)
    return transpose(e, scatter(e, moved, concat(e, columns, 2), new, dims, "none"), back)


def pixels(e: Emitter, x: Tensor, places: Sequence[Tensor]) -> Tensor:
    """x[n, places[0], places[1], …, :] for every place: x is [N, D1, …, C], places are [N, …]."""
    sizes = x.shape[1:-1]
    index = places[0]
    for size, place in zip(sizes[1:], places[1:], strict=True):
        index = add(e, mul(e, index, size), place)
    flat = e.reshape(x, (x.shape[0], prod(sizes), x.shape[-1]))
    return e.op(
        hlo.gather.name,
        flat,
        e.reshape(index, (*index.shape, 1)),
        dimension_numbers=GatherDims((index.rank,), (1,), (0,), (0,), (1,), index.rank),
        slice_sizes=(1, 1, x.shape[-1]),
        indices_are_sorted=False,
    )


OPERATORS: dict[str, Lower] = {
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "Scatter": _scatter_elements,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
    "TopK": _top_k,
    "Compress": _compress,
    **dict.fromkeys(("NonZero", "Unique", "NonMaxSuppression", "MelWeightMatrix"), _folded_only),
    "MaxUnpool": _max_unpool,
    "TensorScatter": _tensor_scatter,
}
