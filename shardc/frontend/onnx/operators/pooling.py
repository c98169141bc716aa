"""Pooling."""

from __future__ import annotations

from math import prod

import numpy as np

from shardc.frontend.onnx.errors import Invalid
from shardc.frontend.onnx.node import Lower, Node
from shardc.frontend.onnx.operators.maths import (
    abs_,
    add,
    calc,
    choose,
    compare,
    div,
    iota,
    literal,
    mul,
    pad,
)
from shardc.frontend.onnx.operators.reductions import mean
from shardc.frontend.onnx.operators.windows import Window, window
from shardc.frontend.text.builtins.reductions import combiner, identity, reduce
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Tensor
from shardc.graph.types import TensorType
from shardc.ops import hlo

_OPS = {"max": hlo.maximum.name, "sum": hlo.add.name}


def _window(n: Node) -> Window:
    x = n.type(0)
    kernel = n.ints("kernel_shape") or ()
    if x.rank < 3 or len(kernel) != x.rank - 2:
        raise Invalid(f"kernel_shape {list(kernel)} for {x}")
    return window(n, x.shape[2:], kernel)


def pooled(e: Emitter, kind: str, x: Tensor, w: Window) -> Tensor:
    """All windows of x combined."""
    ones = (1, 1)
    (result,) = e.ops(
        hlo.reduce_window.name,
        x,
        e.splat(identity(kind, x.dtype), TensorType((), x.dtype)),
        regions=[combiner(e, _OPS[kind], x.dtype)],
        window_dimensions=(*ones, *w.kernel),
        window_strides=(*ones, *w.strides),
        base_dilations=(1,) * x.rank,
        window_dilations=(*ones, *w.dilations),
        padding=((0, 0), (0, 0), *w.padding),
    )
    return result


def _max_pool(n: Node) -> Tensor | list[Tensor]:
    x, w = n.x(0), _window(n)
    best = pooled(n.e, "max", x, w)
    return [best, _places(n, x, w)] if n.wants(1) else best


def _places(n: Node, x: Tensor, w: Window) -> Tensor:
    """Where in x flattened the first greatest element of each window is."""
    e, counts = n.e, w.counts
    low = [a for a, _ in w.padding]
    high = [b for _, b in w.padding]
    lowest = identity("max", x.dtype)
    padded = pad(e, x, lowest, (0, 0, *low), (0, 0, *high))
    shape = (*x.shape[:2], *counts)
    best = e.splat(lowest, TensorType(shape, x.dtype))
    place = e.splat(0, TensorType(shape, "i64"))
    n.parts(prod(w.kernel))
    for taps in np.ndindex(*w.kernel):
        at = [tap * d for tap, d in zip(taps, w.dilations, strict=True)]
        part = e.op(
            hlo.slice_.name,
            padded,
            start_indices=(0, 0, *at),
            limit_indices=(
                *x.shape[:2],
                *(a + (c - 1) * s + 1 for a, c, s in zip(at, counts, w.strides, strict=True)),
            ),
            strides=(1, 1, *w.strides),
        )
        better = compare(e, "GT", part, best)
        best = choose(e, better, part, best)
        place = choose(e, better, _flat(n, x, w, at, shape), place)
    return place


def _flat(n: Node, x: Tensor, w: Window, at: list[int], shape: tuple[int, ...]) -> Tensor:
    """The flat index in x of one tap of every window."""
    e = n.e
    sizes = list(x.shape)
    strides = [prod(sizes[dim + 1 :]) for dim in range(x.rank)]
    if n.int("storage_order"):
        for dim in range(2, x.rank):
            strides[dim] = prod(sizes[2:dim])
    total = e.splat(0, TensorType(shape, "i64"))
    for dim in range(x.rank):
        place = iota(e, shape, dim, "i64")
        if dim > 1:
            place = add(e, mul(e, place, w.strides[dim - 2]), at[dim - 2] - w.padding[dim - 2][0])
        total = add(e, total, mul(e, place, strides[dim]))
    return total


def _average_pool(n: Node) -> Tensor:
    """The sum of a window, divided by the number of its elements, padding among them if the node says so."""
    e, x, w = n.e, n.x(0), _window(n)
    total = pooled(e, "sum", x, w)
    for dim in range(len(w.kernel)):
        count = _taps(n, w, dim)
        if (count == count[0]).all():
            total = div(e, total, float(count[0]))
        else:
            total = div(
                e, total, e.broadcast_in_dim(literal(e, count.astype(x.type.numpy)), total.shape, (dim + 2,))
            )
    return total


def _taps(n: Node, w: Window, dim: int) -> np.ndarray:
    """How many elements of a window count, for every position along a dimension; one number if all agree."""
    low, high = w.pads[dim]
    if not any(w.padding[dim]):
        return np.array([w.kernel[dim]])
    starts = np.arange(n.places(w.counts[dim])) * w.strides[dim] - low
    first, last = (-low, w.sizes[dim] + high) if n.int("count_include_pad") else (0, w.sizes[dim])
    before, behind = (
        np.clip(-((starts - end) // w.dilations[dim]), 0, w.kernel[dim]) for end in (first, last)
    )
    return np.maximum(behind - before, 1)


def _lp_pool(n: Node) -> Tensor:
    e, p = n.e, n.float("p", 2)
    powers = calc(e, hlo.power, abs_(e, n.x(0)), p)
    return calc(e, hlo.power, pooled(e, "sum", powers, _window(n)), 1 / p)


def _spatial(n: Node) -> tuple[int, ...]:
    return tuple(range(2, n.type(0).rank))


def _global_average(n: Node) -> Tensor:
    return mean(n.e, n.x(0), _spatial(n), True)


def _global_max(n: Node) -> Tensor:
    return reduce(n.e, "max", n.x(0), _spatial(n), True)


def _global_lp(n: Node) -> Tensor:
    e, p = n.e, n.float("p", 2)
    powers = calc(e, hlo.power, abs_(e, n.x(0)), p)
    return calc(e, hlo.power, reduce(e, "sum", powers, _spatial(n), True), 1 / p)


OPERATORS: dict[str, Lower] = {
    "MaxPool": _max_pool,
    "AveragePool": _average_pool,
    "LpPool": _lp_pool,
    "GlobalAveragePool": _global_average,
    "GlobalMaxPool": _global_max,
    "GlobalLpPool": _global_lp,
}
