"""Reductions, and what is made of them."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from shardc.frontend.onnx.node import Lower, Node
from shardc.frontend.onnx.operators.maths import (
    abs_,
    axes,
    axis,
    compare,
    div,
    iota,
    mul,
    pad,
    slice_,
    sqrt,
    sub,
    wide,
)
from shardc.frontend.text.builtins.reductions import (
    argmax,
    argmin,
    combiner,
    identity,
    log_softmax,
    logsumexp,
    reduce,
    restore,
    softmax,
    stretch,
)
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Tensor
from shardc.graph.types import TensorType, is_float
from shardc.ops import hlo

Reduce = Callable[[Emitter, Tensor, tuple[int, ...], bool], Tensor]


def reduced_axes(n: Node) -> tuple[int, ...]:
    """The axes: an attribute, later an input; none means all, or none of them if the node says so."""
    rank = n.type(0).rank
    given = n.ints("axes")
    if given is None and n.has(1):
        given = n.numbers(1, "the reduced axes depend on the value of")
    if not given:
        return () if n.int("noop_with_empty_axes") else tuple(range(rank))
    return axes(given, rank)


def _reduction(function: Reduce) -> Lower:
    def lower(n: Node) -> Tensor:
        x = n.x(0)
        result = function(n.e, wide(n.e, x), reduced_axes(n), bool(n.int("keepdims", 1)))
        return n.e.cast(result, x.dtype)

    return lower


def _plain(kind: str) -> Reduce:
    return lambda e, x, dims, keep: reduce(e, kind, x, dims, keep)


def sum_(e: Emitter, x: Tensor, dims: tuple[int, ...], keep: bool = False) -> Tensor:
    return reduce(e, "sum", x, dims, keep)


def _extreme(kind: str) -> Reduce:
    """Of bools: all or any."""
    logic = {"max": "or", "min": "and"}[kind]
    return lambda e, x, dims, keep: reduce(e, logic if x.dtype == "bool" else kind, x, dims, keep)


def mean(e: Emitter, x: Tensor, dims: tuple[int, ...], keep: bool = False) -> Tensor:
    """The sum, divided by the count; of integers in f32."""
    floats = wide(e, x) if is_float(x.dtype) else e.cast(x, "f32")
    total = reduce(e, "sum", floats, dims, keep)
    return e.cast(div(e, total, float(prod(x.shape[dim] for dim in dims))), x.dtype)


def _l1(e: Emitter, x: Tensor, dims: tuple[int, ...], keep: bool) -> Tensor:
    return reduce(e, "sum", abs_(e, x), dims, keep)


def square_sum(e: Emitter, x: Tensor, dims: tuple[int, ...], keep: bool = False) -> Tensor:
    return reduce(e, "sum", mul(e, x, x), dims, keep)


def _floats(function: Reduce) -> Reduce:
    """Integers are met in f64."""

    def lower(e: Emitter, x: Tensor, dims: tuple[int, ...], keep: bool) -> Tensor:
        return function(e, x if is_float(x.dtype) else e.cast(x, "f64"), dims, keep)

    return lower


def _l2(e: Emitter, x: Tensor, dims: tuple[int, ...], keep: bool) -> Tensor:
    return sqrt(e, square_sum(e, x, dims, keep))


def _log_sum(e: Emitter, x: Tensor, dims: tuple[int, ...], keep: bool) -> Tensor:
    return e.op(hlo.log.name, reduce(e, "sum", x, dims, keep))


def _log_sum_exp(e: Emitter, x: Tensor, dims: tuple[int, ...], keep: bool) -> Tensor:
    return logsumexp(e, x, dims, keep)


# ---- positions


def _arg(kind: str) -> Lower:
    function = argmax if kind == "max" else argmin

    def lower(n: Node) -> Tensor:
        e, x = n.e, n.x(0)
        dim = axis(n.int("axis"), x.rank)
        last = n.int("select_last_index")
        turned = e.op(hlo.reverse.name, x, dimensions=(dim,)) if last else x
        place: Tensor = function(e, turned, dim, bool(n.int("keepdims", 1)))
        if last:
            place = sub(e, x.shape[dim] - 1, place)
        return e.cast(place, "i64")

    return lower


# ---- running sums


def _running(kind: str) -> Lower:
    def lower(n: Node) -> Tensor:
        e, x = n.e, n.x(0)
        dim = axis(n.numbers(1, "the axis depends on the value of")[0], x.rank)
        return running(e, kind, x, dim, bool(n.int("exclusive")), bool(n.int("reverse")))

    return lower


def running(e: Emitter, kind: str, x: Tensor, dim: int, exclusive: bool, reverse: bool) -> Tensor:
    """All elements up to each one combined; `exclusive` without it, `reverse` from the end."""
    size = x.shape[dim]
    if not x.type.size:
        return x
    ones = (1,) * x.rank
    start = identity(kind, x.dtype)
    edge = (0, size - 1) if reverse else (size - 1, 0)
    (result,) = e.ops(
        hlo.reduce_window.name,
        x,
        e.splat(start, TensorType((), x.dtype)),
        regions=[combiner(e, {"sum": hlo.add.name, "prod": hlo.multiply.name}[kind], x.dtype)],
        window_dimensions=tuple(size if i == dim else 1 for i in range(x.rank)),
        window_strides=ones,
        base_dilations=ones,
        window_dilations=ones,
        padding=tuple(edge if i == dim else (0, 0) for i in range(x.rank)),
    )
    if not exclusive:
        return result
    kept = slice_(e, result, dim, 1, size) if reverse else slice_(e, result, dim, 0, size - 1)
    widths = tuple(int(i == dim) for i in range(x.rank))
    none = (0,) * x.rank
    return pad(e, kept, start, *((none, widths) if reverse else (widths, none)))


# ---- softmax


def softmax_axes(n: Node) -> tuple[int, ...]:
    """One axis from opset 13 on; before, that axis and all behind it."""
    rank = n.type(0).rank
    dim = axis(n.int("axis", -1), rank)
    return (dim,) if n.version >= 13 else tuple(range(dim, rank))


def _softmax(n: Node) -> Tensor:
    return softmax(n.e, n.x(0), softmax_axes(n))


def _log_softmax(n: Node) -> Tensor:
    return log_softmax(n.e, n.x(0), softmax_axes(n))


def _hardmax(n: Node) -> Tensor:
    """1 at the first greatest element, 0 elsewhere."""
    e, x, dims = n.e, n.x(0), softmax_axes(n)
    flat = e.reshape(x, (*x.shape[: dims[0]], prod(x.shape[dim] for dim in dims), *x.shape[dims[-1] + 1 :]))
    best = stretch(e, argmax(e, flat, dims[0], False), flat.shape, (dims[0],))
    same = compare(e, "EQ", best, iota(e, flat.shape, dims[0]))
    return e.reshape(e.cast(same, x.dtype), x.shape)


def moments(e: Emitter, x: Tensor, dims: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """x less its mean, and its variance, both with the axes kept."""
    center = sub(e, x, mean(e, x, dims, True))
    return center, mean(e, mul(e, center, center), dims, True)


__all__ = ["OPERATORS", "mean", "moments", "reduce", "restore", "running", "square_sum", "sum_"]

OPERATORS: dict[str, Lower] = {
    "ReduceSum": _reduction(sum_),
    "ReduceProd": _reduction(_plain("prod")),
    "ReduceMax": _reduction(_extreme("max")),
    "ReduceMin": _reduction(_extreme("min")),
    "ReduceMean": _reduction(mean),
    "ReduceL1": _reduction(_l1),
    "ReduceL2": _reduction(_floats(_l2)),
    "ReduceSumSquare": _reduction(square_sum),
    "ReduceLogSum": _reduction(_floats(_log_sum)),
    "ReduceLogSumExp": _reduction(_floats(_log_sum_exp)),
    "ArgMax": _arg("max"),
    "ArgMin": _arg("min"),
    "CumSum": _running("sum"),
    "CumProd": _running("prod"),
    "Softmax": _softmax,
    "LogSoftmax": _log_softmax,
    "Hardmax": _hardmax,
}
