"""Quantisation to integers and to floats of 8 bits, and back."""

from __future__ import annotations

from shardc.frontend.onnx.errors import Invalid
from shardc.frontend.onnx.node import Lower, Node
from shardc.frontend.onnx.operators.casts import saturated, target
from shardc.frontend.onnx.operators.maths import add, axis, calc, div, mul, sub
from shardc.frontend.onnx.operators.reductions import reduce
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Tensor
from shardc.graph.types import FP8, TensorType, is_integer
from shardc.ops import hlo
from shardc.semantics.arrays import integer_ends


def _bounds(dtype: str) -> tuple[int, int]:
    return integer_ends(TensorType((), dtype).numpy)


def requantise(e: Emitter, x: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
    """round(x / scale) + zero, to even, clamped to the type of `zero`."""
    return _saturate(e, e.op(hlo.round_nearest_even.name, div(e, x, scale)), zero)


def _saturate(e: Emitter, rounded: Tensor, zero: Tensor) -> Tensor:
    low, high = _bounds(zero.dtype)
    moved = add(e, rounded, e.cast(zero, rounded.dtype))
    clamped = calc(e, hlo.minimum, calc(e, hlo.maximum, moved, low), high)
    return e.cast(clamped, zero.dtype)


def _spread(n: Node, numbers: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Scales in the shape of x: one, one per place on an axis, or one per block of an axis."""
    e = n.e
    if numbers.type.size == 1 and numbers.rank < 2:
        return e.broadcast_to(e.reshape(numbers, ()), shape)
    dim = axis(n.int("axis", 1), len(shape))
    if numbers.rank == 1:
        return e.broadcast_in_dim(numbers, shape, (dim,))
    block = n.int("block_size")
    if numbers.rank != len(shape) or block < 1:
        raise Invalid(f"scales {numbers.type} for {list(shape)}")
    apart = (*numbers.shape[: dim + 1], block, *numbers.shape[dim + 1 :])
    kept = tuple(i for i in range(len(apart)) if i != dim + 1)
    whole = e.reshape(
        e.broadcast_in_dim(numbers, apart, kept),
        (*numbers.shape[:dim], numbers.shape[dim] * block, *numbers.shape[dim + 1 :]),
    )
    if whole.shape == shape:
        return whole
    return e.op(
        hlo.slice_.name,
        whole,
        start_indices=(0,) * len(shape),
        limit_indices=shape,
        strides=(1,) * len(shape),
    )


def _quantise(n: Node) -> Tensor:
    e, x = n.e, n.x(0)
    if n.has(2):
        dtype = n.type(2).dtype
    else:
        dtype = target(n, "output_dtype") if n.int("output_dtype") else "u8"
    if not is_integer(dtype) and dtype not in FP8:
        raise n.unsupported(f"to {dtype}")
    precision = target(n, "precision") if n.int("precision") else None
    kind = precision or ("f32" if n.type(1).dtype == "f32" or x.dtype == "i32" else x.dtype)
    scale = _spread(n, e.cast(n.x(1), kind), x.shape)
    if dtype in FP8:  # their zero point is zero
        spread = div(e, e.cast(x, kind), scale)
        return saturated(e, spread, dtype) if n.int("saturate", 1) else e.cast(spread, dtype)
    zero = _spread(n, n.x(2), x.shape) if n.has(2) else e.splat(0, TensorType(x.shape, dtype))
    rounded = e.op(hlo.round_nearest_even.name, div(e, e.cast(x, kind), scale))
    return _saturate(e, e.cast(rounded, "f32") if dtype in ("i16", "u16") else rounded, zero)


def _dequantise(n: Node) -> Tensor:
    """(x - zero) * scale, in the dtype of the scale unless the node says another."""
    e, x = n.e, n.x(0)
    if not is_integer(x.dtype) and x.dtype not in FP8:
        raise n.unsupported(f"of {x.dtype}")
    scale = _spread(n, n.x(1), x.shape)
    whole = x if x.dtype in FP8 else e.cast(x, "i32")
    if n.has(2) and x.dtype not in FP8:  # whose zero point is zero
        whole = sub(e, whole, e.cast(_spread(n, n.x(2), x.shape), "i32"))
    result = mul(e, e.cast(whole, scale.dtype), scale)
    return e.cast(result, target(n, "output_dtype")) if n.int("output_dtype") else result


def _dynamic(n: Node) -> list[Tensor]:
    """The scale from the range of x, which is widened to hold 0: y, scale, zero point."""
    e, x = n.e, n.x(0)
    dims = tuple(range(x.rank))
    high = calc(e, hlo.maximum, reduce(e, "max", x, dims), 0)
    low = calc(e, hlo.minimum, reduce(e, "min", x, dims), 0)
    scale = div(e, sub(e, high, low), 255.0)
    start = e.op(hlo.round_nearest_even.name, div(e, e.op(hlo.negate.name, low), scale))
    zero = e.cast(calc(e, hlo.minimum, calc(e, hlo.maximum, start, 0), 255), "u8")
    return [requantise(e, x, scale, zero), scale, zero]


OPERATORS: dict[str, Lower] = {
    "QuantizeLinear": _quantise,
    "DequantizeLinear": _dequantise,
    "DynamicQuantizeLinear": _dynamic,
}
