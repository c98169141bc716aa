"""Tensors from nothing: zeros, full, arange, linspace, eye; and meshgrid."""

from __future__ import annotations

from collections.abc import Callable

from shardc.frontend.text.builtins.elementwise import comparison
from shardc.frontend.text.emitter import Emitter, dtype_of
from shardc.frontend.text.values import Dtype, Number, Operand, Scalar, Tensor, Value
from shardc.graph.types import TensorType, is_integer
from shardc.ops import hlo


def filled_with(value: Scalar) -> Callable[[Emitter, tuple[int, ...], Dtype | None], Tensor]:
    """zeros and ones: f32 by default."""

    def lower(e: Emitter, shape: tuple[int, ...], dtype: Dtype | None = None) -> Tensor:
        return e.splat(value, TensorType(_shape(e, shape), dtype.name if dtype else "f32"))

    return lower


def full(e: Emitter, shape: tuple[int, ...], fill_value: Operand, dtype: Dtype | None = None) -> Tensor:
    """The dtype is that of the value where none is given."""
    name = dtype.name if dtype else dtype_of(fill_value)[0]
    shape = _shape(e, shape)
    if isinstance(fill_value, Tensor):
        return e.broadcast_to(e.cast(fill_value, name), shape)
    return e.splat(fill_value, TensorType(shape, name))


def like(value: Scalar) -> Callable[[Emitter, Tensor, Dtype | None], Tensor]:
    """zeros_like and ones_like."""

    def lower(e: Emitter, x: Tensor, dtype: Dtype | None = None) -> Tensor:
        return e.splat(value, x.type.with_dtype(dtype.name) if dtype else x.type)

    return lower


def full_like(e: Emitter, x: Tensor, fill_value: Operand, dtype: Dtype | None = None) -> Tensor:
    return full(e, x.shape, fill_value, dtype or Dtype(x.dtype))


def arange(
    e: Emitter, start: Scalar, stop: Scalar | None = None, step: Scalar = 1, dtype: Dtype | None = None
) -> Tensor:
    """start, start + step, … below stop; arange(n) is 0 to n - 1. i32, or f32 if a bound is a float."""
    first, last = (0, start) if stop is None else (start, stop)
    if step == 0:
        raise e.error("the step of arange is 0")
    floats = any(isinstance(bound, float) for bound in (first, last, step))
    count = _count(e, first, last, step)
    type = TensorType((count,), dtype.name if dtype else "f32" if floats else "i32")
    if not count:
        return e.splat(0, type)
    with e.group("arange"):
        numbers = e.op(hlo.iota.name, result=type, iota_dimension=0)
        if step != 1:
            numbers = e.op(hlo.multiply.name, numbers, e.splat(step, type))
        if first != 0:
            numbers = e.op(hlo.add.name, numbers, e.splat(first, type))
    return numbers


def _count(e: Emitter, first: Scalar, last: Scalar, step: Scalar) -> int:
    try:
        return max(0, -int(-(last - first) // step))
    except (OverflowError, ValueError):
        raise e.error("arange has no end") from None


def linspace(
    e: Emitter,
    start: Scalar,
    stop: Scalar,
    num: int = 50,
    endpoint: bool = True,
    dtype: Dtype | None = None,
) -> Tensor:
    """num numbers from start to stop, equally far apart; the last is stop, or one step before it. f32."""
    type = TensorType(_shape(e, (num,)), "f32")
    name = dtype.name if dtype else "f32"
    if num == 0:
        return e.splat(0, type.with_dtype(name))
    with e.group("linspace"):
        numbers = e.op(hlo.iota.name, result=type, iota_dimension=0)
        step = (stop - start) / max(1, num - endpoint)
        spaced = e.op(hlo.multiply.name, numbers, e.splat(step, type))
        result = e.op(hlo.add.name, spaced, e.splat(start, type))
        if endpoint and num > 1:
            last = comparison(e, numbers, e.splat(num - 1, type), "EQ")
            result = e.op(hlo.select.name, last, e.splat(stop, type), result)
        return e.cast(e.op(hlo.floor.name, result) if is_integer(name) else result, name)


def meshgrid(e: Emitter, *xi: Operand, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Each vector along a dimension of its own; "xy" swaps the first two dimensions, "ij" doesn't."""
    if indexing not in ("xy", "ij"):
        raise e.error(f'indexing is "xy" or "ij", not "{indexing}"')
    vectors = [e.tensor(x) for x in xi]
    for vector in vectors:
        if vector.rank != 1:
            raise e.error(f"meshgrid takes vectors, not {vector.type}")
    dims = list(range(len(vectors)))
    if indexing == "xy":
        dims[:2] = reversed(dims[:2])
    shape = [0] * len(vectors)
    for vector, dim in zip(vectors, dims, strict=True):
        shape[dim] = vector.type.size
    return tuple(
        e.broadcast_in_dim(vector, tuple(shape), (dim,)) for vector, dim in zip(vectors, dims, strict=True)
    )


def array(e: Emitter, values: Value, dtype: Dtype | None = None) -> Tensor:
    """A constant from nested tuples of numbers, all rows of one length."""
    shape: list[int] = []
    numbers: tuple[Value, ...] = (values,)
    while any(isinstance(item, tuple) for item in numbers):
        rows = [item for item in numbers if isinstance(item, tuple)]
        if len(rows) < len(numbers) or len({len(row) for row in rows}) > 1:
            raise e.error("the rows of an array have one length")
        shape.append(len(rows[0]))
        numbers = tuple(item for row in rows for item in row)
    scalars = [item for item in numbers if isinstance(item, Number)]
    if len(scalars) < len(numbers):
        raise e.error("an array is made of numbers", "stack((x, y)) joins tensors")
    common = dtype.name if dtype else e.common(*scalars)[0] if scalars else "f32"
    return e.constant(scalars, TensorType(tuple(shape), common))


def eye(e: Emitter, N: int, M: int | None = None, dtype: Dtype | None = None) -> Tensor:
    """Ones on the diagonal of an N x M matrix."""
    type = TensorType(_shape(e, (N, N if M is None else M)), "i32")
    with e.group("eye"):
        rows, columns = (e.op(hlo.iota.name, result=type, iota_dimension=dim) for dim in (0, 1))
        return e.cast(comparison(e, rows, columns, "EQ"), dtype.name if dtype else "f32")


def iota(e: Emitter, dtype: Dtype, shape: tuple[int, ...], dimension: int) -> Tensor:
    """jax.lax.broadcasted_iota: each element's index along one dimension."""
    if not 0 <= dimension < len(shape):
        raise e.error(f"iota has no dimension {dimension}")
    return e.op(hlo.iota.name, result=TensorType(_shape(e, shape), dtype.name), iota_dimension=dimension)


def _shape(e: Emitter, shape: tuple[int, ...]) -> tuple[int, ...]:
    if any(size < 0 for size in shape):
        raise e.error(f"a negative size in shape {shape}")
    return shape
