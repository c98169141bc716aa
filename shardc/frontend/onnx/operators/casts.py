"""Changes of element type."""

from __future__ import annotations

from collections.abc import Callable

from shardc.frontend.onnx.dtypes import DTYPES, dtype_name
from shardc.frontend.onnx.node import Lower, Node
from shardc.frontend.onnx.operators.maths import add, calc, choose, compare
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Tensor
from shardc.graph.types import FOUR_BITS, FP8, TensorType, bits_of, is_float
from shardc.layout.limits import finfo
from shardc.ops import hlo
from shardc.semantics.arrays import integer_ends


def cast_to(e: Emitter, x: Tensor, dtype: str) -> Tensor:
    """Anything but zero is true; floats lose their fraction."""
    if dtype == "bool" and x.dtype != "bool":
        return compare(e, "NE", x, 0)
    return e.cast(x, dtype)


def saturated(e: Emitter, x: Tensor, dtype: str) -> Tensor:
    """x as a float of 8 bits: what is too large is the largest there is."""
    wide = x if is_float(x.dtype) and x.dtype not in FP8 else e.cast(x, "f32")
    most = float(finfo(TensorType((), dtype).numpy).max)
    return e.cast(calc(e, hlo.minimum, calc(e, hlo.maximum, wide, -most), most), dtype)


def _fitting(e: Emitter, x: Tensor, dtype: str) -> Tensor:
    """Floats whose whole part an integer of 4 bits holds, and 0 in the place of others, as ONNX's own
    implementation has it; the document leaves it open."""
    least, most = integer_ends(TensorType((), dtype).numpy)
    above, below = compare(e, "GT", x, least - 1), compare(e, "LT", x, most + 1)
    return choose(e, e.op(hlo.and_.name, above, below), x, e.splat(0, x.type))


def _as_exponent(n: Node, x: Tensor, dtype: str) -> Tensor:
    """The power of two above, below or nearest to x, without its sign, by the exponent that an f32 has."""
    e = n.e
    wide = e.cast(x, "f32")
    bits = e.op(hlo.bitcast_convert.name, wide, result=wide.type.with_dtype("u32"))
    shifted = calc(e, hlo.shift_right_logical, bits, 23)
    exponent, rest = calc(e, hlo.and_, shifted, 0xFF), calc(e, hlo.and_, bits, 0x7FFFFF)
    mode = n.text("round_mode", "up")
    if mode not in _ROUNDED_UP:
        raise n.unsupported(f"with round_mode {mode}")
    up = _ROUNDED_UP[mode](e, exponent, rest)
    up = calc(e, hlo.and_, up, compare(e, "LT", exponent, 0xFE if n.int("saturate", 1) else 0xFF))
    found = e.cast(add(e, exponent, e.cast(up, "u32")), "u8")
    return e.op(hlo.bitcast_convert.name, found, result=found.type.with_dtype(dtype))


def _nearest(e: Emitter, exponent: Tensor, rest: Tensor) -> Tensor:
    """Half goes up, but for what is below the smallest power of two."""
    half = choose(e, compare(e, "EQ", exponent, 0), 0x400001, e.splat(0x400000, rest.type))
    return compare(e, "GE", rest, half)


_ROUNDED_UP: dict[str, Callable[[Emitter, Tensor, Tensor], Tensor]] = {
    "up": lambda e, exponent, rest: compare(e, "NE", rest, 0),
    "nearest": _nearest,
    "down": lambda e, exponent, rest: compare(e, "NE", rest, rest),
}
"""round_mode -> whether the exponent of an f32 is to be one more, by that and the bits of the fraction."""


def target(n: Node, attribute: str = "to") -> str:
    """The dtype that an attribute names; Unsupported if there is none."""
    number = n.int(attribute)
    if number not in DTYPES:
        raise n.unsupported(f"to {dtype_name(number)}")
    return DTYPES[number]


def _cast(n: Node) -> Tensor:
    return _cast_as(n, target(n))


def _cast_like(n: Node) -> Tensor:
    return _cast_as(n, n.type(1).dtype)


def _cast_as(n: Node, dtype: str) -> Tensor:
    x = n.x(0)
    if dtype in FOUR_BITS and is_float(x.dtype):
        return n.e.cast(_fitting(n.e, x, dtype), dtype)
    if x.dtype == dtype or dtype not in FP8:
        return cast_to(n.e, x, dtype)
    if dtype == "f8e8m0fnu":
        return _as_exponent(n, x, dtype)
    return saturated(n.e, x, dtype) if n.int("saturate", 1) else cast_to(n.e, x, dtype)


def _bit_cast(n: Node) -> Tensor:
    x, dtype = n.x(0), target(n)
    if bits_of(dtype) != bits_of(x.dtype):
        raise n.unsupported(f"from {x.dtype} to {dtype}, of another width")
    if x.dtype == dtype:
        return x
    if x.dtype == "bool":
        return n.e.cast(x, dtype)
    if dtype == "bool":
        raise n.unsupported("to bool")
    return n.e.op(hlo.bitcast_convert.name, x, result=x.type.with_dtype(dtype))


OPERATORS: dict[str, Lower] = {"Cast": _cast, "CastLike": _cast_like, "BitCast": _bit_cast}
