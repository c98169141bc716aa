"""Reductions over axes, and what is made of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod as product

from shardc.frontend.text.builtins.elementwise import comparison, no_order, truth
from shardc.frontend.text.emitter import Emitter, NewRegion
from shardc.frontend.text.values import Dims, Scalar, Tensor
from shardc.graph.types import TensorType, is_complex, is_float, is_narrow
from shardc.graph.types import identity as neutral
from shardc.ops import chlo, hlo

_OPS = {
    "sum": hlo.add.name,
    "prod": hlo.multiply.name,
    "max": hlo.maximum.name,
    "min": hlo.minimum.name,
    "and": hlo.and_.name,
    "or": hlo.or_.name,
}


def identity(kind: str, dtype: str) -> Scalar:
    """What a reduction starts from."""
    if kind in ("sum", "or"):
        return 0
    if kind in ("prod", "and"):
        return 1
    return neutral(kind, dtype).item()


def combined_by(kind: str) -> str:
    """The operation of a kind of reduction."""
    return _OPS[kind]


def reduce(e: Emitter, kind: str, tensor: Tensor, dims: tuple[int, ...], keepdims: bool = False) -> Tensor:
    """One stablehlo.reduce; no operation over no dimension."""
    if kind in ("max", "min") and is_complex(tensor.dtype):
        raise no_order(e, tensor)
    if dims:
        init = e.splat(identity(kind, tensor.dtype), TensorType((), tensor.dtype))
        (result,) = e.ops(
            hlo.reduce.name,
            tensor,
            init,
            regions=[combiner(e, _OPS[kind], tensor.dtype)],
            weak=tensor.weak,
            dimensions=dims,
        )
    else:
        result = tensor
    return restore(e, result, tensor.shape, dims) if keepdims else result


def combiner(e: Emitter, op: str, dtype: str) -> NewRegion:
    """A body that combines two scalars with one operation."""
    scalar = TensorType((), dtype)

    def body(*args: Tensor) -> list[Tensor]:
        return [e.op(op, *args)]

    return (scalar, scalar), body


def restore(e: Emitter, tensor: Tensor, shape: tuple[int, ...], dims: tuple[int, ...]) -> Tensor:
    """Put the reduced dimensions back with size 1."""
    return e.reshape(tensor, tuple(1 if i in dims else size for i, size in enumerate(shape)))


def stretch(e: Emitter, tensor: Tensor, shape: tuple[int, ...], dims: tuple[int, ...]) -> Tensor:
    """Repeat a reduced tensor along the reduced dimensions."""
    return e.broadcast_in_dim(tensor, shape, tuple(i for i in range(len(shape)) if i not in dims))


def axes_of(e: Emitter, axis: Dims, rank: int) -> tuple[int, ...]:
    """Sorted dimensions of an axis argument; None means all."""
    if axis is None:
        return tuple(range(rank))
    dims = sorted(axis_of(e, one, rank) for one in ((axis,) if isinstance(axis, int) else axis))
    if len(set(dims)) < len(dims):
        raise e.error(f"axis {axis} names a dimension twice")
    return tuple(dims)


def axis_of(e: Emitter, axis: int, rank: int) -> int:
    """A dimension from 0; negative ones count from the end."""
    if not -rank <= axis < rank:
        hint = (
            f"its axes are 0 to {rank - 1}, or -{rank} to -1 from the end" if rank else "it has no dimensions"
        )
        raise e.error(f"axis {axis} is out of range for a tensor of rank {rank}", hint)
    return axis % rank


def wide(e: Emitter, tensor: Tensor) -> Tensor:
    """What sums and products are computed in: f32 for shorter floats, i32 for shorter integers and bool."""
    if is_narrow(tensor.dtype):
        return e.cast(tensor, "f32")
    if tensor.dtype in ("bool", "i8", "i16"):
        return e.cast(tensor, "i32")
    return e.cast(tensor, "u32") if tensor.dtype in ("u8", "u16") else tensor


def _accumulate(kind: str) -> Callable[[Emitter, Tensor, Dims, bool], Tensor]:
    def lower(e: Emitter, x: Tensor, axis: Dims = None, keepdims: bool = False) -> Tensor:
        dims = axes_of(e, axis, x.rank)
        result = reduce(e, kind, wide(e, x), dims, keepdims)
        return e.cast(result, x.dtype) if is_float(x.dtype) else result

    return lower


sum_ = _accumulate("sum")
prod = _accumulate("prod")


def _extreme(kind: str) -> Callable[[Emitter, Tensor, Dims, bool], Tensor]:
    def lower(e: Emitter, x: Tensor, axis: Dims = None, keepdims: bool = False) -> Tensor:
        dims = axes_of(e, axis, x.rank)
        _not_empty(e, kind, x, dims)
        return reduce(e, kind, x, dims, keepdims)

    return lower


max_ = _extreme("max")
min_ = _extreme("min")


def _not_empty(e: Emitter, name: str, x: Tensor, dims: tuple[int, ...]) -> None:
    if product(x.shape[dim] for dim in dims) == 0:
        raise e.error(f"{name} of no elements: {x.type}")


def _logical(kind: str) -> Callable[[Emitter, Tensor, Dims, bool], Tensor]:
    def lower(e: Emitter, x: Tensor, axis: Dims = None, keepdims: bool = False) -> Tensor:
        return reduce(e, kind, truth(e, x), axes_of(e, axis, x.rank), keepdims)

    return lower


all_ = _logical("and")
any_ = _logical("or")


def mean(e: Emitter, x: Tensor, axis: Dims = None, keepdims: bool = False) -> Tensor:
    """The sum, divided by the count."""
    with e.group("mean"):
        return mean_over(e, x, axes_of(e, axis, x.rank), keepdims)


def mean_over(e: Emitter, x: Tensor, dims: tuple[int, ...], keepdims: bool) -> Tensor:
    floats = wide(e, e.inexact(x))
    total = reduce(e, "sum", floats, dims, keepdims)
    count = float(product(x.shape[dim] for dim in dims))
    result = e.op(hlo.divide.name, *e.together(total, count))
    return e.cast(result, x.dtype) if is_float(x.dtype) else result


def var(e: Emitter, x: Tensor, axis: Dims = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """The mean squared distance from the mean; the sum is divided by count - ddof."""
    with e.group("var"):
        dims = axes_of(e, axis, x.rank)
        floats = wide(e, e.inexact(x))
        center = stretch(e, mean_over(e, floats, dims, False), x.shape, dims)
        distance = e.op(hlo.subtract.name, floats, center)
        total = reduce(e, "sum", _square(e, distance), dims, keepdims)
        count = product(x.shape[dim] for dim in dims) - ddof
        if count <= 0:
            raise e.error(f"var of {count + ddof} elements with ddof={ddof}")
        result = e.op(hlo.divide.name, *e.together(total, float(count)))
        return e.cast(result, x.dtype) if is_float(x.dtype) else result


def _square(e: Emitter, x: Tensor) -> Tensor:
    """x * x, and of complex numbers the square of their size."""
    if not is_complex(x.dtype):
        return e.op(hlo.multiply.name, x, x)
    return e.op(hlo.real.name, e.op(hlo.multiply.name, x, e.op(chlo.conj.name, x)))


def std(e: Emitter, x: Tensor, axis: Dims = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    return e.op(hlo.sqrt.name, var(e, x, axis, ddof, keepdims))


def _arg(kind: str) -> Callable[[Emitter, Tensor, int | None, bool], Tensor]:
    direction = "GT" if kind == "max" else "LT"

    def better(e: Emitter, *args: Tensor) -> list[Tensor]:
        """The more extreme value; NaN before all others, then the smaller index."""
        a, i, b, j = args
        wins = comparison(e, a, b, direction)
        if is_float(a.dtype):
            wins = e.op(hlo.or_.name, wins, comparison(e, a, a, "NE"))
        ties = e.op(hlo.and_.name, comparison(e, a, b, "EQ"), comparison(e, i, j, "LT"))
        first = e.op(hlo.or_.name, wins, ties)
        return [e.op(hlo.select.name, wins, a, b), e.op(hlo.select.name, first, i, j)]

    def lower(e: Emitter, x: Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor:
        whole = x.shape
        with e.group(f"arg{kind}"):
            if axis is None:
                x = e.reshape(x, (x.type.size,))
            dim = axis_of(e, axis or 0, x.rank)
            _not_empty(e, f"arg{kind}", x, (dim,))
            index = e.op(hlo.iota.name, result=x.type.with_dtype("i32"), iota_dimension=dim)
            value, number = TensorType((), x.dtype), TensorType((), "i32")
            start = e.splat(identity(kind, x.dtype), value), e.splat(0, number)
            _, result = e.ops(
                hlo.reduce.name,
                x,
                index,
                *start,
                regions=[((value, number, value, number), partial(better, e))],
                weak=False,
                dimensions=(dim,),
            )
            return restore(e, result, whole, axes_of(e, axis, len(whole))) if keepdims else result

    return lower


argmax = _arg("max")
argmin = _arg("min")

# ---- softmax and its kin


def softmax(e: Emitter, x: Tensor, axis: Dims = -1) -> Tensor:
    """exp(x - max x) / sum of it."""
    with e.group("softmax"):
        shifted, dims = _shifted(e, x, axis)
        weights = e.op(hlo.exponential.name, shifted)
        total = stretch(e, reduce(e, "sum", weights, dims), x.shape, dims)
        return e.op(hlo.divide.name, weights, total)


def log_softmax(e: Emitter, x: Tensor, axis: Dims = -1) -> Tensor:
    """x - max x - log of the sum of exp of that."""
    with e.group("log_softmax"):
        shifted, dims = _shifted(e, x, axis)
        total = reduce(e, "sum", e.op(hlo.exponential.name, shifted), dims)
        return e.op(hlo.subtract.name, shifted, stretch(e, e.op(hlo.log.name, total), x.shape, dims))


def _shifted(e: Emitter, x: Tensor, axis: Dims) -> tuple[Tensor, tuple[int, ...]]:
    floats = e.inexact(x)
    dims = axes_of(e, axis, x.rank)
    top = stretch(e, reduce(e, "max", floats, dims), x.shape, dims)
    return e.op(hlo.subtract.name, floats, top), dims


def logsumexp(e: Emitter, x: Tensor, axis: Dims = None, keepdims: bool = False) -> Tensor:
    """log of the sum of exp(x), shifted by the maximum where that is finite."""
    with e.group("logsumexp"):
        floats = e.inexact(x)
        dims = axes_of(e, axis, x.rank)
        top = reduce(e, "max", floats, dims)
        finite = e.op(hlo.is_finite.name, top)
        top = e.op(hlo.select.name, finite, top, e.splat(0.0, top.type))
        shifted = e.op(hlo.subtract.name, floats, stretch(e, top, x.shape, dims))
        total = reduce(e, "sum", e.op(hlo.exponential.name, shifted), dims)
        result = e.op(hlo.add.name, e.op(hlo.log.name, total), top)
        return restore(e, result, x.shape, dims) if keepdims else result


def count_nonzero(e: Emitter, x: Tensor, axis: Dims = None, keepdims: bool = False) -> Tensor:
    return sum_(e, truth(e, x), axis, keepdims)
