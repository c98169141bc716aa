"""Exact meanings of elementwise operations that are more than random functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from shardc.graph import Op, is_float
from shardc.graph.types import FP8
from shardc.ops import OpDef, chlo, hlo
from shardc.proof import arithmetic, field
from shardc.proof.draws import CASTS_KEPT, Draw
from shardc.proof.exponents import ORDER_BITS, power_of_h
from shardc.proof.functions import random_function
from shardc.proof.narrow import narrowed
from shardc.proof.order import chosen, order, places, signs, unordered
from shardc.proof.table import exact, exact_complex
from shardc.proof.values import Beyond, DrawAgain, either, is_exact, is_literal, special, whole
from shardc.proof.values import exact as as_exact
from shardc.semantics.arrays import Array, Body
from shardc.semantics.elementwise import convert as numpy_convert


def _plainly(*definitions: OpDef) -> Callable[[Callable[..., Array]], Callable[..., Array]]:
    """Register a function of exact arrays as what operations mean."""

    def register(function: Callable[..., Array]) -> Callable[..., Array]:
        def meaning(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
            return [function(*map(as_exact, arrays))]

        exact(*definitions)(meaning)
        return function

    return register


_plainly(hlo.add)(arithmetic.add)
_plainly(hlo.subtract)(arithmetic.subtract)
_plainly(hlo.multiply)(arithmetic.multiply)
_plainly(hlo.negate)(arithmetic.negate)


@_plainly(chlo.square)
def square(operand: Array) -> Array:
    return arithmetic.multiply(operand, operand)


@_plainly(hlo.reduce_precision)
def unrounded(operand: Array) -> Array:
    """Reals have all digits."""
    return operand


@exact(hlo.divide)
def divide(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    left, right = map(as_exact, arrays)
    if draw.exponents is not None and not draw.exponents.replays:
        return [_divided_exponents(draw, left, right)]
    literal = _literals(right)
    draw.denominators |= not literal
    if draw.divides or bool((right["residue"] == 0).any()) or bool(special(right).any()) or literal:
        return [arithmetic.divide(left, right)]
    draw.hashes("inverse", right.size)
    inverses = np.array(right)
    inverses["residue"] = field.hashed(draw.key("inverse"), [right["residue"]])
    inverses["shadow"], inverses["other"] = 1 / right["shadow"], 1 / right["other"]
    return [arithmetic.multiply(left, inverses)]


def _literals(array: Array) -> bool:
    return array.size > 0 and bool(is_literal(array).all())


def _divided_exponents(draw: Draw, left: Array, right: Array) -> Array:
    """Modulo 2^60 - 1 powers of two have inverses; by others is a random function."""
    if special(right).any():
        raise Beyond("infinite denominators in exponents")
    places = {1 << place: place for place in range(ORDER_BITS)}
    shifts = [places.get(int(residue)) for residue in np.unique(right["residue"])[:2]]
    result = arithmetic.multiply(left, as_exact(1 / right["shadow"]))
    if len(shifts) == 1 and shifts[0] is not None:
        residue = field.rotate(left["residue"], -shifts[0])
    else:
        inverses = field.hashed(draw.key("inverse"), [right["residue"]])
        residue = field.multiply(np.where(special(left), np.uint64(0), left["residue"]), inverses)
    result["residue"] = np.where(special(result), result["residue"], residue)
    return result


@exact(hlo.exponential)
def exponential(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    """A random function, or a power of h (exponents.py)."""
    (result,) = random_function(draw, op, arrays)
    if draw.exponents is None:
        return [result]
    residues = as_exact(arrays[0])["residue"]
    if not draw.exponents.replays:
        draw.exponents.note(draw.programs, residues)
        return [result]
    exponents = draw.exponents.next(draw.programs, residues.shape)
    infinite = exponents > np.uint64(field.PRIME)
    powers = power_of_h(np.where(infinite, np.uint64(0), exponents))
    result["residue"] = np.where(infinite, result["residue"], powers)
    return [result]


@exact(hlo.logistic)
def logistic(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    """1 / (1 + exp(-x)), as programs write it out too."""
    opposite = arithmetic.negate(as_exact(arrays[0]))
    (power,) = random_function(draw, replace(op, name=hlo.exponential.name, attrs={}), [opposite])
    one = whole(np.asarray(1.0))
    return divide(draw, op, [one, arithmetic.add(one, power)])


@exact(hlo.maximum, hlo.minimum)
def extreme(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    return furthest(draw, arrays, 1 if op.name == hlo.maximum.name else -1)


def furthest(draw: Draw, arrays: Sequence[Array], wanted: int) -> list[Array]:
    """The greater of two arrays, where 1 is wanted, the lesser where -1 is, which is a decision."""
    left, right = map(as_exact, arrays)
    how = order(left, right)
    draw.decided(how > 0)
    return [chosen(left, right, wanted, how)]


@exact(hlo.compare)
def compare(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    left, right = map(as_exact, arrays)
    direction = cast(str, op.attrs["comparison_direction"])
    if op.attrs.get("compare_type") == "TOTALORDER" and bool(unordered(left).any()):
        raise Beyond("a total order with NaN in it")
    result = arithmetic.compare(left, right, direction)
    draw.decided(result)
    return [result]


@exact(hlo.clamp)
def clamp(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    low, operand, high = map(as_exact, arrays)
    draw.decided(order(low, operand) > 0)
    draw.decided(order(operand, high) > 0)
    return [arithmetic.minimum(arithmetic.maximum(operand, low), high)]


@exact_complex(hlo.select)
@exact(hlo.select)
def select(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    return [either(arrays[0], as_exact(arrays[1]), as_exact(arrays[2]))]


@exact_complex(hlo.map_)
@exact(hlo.map_)
def map_(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    return [np.broadcast_to(bodies[0](*arrays)[0], op.results[0].shape)]


@exact(hlo.abs_)
def absolute(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    below = signs(arrays[0]) < 0
    draw.decided(below)
    return [either(below, arithmetic.negate(arrays[0]), arrays[0])]


@exact(hlo.sign)
def sign(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    found = signs(arrays[0])
    draw.decided(found > 0)
    return [whole(found)]


_ROUNDED: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    hlo.floor.name: np.floor,
    hlo.ceil.name: np.ceil,
    hlo.round_nearest_even.name: np.rint,
    hlo.round_nearest_afz.name: lambda x: np.trunc(x + np.copysign(0.5, x)),
}


@exact(hlo.floor, hlo.ceil, hlo.round_nearest_even, hlo.round_nearest_afz)
def rounded(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    return [whole(_decided_whole(draw, arrays[0], _ROUNDED[op.name]))]


def _decided_whole(
    draw: Draw, operand: Array, function: Callable[[NDArray[Any]], NDArray[Any]]
) -> NDArray[Any]:
    """The shadows rounded; DrawAgain where their errors leave two results. Whole numbers are sure."""
    shadow, off = _settled(operand)
    low, high = function(shadow - off), function(shadow + off)
    exactly = (operand["residue"] == whole(np.rint(shadow))["residue"]) & (off < 0.25)
    rounded = np.where(exactly, np.rint(shadow), low)
    certain = exactly | (low == high) | special(operand)
    if not certain.all():
        raise DrawAgain("a value is too close to where its rounding changes")
    draw.decided(rounded > np.min(rounded, initial=np.inf))
    return np.where(special(operand), shadow, function(rounded))


def _settled(operand: Array) -> tuple[NDArray[Any], NDArray[Any]]:
    """Where elements are, and how far they may be from there; DrawAgain where one is lost."""
    place, off = places(operand)
    if bool((~np.isfinite(place + off) & ~special(operand)).any()):
        raise DrawAgain("the size of a value is not known")
    return np.where(special(operand), operand["shadow"], place), np.maximum(off, 0.0)


@exact(hlo.is_finite)
def is_finite(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    return [~special(arrays[0])]


@exact(chlo.is_inf, chlo.is_pos_inf, chlo.is_neg_inf)
def is_infinite(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    shadow = np.where(special(arrays[0]), arrays[0]["shadow"], 0.0)
    wanted = {chlo.is_inf.name: np.abs(shadow), chlo.is_pos_inf.name: shadow, chlo.is_neg_inf.name: -shadow}
    return [wanted[op.name] == np.inf]


@exact(hlo.convert)
def convert(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    """Between floats the identity, but to 8 bits (narrow.py); integers are what they are; to integers by the
    shadow.
    """
    operand, dtype = arrays[0], op.results[0].dtype
    if is_float(dtype):
        return [_cast(draw, op.operands[0].dtype, as_exact(operand), dtype)]
    if dtype == "bool":
        result = operand["residue"] != 0
        draw.decided(result)
        return [result]
    return [numpy_convert(_decided_whole(draw, operand, np.trunc), dtype=op.results[0].numpy)]


def _cast(draw: Draw, before: str, operand: Array, dtype: str) -> Array:
    if before in FP8:
        draw.narrow(before).add(operand["residue"][~special(operand)])
    if dtype not in FP8 or draw.kind == CASTS_KEPT:
        return operand
    draw.hashes(dtype, operand.size)
    return narrowed(operand, dtype, draw.key(dtype), draw.narrow(dtype), draw.as_f64)


@exact(hlo.remainder)
def remainder(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    """x - y * trunc(x / y)."""
    left, right = map(as_exact, arrays)
    times = whole(_decided_whole(draw, arithmetic.divide(left, right), np.trunc))
    return [arithmetic.subtract(left, arithmetic.multiply(right, times))]


MOST_FACTORS = 64
"""Up to so large an exponent a power is a product."""


@exact(hlo.power)
def power(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    """By a small whole number a product, element by element, else a random function."""
    base, exponent = np.broadcast_arrays(*map(as_exact, arrays))
    small = (exponent["residue"] < MOST_FACTORS) & ~special(base)
    if not bool(small.any()):
        return random_function(draw, op, arrays)
    result = whole(np.ones(base.shape))
    for time in range(int(exponent["residue"][small].max())):
        result = np.where(exponent["residue"] > time, arithmetic.multiply(result, base), result)
    return [result if bool(small.all()) else np.where(small, result, random_function(draw, op, arrays)[0])]


@exact(hlo.bitcast_convert)
def bitcast_convert(draw: Draw, op: Op, arrays: Sequence[Array], *bodies: Body) -> list[Array]:
    """Bits of integers as the floats that they are; those of exact floats are not known."""
    operand, type = arrays[0], op.results[0]
    if is_exact(operand):
        raise Beyond("the bits of floats")
    bits = np.ascontiguousarray(operand).reshape(-1).view(type.numpy).reshape(type.shape or operand.shape)
    return [whole(bits.astype(np.float64))]
