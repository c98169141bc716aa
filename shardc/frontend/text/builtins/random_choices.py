"""Random whole numbers, orders and choices, those of jax.random."""

from __future__ import annotations

from math import ceil, log, prod

import numpy as np

from shardc.frontend.text.builtins.creation import arange
from shardc.frontend.text.builtins.elementwise import clip, compare, comparison, where
from shardc.frontend.text.builtins.formula import Formula
from shardc.frontend.text.builtins.gathers import take
from shardc.frontend.text.builtins.operators import add
from shardc.frontend.text.builtins.random import gumbel, random_bits, split, uniform
from shardc.frontend.text.builtins.reductions import axis_of
from shardc.frontend.text.builtins.running import cumsum
from shardc.frontend.text.builtins.shapes import slice_dim
from shardc.frontend.text.builtins.sorting import searchsorted, sort_by, top_k
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Dtype, Operand, Tensor, Value, describe
from shardc.graph.types import TensorType, is_integer
from shardc.ops import OpDef, hlo

_DTYPES = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")


def randint(
    e: Emitter,
    key: Tensor,
    shape: tuple[int, ...],
    minval: Operand,
    maxval: Operand,
    dtype: Dtype | None = None,
) -> Tensor:
    """Whole numbers from minval, inclusive, to maxval, exclusive; minval where there are none.

    Twice as many bits as the dtype has are drawn, at least 64, and their remainder is taken.
    """
    type = TensorType(shape, "i32" if dtype is None else dtype.name)
    if type.dtype not in _DTYPES:
        raise e.error(f"randint of {type.dtype}: the dtypes are {', '.join(_DTYPES)}")
    for name, end in (("minval", minval), ("maxval", maxval)):
        if not is_integer(e.tensor(end).dtype):
            raise e.error(f"randint: {name} is a whole number, not {e.tensor(end).type}")
    if type.numpy.itemsize < 4:
        info = np.iinfo(type.numpy)
        low, high = int(info.min), int(info.max)
        least, most = clip(e, e.tensor(minval), low, high), clip(e, e.tensor(maxval), low, high + 1)
        return e.cast(randint(e, key, shape, e.cast(least, "i32"), e.cast(most, "i32")), type.dtype)
    bits = 8 * type.numpy.itemsize
    first, second = _pair(e, key, "randint")
    high, low = (random_bits(e, "randint", one, bits, shape) for one in (first, second))
    ends = [e.tensor(end) for end in (minval, maxval)]
    least, most = (e.broadcast_to(_clipped(e, end, type.dtype), shape) for end in ends)
    span = e.cast(e.op(hlo.subtract.name, most, least), f"u{bits}")
    none = comparison(e, most, least, "LE")
    span = where(e, none, e.splat(1, span.type), span)
    if (limit := np.iinfo(type.numpy).max) < np.iinfo(ends[1].type.numpy).max:
        beyond = e.broadcast_to(compare("GT")(e, ends[1], limit), shape)
        beyond = e.op(hlo.and_.name, beyond, e.op(hlo.not_.name, none))
        span = where(e, beyond, add(e, span, e.splat(1, span.type)), span)

    def of(op: OpDef, left: Tensor, right: Tensor) -> Tensor:
        return e.op(op.name, left, right)

    half = of(hlo.remainder, e.splat(2 ** (bits // 2), span.type), span)
    factor = of(hlo.remainder, of(hlo.multiply, half, half), span)
    offset = of(hlo.multiply, of(hlo.remainder, high, span), factor)
    offset = of(hlo.remainder, of(hlo.add, offset, of(hlo.remainder, low, span)), span)
    return of(hlo.add, least, e.cast(offset, type.dtype))


def _clipped(e: Emitter, end: Tensor, dtype: str) -> Tensor:
    """A bound as a number of the dtype, moved to the nearest that it has."""
    own, new = (np.iinfo(TensorType((), one).numpy) for one in (end.dtype, dtype))
    if own.min < new.min or own.max > new.max:
        end = clip(e, end, max(own.min, new.min), min(own.max, new.max))
    return e.cast(end, dtype)


def _pair(e: Emitter, key: Tensor, name: str) -> tuple[Tensor, Tensor]:
    """Two keys of one."""
    if key.type != TensorType((2,), "u32"):
        raise e.error(f"{name}: a key is a u32[2], not {key.type}", "key(0) makes one, split(k) two of it")
    keys = split(e, key)
    assert isinstance(keys, Tensor)
    first, second = (e.reshape(slice_dim(e, keys, 0, i, i + 1), (2,)) for i in (0, 1))
    return first, second


def permutation(e: Emitter, key: Tensor, x: Value, axis: int = 0, independent: bool = False) -> Tensor:
    """x in a random order along an axis, or the numbers below x in one.

    independent: each vector along the axis is in an order of its own.
    """
    if isinstance(x, int) and not isinstance(x, bool):
        return _shuffled(e, key, arange(e, x), 0)
    if not isinstance(x, Tensor) or not x.rank:
        raise e.error(f"permutation: x is a tensor with dimensions, or a whole number, not {describe(x)}")
    dim = axis_of(e, axis, x.rank)
    if independent or x.rank == 1:
        return _shuffled(e, key, x, dim)
    return take(e, x, _shuffled(e, key, arange(e, x.shape[dim]), 0), dim)


def _shuffled(e: Emitter, key: Tensor, x: Tensor, dim: int) -> Tensor:
    """x sorted by random words, until collisions are unlikely."""
    for _ in range(ceil(3 * log(max(1, x.type.size)) / log(2**32 - 1))):
        key, own = _pair(e, key, "permutation")
        _, x = sort_by(e, "permutation", [random_bits(e, "permutation", own, 32, x.shape), x], dim)
    return x


def choice(
    e: Emitter,
    key: Tensor,
    a: Value,
    shape: tuple[int, ...] = (),
    replace: bool = True,
    p: Tensor | None = None,
    axis: int = 0,
) -> Tensor:
    """Elements of a along an axis, or numbers below a, each with its probability in p if that is given."""
    whole = a if isinstance(a, Tensor) and a.rank else None
    if whole is None and (not isinstance(a, int) or isinstance(a, bool)):
        raise e.error(f"choice: a is a tensor with dimensions, or a whole number, not {describe(a)}")
    dim = 0 if whole is None else axis_of(e, axis, whole.rank)
    count = whole.shape[dim] if whole is not None else a
    assert isinstance(count, int)
    draws = prod(shape)
    if count <= 0 or (not replace and draws > count):
        raise e.error(f"choice of {draws} from {count}" + ("" if replace else " without replacement"))
    if p is not None and p.shape != (count,):
        raise e.error(f"choice: p has a number for each of the {count}, not {p.type}")
    if p is None and not replace:
        order = permutation(e, key, count if whole is None else whole, dim)
        found = slice_dim(e, order, dim, 0, draws)
    else:
        if p is None:
            places = randint(e, key, shape, 0, count)
        elif replace:
            places = _by_chance(e, key, shape, e.inexact(p))
        else:
            chances = Formula(e, e.inexact(p)).op(hlo.log)
            _, places = top_k(
                e, (chances + gumbel(e, key, p.shape, Dtype(chances.tensor.dtype))).tensor, draws
            )
        found = places if whole is None else take(e, whole, places, dim)
    if whole is None:
        return e.reshape(found, shape)
    return e.reshape(found, (*whole.shape[:dim], *shape, *whole.shape[dim + 1 :]))


def _by_chance(e: Emitter, key: Tensor, shape: tuple[int, ...], p: Tensor) -> Tensor:
    """Where uniform numbers fall among the sums of the probabilities."""
    sums = cumsum(e, p, 0)
    total = e.reshape(slice_dim(e, sums, 0, p.shape[0] - 1, p.shape[0]), ())
    drawn = (1 - Formula(e, uniform(e, key, shape, Dtype(p.dtype)))) * total
    return searchsorted(e, sums, drawn.tensor)
