"""Exact meanings of what takes or makes complex numbers, by their real and imaginary parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from msgspec.structs import replace

from shardc.graph import Op
from shardc.graph.attrs import Dense
from shardc.graph.types import is_complex as is_complex_dtype
from shardc.ops import OpDef, chlo, hlo, sdy
from shardc.proof import arithmetic, field
from shardc.proof.draws import Draw
from shardc.proof.functions import random_function
from shardc.proof.meanings_elementwise import MOST_FACTORS
from shardc.proof.meanings_elementwise import convert as convert_real
from shardc.proof.meanings_structural import iota as real_iota
from shardc.proof.meanings_structural import product as real_product
from shardc.proof.table import ExactMeaning, exact_complex
from shardc.proof.values import NAN, Beyond, any_special, exact, is_complex, pair, same, whole
from shardc.semantics import ops
from shardc.semantics.arrays import Array, Body

ZERO = whole(np.asarray(0.0))


def split(array: Array) -> tuple[Array, Array]:
    """The real and the imaginary part of any numbers."""
    array = exact(array)
    return (array["re"], array["im"]) if is_complex(array) else (array, np.broadcast_to(ZERO, array.shape))


def add(left: Array, right: Array) -> Array:
    """left + right."""
    (a, b), (c, d) = split(left), split(right)
    return pair(arithmetic.add(a, c), arithmetic.add(b, d))


def negate(operand: Array) -> Array:
    """-z."""
    return pair(*map(arithmetic.negate, split(operand)))


def multiply(left: Array, right: Array) -> Array:
    """(a + bi)(c + di) = (ac - bd) + (ad + bc)i."""
    (a, b), (c, d), times = split(left), split(right), arithmetic.multiply
    real, imaginary = arithmetic.subtract(times(a, c), times(b, d)), arithmetic.add(times(a, d), times(b, c))
    return pair(real, imaginary)


def size(operand: Array) -> Array:
    """|z|^2, which is 0 modulo p for 0 alone."""
    a, b = split(operand)
    return arithmetic.add(arithmetic.multiply(a, a), arithmetic.multiply(b, b))


def conjugate(operand: Array) -> Array:
    real, imaginary = split(operand)
    return pair(real, arithmetic.negate(imaginary))


def invert(operand: Array) -> Array:
    """1 / z = conj(z) / |z|^2; DrawAgain or NaN where z is 0, as arithmetic.divide has it."""
    (a, b), squared = split(operand), size(operand)
    return pair(arithmetic.divide(a, squared), arithmetic.divide(arithmetic.negate(b), squared))


def subtract(left: Array, right: Array) -> Array:
    """left - right."""
    return add(left, negate(right))


def square(operand: Array) -> Array:
    """z z."""
    return multiply(operand, operand)


def joined(real: Array, imaginary: Array) -> Array:
    """real + imaginary i."""
    return pair(exact(real), exact(imaginary))


def real(operand: Array) -> Array:
    """The real part."""
    return split(operand)[0]


def imag(operand: Array) -> Array:
    """The imaginary part."""
    return split(operand)[1]


_PLAIN: dict[OpDef, Callable[..., Array]] = {
    hlo.add: add,
    hlo.negate: negate,
    hlo.subtract: subtract,
    hlo.multiply: multiply,
    chlo.square: square,
    hlo.complex_: joined,
    hlo.real: real,
    hlo.imag: imag,
    chlo.conj: conjugate,
}


def _plainly(function: Callable[..., Array]) -> ExactMeaning:
    def meaning(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
        return [function(*arrays)]

    return meaning


for _definition, _function in _PLAIN.items():
    exact_complex(_definition)(_plainly(_function))


@exact_complex(hlo.divide)
def divide(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    """A product with the inverse; of what is no constant first with one more random function."""
    left, right = map(exact, arrays)
    if draw.exponents is not None and not draw.exponents.replays:
        raise Beyond("complex denominators in exponents")
    c, d = split(right)
    zero = (c["residue"] == 0) & (d["residue"] == 0)
    literal = _literal(right)
    draw.denominators |= not literal
    by_inverse = draw.divides or literal or bool(zero.any()) or any_special(c, d)
    if by_inverse:
        return [multiply(left, invert(right))]
    draw.hashes("inverse", right.size)
    inverses, residues = invert(right), [c["residue"], d["residue"]]
    for name in ("re", "im"):
        inverses[name]["residue"] = field.hashed(draw.key("inverse", name), residues)
    return [multiply(left, inverses)]


def _literal(array: Array) -> bool:
    """Whether all elements are the numbers that their shadows are."""
    shadows = [(part["shadow"], part["other"]) for part in split(array)]
    if not array.size or not all(bool((shadow == other).all()) for shadow, other in shadows):
        return False
    return bool(same(whole(shadows[0][0] + 1j * shadows[1][0]), _as_complex(array)).all())


def _as_complex(array: Array) -> Array:
    return pair(*split(array))


@exact_complex(hlo.abs_)
def magnitude(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    """sqrt(a^2 + b^2)."""
    return random_function(draw, replace(op, name=hlo.sqrt.name, attrs={}), [size(arrays[0])])


@exact_complex(hlo.compare)
def compare(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    """EQ or NE; whatever has NaN in it is unequal."""
    left, right = np.broadcast_arrays(*arrays)
    numbers = np.logical_and.reduce([part["residue"] != NAN for part in split(left)])
    result = (same(left, right) & numbers) == (op.attrs["comparison_direction"] == "EQ")
    draw.decided(result)
    return [result]


@exact_complex(hlo.convert)
def convert(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    """To complex numbers with an imaginary part of 0; from them without it."""
    (operand,), dtype = arrays, op.results[0].dtype
    if is_complex_dtype(dtype):
        return [_as_complex(operand)]
    return convert_real(draw, op, [split(operand)[0]])


@exact_complex(hlo.power)
def power(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    """By one small whole number a product; else a random function."""
    base, (exponent, imaginary) = exact(arrays[0]), split(arrays[1])
    factors = int(exponent["residue"].reshape(-1)[0]) if exponent.size else MOST_FACTORS
    alike = bool((exponent["residue"] == factors).all()) and not bool(imaginary["residue"].any())
    if not alike or factors >= MOST_FACTORS:
        return random_function(draw, op, arrays)
    result = whole(np.ones(base.shape, np.complex128))
    for _ in range(factors):
        result = multiply(result, base)
    return [result]


@exact_complex(hlo.constant, sdy.constant)
def constant(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    value = cast(Dense, op.attrs["value"])
    return [np.broadcast_to(whole(value.data.astype(np.complex128)), value.shape)]


@exact_complex(hlo.iota)
def iota(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    return list(map(_as_complex, real_iota(draw, op, arrays)))


@exact_complex(hlo.reduce)
def reduce(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    count = len(arrays) // 2
    dimensions = cast("tuple[int, ...]", tuple(cast(Any, op.attrs["dimensions"])))
    if op.combiner == "sum" and count == 1:
        totals = (arithmetic.total(part, dimensions) for part in split(arrays[0]))
        return [add(pair(*totals), arrays[1])]
    return ops.reduce_with(arrays[:count], arrays[count:], bodies[0], dimensions=dimensions)


@exact_complex(hlo.dot_general, hlo.convolution)
def product(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    """What is linear in both operands, by four products of real numbers."""
    (a, b), (c, d) = map(split, arrays)

    def times(left: Array, right: Array) -> Array:
        return real_product(draw, op, [left, right])[0]

    real, imaginary = arithmetic.subtract(times(a, c), times(b, d)), arithmetic.add(times(a, d), times(b, c))
    return [pair(real, imaginary)]
