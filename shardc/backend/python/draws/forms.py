"""What jax.random computes of a key and the number of an element, as expressions.

    bits(k, n)         threefry2x32(k, (0, n)), its two words together
    uniform(k, n)      the bits as the mantissa of a number from 1 to 2, less 1, between two bounds
    normal(k, n)       sqrt(2) erf_inv(uniform(k, n)) of bounds close to -1 and 1
    integer(k, n)      bits(k', n) and bits(k'', n) of the two keys that k is split into, modulo a number

The cipher is Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct

from shardc.backend.python.draws.elements import Elements
from shardc.backend.python.draws.evaluate import Array, At, Evaluation, Unknown
from shardc.graph.types import DTYPES
from shardc.ops import chlo, hlo

CIPHER = "threefry2x32 "
"""Names an expression that is a word of the cipher."""

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_BITS = {"f64": (64, 52), "f32": (32, 23), "f16": (16, 10), "bf16": (16, 7)}
"""The bits of a float, and of its mantissa."""


def rounds(e: Elements, key: Sequence[int], words: Sequence[int]) -> tuple[int, int]:
    """The cipher written out."""

    def op(name: str, *operands: int) -> int:
        return e.apply(name, "u32", *operands)

    def number(value: int) -> int:
        return e.integer(value, "u32")

    keys = [*key, op(hlo.xor.name, op(hlo.xor.name, *key), number(_PARITY))]
    x0, x1 = (op(hlo.add.name, word, k) for word, k in zip(words, keys, strict=False))
    for i in range(5):
        for rotation in _ROTATIONS[i % 2]:
            x0 = op(hlo.add.name, x0, x1)
            left = op(hlo.shift_left.name, x1, number(rotation))
            right = op(hlo.shift_right_logical.name, x1, number(32 - rotation))
            x1 = op(hlo.xor.name, x0, op(hlo.or_.name, left, right))
        x0 = op(hlo.add.name, x0, keys[(i + 1) % 3])
        x1 = op(hlo.add.name, op(hlo.add.name, x1, keys[(i + 2) % 3]), number(i + 1))
    return x0, x1


def is_cipher(evaluation: Evaluation, name: str) -> bool:
    """Whether a function is the cipher of a key's two words and two words: of u32s, each a scalar or an array
    of a shape that becomes the results' by repeating dimensions of size 1.
    """
    graph, body = evaluation.graph, evaluation.graph.functions[name].body
    types, results = graph.types(body.args), graph.types(body.results)
    if len(types) != 4 or len(results) != 2 or {type.dtype for type in (*types, *results)} != {"u32"}:
        return False
    shape = results[0].shape
    if results[1].shape != shape or not all(_repeats(type.shape, shape) for type in types):
        return False
    args = [evaluation.opaque(value) for value in body.args]
    at = evaluation.at(shape)
    try:
        found = tuple(array(at) for array in evaluation.region(body, args, {}))
    except Unknown:
        return False
    k0, k1, x0, x1 = _elements(evaluation.elements, args, [type.shape for type in types], at)
    return found == rounds(evaluation.elements, (k0, k1), (x0, x1))


def _repeats(shape: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    fits = len(shape) == len(whole) and all(n in (1, m) for n, m in zip(shape, whole, strict=True))
    return not shape or fits


def _elements(e: Elements, args: Sequence[Array], shapes: Sequence[tuple[int, ...]], at: At) -> list[int]:
    """The element of each array that is repeated to a place."""
    zero = e.integer(0)
    return [
        array(tuple(zero if size == 1 else x for size, x in zip(shape, at, strict=False)))
        for array, shape in zip(args, shapes, strict=True)
    ]


def enciphered(evaluation: Evaluation, name: str, args: Sequence[Array]) -> list[Array]:
    """What a function that is the cipher gives for arrays."""
    e, shapes = evaluation.elements, [evaluation.shape(v) for v in evaluation.graph.functions[name].body.args]

    def word(which: int) -> Array:
        return lambda at: e.apply(f"{CIPHER}{which}", "u32", *_elements(e, args, shapes, at))

    return [word(0), word(1)]


class Words(Struct, frozen=True):
    """The two words of the cipher that an expression has."""

    key: tuple[int, int]
    number: tuple[int, int]

    def each(self, e: Elements) -> tuple[int, int]:
        first, second = (e.apply(f"{CIPHER}{i}", "u32", *self.key, *self.number) for i in (0, 1))
        return first, second


def bits(e: Elements, words: Words) -> int:
    """32 random bits."""
    return e.apply(hlo.xor.name, "u32", *words.each(e))


def uniform(e: Elements, words: Words, dtype: str, low: int, span: int) -> int:
    """A number from `low` on, below `low + span`."""
    width, mantissa = _BITS[dtype]
    own, word = (width if mantissa >= 8 else 8), f"u{width}"
    if width == 64:
        first, second = (e.apply(hlo.convert.name, word, x) for x in words.each(e))
        first = e.apply(hlo.shift_left.name, word, first, e.integer(32, word))
        drawn = e.apply(hlo.or_.name, word, first, second)
    else:
        drawn = bits(e, words)
        drawn = e.apply(hlo.convert.name, f"u{own}", drawn)
        drawn = e.apply(hlo.convert.name, word, drawn)
    drawn = e.apply(hlo.shift_right_logical.name, word, drawn, e.integer(own - mantissa, word))
    one = int(np.array(1, DTYPES[dtype][1]).view(DTYPES[word][1]))
    drawn = e.apply(hlo.or_.name, word, drawn, e.integer(one, word))
    drawn = e.apply(hlo.bitcast_convert.name, dtype, drawn)
    drawn = e.apply(hlo.subtract.name, dtype, drawn, e.constant(1, dtype))
    drawn = e.apply(hlo.multiply.name, dtype, drawn, span)
    drawn = e.apply(hlo.add.name, dtype, drawn, low)
    return e.apply(hlo.maximum.name, dtype, low, drawn)


def between(e: Elements, words: Words, dtype: str, low: float, high: float) -> int:
    """The same of two constants."""
    ends = [np.array(x, DTYPES[dtype][1])[()] for x in (low, high)]
    return uniform(e, words, dtype, e.constant(ends[0], dtype), e.constant(ends[1] - ends[0], dtype))


def normal(e: Elements, words: Words, dtype: str) -> int:
    """Of mean 0 and variance 1."""
    kind = DTYPES[dtype][1]
    low = float(np.nextafter(np.array(-1, kind), np.array(0, kind)))
    drawn = e.apply(chlo.erf_inv.name, dtype, between(e, words, dtype, low, 1))
    return e.apply(hlo.multiply.name, dtype, e.constant(2**0.5, dtype), drawn)


def integer(e: Elements, higher: Words, lower: Words, low: int, high: int) -> int:
    """A 32-bit integer from `low` on, below `high`: 64 bits modulo how many there are."""

    def op(name: str, *operands: int) -> int:
        return e.apply(name, "u32", *operands)

    def is_above(x: int, y: int) -> int:
        return e.apply(f"{hlo.compare.name} GT", "bool", x, y)

    empty = e.apply(f"{hlo.compare.name} LE", "bool", high, low)
    count = op(hlo.convert.name, e.apply(hlo.subtract.name, "i32", high, low))
    count = op(hlo.select.name, empty, e.integer(1, "u32"), count)
    wide = e.apply(hlo.and_.name, "bool", is_above(high, e.integer(2**31 - 1, "i32")), is_above(high, low))
    count = op(hlo.select.name, wide, op(hlo.add.name, count, e.integer(1, "u32")), count)
    half = op(hlo.remainder.name, e.integer(2**16, "u32"), count)
    step = op(hlo.remainder.name, op(hlo.multiply.name, half, half), count)
    first, second = (op(hlo.remainder.name, bits(e, words), count) for words in (higher, lower))
    drawn = op(hlo.add.name, op(hlo.multiply.name, first, step), second)
    drawn = e.apply(hlo.convert.name, "i32", op(hlo.remainder.name, drawn, count))
    return e.apply(hlo.add.name, "i32", low, drawn)


def gumbel(e: Elements, words: Words, dtype: str) -> int:
    """-log(-log(uniform))"""
    drawn = between(e, words, dtype, _tiny(dtype), 1)
    for _ in range(2):
        drawn = e.apply(hlo.negate.name, dtype, e.apply(hlo.log.name, dtype, drawn))
    return drawn


def exponential(e: Elements, words: Words, dtype: str) -> int:
    """-log1p(-uniform)"""
    drawn = e.apply(hlo.negate.name, dtype, between(e, words, dtype, 0, 1))
    return e.apply(hlo.negate.name, dtype, e.apply(hlo.log_plus_one.name, dtype, drawn))


def _tiny(dtype: str) -> float:
    return 2.0**-1022 if dtype == "f64" else 2.0**-14 if dtype == "f16" else 2.0**-126


FLOATS: dict[str, Callable[[Elements, Words, str], int]] = {
    "normal": normal,
    "gumbel": gumbel,
    "exponential": exponential,
}
"""The functions of jax.random that give floats and take a key, a shape and a dtype."""
