"""Random numbers, those of jax.random: threefry2x32 of a key and of the number of each element.

An element's number follows from its place, so a tensor that is split is made where it lies, and is the same
for every sharding. A key is a u32[2].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from shardc.frontend.text.builtins import shapes
from shardc.frontend.text.builtins.elementwise import comparison
from shardc.frontend.text.builtins.reductions import argmax, axis_of
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Dtype, Operand, Scalar, Tensor
from shardc.graph.types import TensorType, is_float
from shardc.ops import OpDef, chlo, func, hlo

KEY = TensorType((2,), "u32")
_WORD = TensorType((), "u32")
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_BITS = {"f64": (64, 52), "f32": (32, 23), "f16": (16, 10), "bf16": (16, 7)}
"""The bits of a float, and of its mantissa."""

_TINY = {"f64": 2.0**-1022, "f32": 2.0**-126, "f16": 2.0**-14, "bf16": 2.0**-126}
"""The least normal numbers."""


def key(e: Emitter, seed: Operand) -> Tensor:
    """The key of a seed: jax.random.key, as its data."""
    if isinstance(seed, Tensor):
        if seed.type not in (TensorType((), "i32"), _WORD):
            raise e.error(f"the seed of a key is a whole number or an i32[], not {seed.type}")
        high, low = e.splat(0, KEY.with_shape((1,))), e.reshape(e.cast(seed, "u32"), (1,))
        return e.op(hlo.concatenate.name, high, low, dimension=0, weak=False)
    if not isinstance(seed, int) or isinstance(seed, bool) or not -(2**31) <= seed < 2**64:
        raise e.error(f"the seed of a key is a whole number below 2^64, not {seed}")
    return e.constant([(seed >> 32) & (2**32 - 1) if seed >= 0 else 0, seed & (2**32 - 1)], KEY)


def fold_in(e: Emitter, key: Tensor, data: Operand) -> Tensor:
    """A key from a key and a number."""
    _check_key(e, "fold_in", key)
    number = e.tensor(data)
    if number.rank or number.dtype not in ("i32", "u32"):
        raise e.error(f"fold_in: data is a whole number, not {number.type}")
    zero = e.splat(0, _WORD)
    first, second = _threefry(e, key, zero, e.cast(number, "u32"))
    return shapes.stack(e, (first, second))


def split(e: Emitter, x: Tensor, sections: int | tuple[int, ...] | None = None, axis: int = 0) -> object:
    """Of a key (u32[2]) new ones, two by default: u32[n, 2]. Of another tensor equal parts, or parts between
    the given indices.
    """
    if x.type != KEY or axis:
        if sections is None:
            raise e.error("split: sections is missing", "split(x, 2), split(x, (3, 5), axis=1)")
        return shapes.split(e, x, sections, axis)
    shape = (2,) if sections is None else sections if isinstance(sections, tuple) else (sections,)
    if min(shape, default=1) < 0:
        raise e.error(f"split of a key into {shape}")
    first, second = _threefry(e, x, *_counters(e, shape))
    return shapes.stack(e, (first, second), len(shape))


def uniform(
    e: Emitter,
    key: Tensor,
    shape: tuple[int, ...] = (),
    dtype: Dtype | None = None,
    minval: Scalar = 0,
    maxval: Scalar = 1,
) -> Tensor:
    """Between minval, inclusive, and maxval, exclusive."""
    type = _float(e, "uniform", shape, dtype)
    return _uniform(e, "uniform", key, type, float(minval), float(maxval))


def normal(e: Emitter, key: Tensor, shape: tuple[int, ...] = (), dtype: Dtype | None = None) -> Tensor:
    """Of mean 0 and variance 1."""
    type = _float(e, "normal", shape, dtype)
    one = np.array(-1, type.numpy)
    low = float(np.nextafter(one, np.array(0, type.numpy)))
    inverse = e.op(chlo.erf_inv.name, _uniform(e, "normal", key, type, low, 1.0))
    return e.op(hlo.multiply.name, e.splat(2**0.5, type), inverse)


def bernoulli(e: Emitter, key: Tensor, p: Operand = 0.5, shape: tuple[int, ...] | None = None) -> Tensor:
    """True with probability p, for each element of the shape, which is p's by default."""
    chance = e.inexact(p)
    whole = chance.shape if shape is None else shape
    drawn = _uniform(e, "bernoulli", key, chance.type.with_shape(whole), 0.0, 1.0)
    return comparison(e, drawn, e.broadcast_to(chance, whole), "LT")


def categorical(
    e: Emitter, key: Tensor, logits: Tensor, axis: int = -1, shape: tuple[int, ...] | None = None
) -> Tensor:
    """A place along the axis, each with the probability of which the logits are the logarithm."""
    dim = axis_of(e, axis, logits.rank)
    batch = tuple(n for d, n in enumerate(logits.shape) if d != dim)
    whole = batch if shape is None else shape
    more = len(whole) - len(batch)
    if more < 0 or whole[more:] != batch:
        raise e.error(f"categorical: the shape ends with that of the logits without axis {axis}, {batch}")
    type = logits.type.with_shape((*whole[:more], *logits.shape))
    if not is_float(type.dtype):
        raise e.error(f"categorical: the logits are {logits.type}, and should be floats")
    total = e.op(hlo.add.name, _gumbel(e, "categorical", key, type), e.broadcast_to(logits, type.shape))
    return argmax(e, total, dim + more, False)


def gumbel(e: Emitter, key: Tensor, shape: tuple[int, ...] = (), dtype: Dtype | None = None) -> Tensor:
    """-log(-log(u)) of uniform numbers u."""
    return _gumbel(e, "gumbel", key, _float(e, "gumbel", shape, dtype))


def _gumbel(e: Emitter, name: str, key: Tensor, type: TensorType) -> Tensor:
    drawn = _uniform(e, name, key, type, _TINY[type.dtype], 1.0)
    for _ in range(2):
        drawn = e.op(hlo.negate.name, e.op(hlo.log.name, drawn))
    return drawn


def exponential(e: Emitter, key: Tensor, shape: tuple[int, ...] = (), dtype: Dtype | None = None) -> Tensor:
    """Of mean 1: -log(1 - u) of uniform numbers u."""
    drawn = _uniform(e, "exponential", key, _float(e, "exponential", shape, dtype), 0.0, 1.0)
    return e.op(hlo.negate.name, e.op(hlo.log_plus_one.name, e.op(hlo.negate.name, drawn)))


def dropout(e: Emitter, key: Tensor, x: Tensor, rate: Scalar) -> Tensor:
    """x with some elements zero, each with probability `rate`, and the others divided by 1 - rate."""
    if not 0 <= rate < 1:
        raise e.error(f"dropout: rate is {rate}, and should be at least 0 and below 1")
    if rate == 0:
        return x
    kept = bernoulli(e, key, 1.0 - rate, x.shape)
    scaled = e.op(hlo.divide.name, *e.together(x, 1.0 - rate))
    return e.op(hlo.select.name, kept, scaled, e.splat(0, scaled.type))


def _float(e: Emitter, name: str, shape: tuple[int, ...], dtype: Dtype | None) -> TensorType:
    chosen = "f32" if dtype is None else dtype.name
    if chosen not in _BITS:
        raise e.error(f"{name} of {chosen}: the dtypes are {', '.join(_BITS)}")
    return TensorType(shape, chosen)


def _check_key(e: Emitter, name: str, key: Tensor) -> None:
    if key.type != KEY:
        hint = (
            "key(0) makes one, split(k) two of it" if key.dtype != "u32" else "one of several keys: keys[0]"
        )
        raise e.error(f"{name}: a key is a u32[2], not {key.type}", hint)


def _uniform(e: Emitter, name: str, key: Tensor, type: TensorType, low: float, high: float) -> Tensor:
    """Random bits as the mantissa of numbers from 1 to 2."""
    bits, mantissa = _BITS[type.dtype]
    own = bits if mantissa >= 8 else 8
    word = f"u{bits}"
    drawn = e.cast(random_bits(e, name, key, own, type.shape), word)
    drawn = _with(e, hlo.shift_right_logical, drawn, own - mantissa)
    one = int(np.array(1, type.numpy).view(TensorType((), word).numpy))
    drawn = _with(e, hlo.or_, drawn, one)
    floats = e.op(hlo.bitcast_convert.name, drawn, result=type)
    floats = e.op(hlo.subtract.name, floats, e.splat(1, type))
    least = e.splat(low, type)
    span = float(np.subtract(np.array(high, type.numpy), np.array(low, type.numpy)))
    if (low, span) != (0, 1):
        floats = e.op(hlo.multiply.name, floats, e.splat(span, type))
        floats = e.op(hlo.add.name, floats, least)
    return e.op(hlo.maximum.name, least, floats)


def random_bits(e: Emitter, name: str, key: Tensor, bits: int, shape: tuple[int, ...]) -> Tensor:
    """Words of 8, 16, 32 or 64 random bits."""
    _check_key(e, name, key)
    e.check_size(TensorType(shape, f"u{bits}"))
    first, second = _threefry(e, key, *_counters(e, shape))
    if bits < 64:
        return e.cast(e.op(hlo.xor.name, first, second), f"u{bits}")
    high, low = e.cast(first, "u64"), e.cast(second, "u64")
    return e.op(hlo.or_.name, _with(e, hlo.shift_left, high, 32), low)


def _with(e: Emitter, op: OpDef, x: Tensor, number: int) -> Tensor:
    return e.op(op.name, x, e.splat(number, x.type))


def _counters(e: Emitter, shape: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The number of each element in two words: its place in row-major order."""
    type = _WORD.with_shape(tuple(shape))
    if type.size > 2**32:
        raise e.error(f"{type.size} random numbers at once; 2^32 are possible")
    number: Tensor | None = None
    stride = 1
    for dim in reversed(range(type.rank)):
        if type.shape[dim] > 1:
            place = e.op(hlo.iota.name, result=type, iota_dimension=dim)
            place = place if stride == 1 else _with(e, hlo.multiply, place, stride)
            number = place if number is None else e.op(hlo.add.name, number, place)
        stride *= type.shape[dim]
    return e.splat(0, type), e.splat(0, type) if number is None else number


def _threefry(e: Emitter, key: Tensor, high: Tensor, low: Tensor) -> tuple[Tensor, Tensor]:
    """The cipher, as a function of the module for each shape: it is a hundred operations."""
    first, second = (e.reshape(shapes.slice_dim(e, key, 0, i, i + 1), ()) for i in (0, 1))
    symbol = e.helper("threefry2x32", [_WORD, _WORD, high.type, low.type], _cipher(e))
    results = [high.type, low.type]
    made = e.ops(func.call.name, first, second, high, low, results=results, weak=False, callee=symbol)
    return made[0], made[1]


def _cipher(e: Emitter) -> Callable[..., list[Tensor]]:
    def build(k0: Tensor, k1: Tensor, x0: Tensor, x1: Tensor) -> list[Tensor]:
        e.builder.name([k0.value, k1.value, x0.value, x1.value], ["k0", "k1", "x0", "x1"])
        mixed = e.op(hlo.xor.name, e.op(hlo.xor.name, k0, k1), e.splat(0x1BD11BDA, _WORD))
        keys = [e.broadcast_to(k, x0.shape) for k in (k0, k1, mixed)]
        x0, x1 = e.op(hlo.add.name, x0, keys[0]), e.op(hlo.add.name, x1, keys[1])
        for number in range(5):
            for rotation in _ROTATIONS[number % 2]:
                x0 = e.op(hlo.add.name, x0, x1)
                left = _with(e, hlo.shift_left, x1, rotation)
                right = _with(e, hlo.shift_right_logical, x1, 32 - rotation)
                x1 = e.op(hlo.xor.name, x0, e.op(hlo.or_.name, left, right))
            x0 = e.op(hlo.add.name, x0, keys[(number + 1) % 3])
            x1 = e.op(hlo.add.name, x1, _with(e, hlo.add, keys[(number + 2) % 3], number + 1))
        return [x0, x1]

    return build
