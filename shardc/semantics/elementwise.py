"""Elementwise operations of StableHLO, with its treatment of zero divisors, shifts, NaN and conversions."""

from __future__ import annotations

from typing import Any

import numpy as np

from shardc.semantics.arrays import Array, integer_ends, is_float, is_whole, quiet, widen, widened

_COMPARISONS = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}


@quiet
def divide(lhs: Array, rhs: Array) -> Array:
    """Floats and complex as IEEE has it. Integers round toward zero; x / 0 has all bits set."""
    if lhs.dtype.kind not in "iu":
        return np.divide(lhs, rhs)
    zero = rhs == 0
    divisor = np.where(zero, np.ones_like(rhs), rhs)
    quotient = lhs // divisor
    if lhs.dtype.kind == "i":
        inexact = quotient * divisor != lhs
        quotient = quotient + (inexact & ((lhs < 0) != (divisor < 0))).astype(lhs.dtype)
    return np.where(zero, np.invert(np.zeros_like(rhs)), quotient)


@quiet
def remainder(lhs: Array, rhs: Array) -> Array:
    """What division leaves, with the sign of `lhs`; of integers, x % 0 is x."""
    if lhs.dtype.kind not in "iu":
        return np.fmod(lhs, rhs)
    zero = rhs == 0
    return np.where(zero, lhs, np.fmod(lhs, np.where(zero, np.ones_like(rhs), rhs)))


@quiet
def power(lhs: Array, rhs: Array) -> Array:
    """Integers wrap; a negative exponent gives 0 except for bases 1 and -1."""
    if lhs.dtype.kind != "i":
        return np.power(lhs, rhs)
    positive = np.power(lhs, np.maximum(rhs, 0))
    odd_sign = np.where(rhs % 2 == 0, np.ones_like(lhs), lhs)
    negative = np.where(abs(lhs) == 1, odd_sign, np.zeros_like(lhs))
    return np.where(rhs < 0, negative, positive)


@quiet
def absolute(operand: Array) -> Array:
    """The absolute value; of the lowest integer, itself; of complex numbers, the real modulus."""
    return np.abs(operand)


def sign(operand: Array) -> Array:
    """-1, 0 or 1; zeros keep their sign and NaN stays; x / |x| of complex numbers."""
    return np.where(operand == 0, operand, np.sign(operand))


@widened
@quiet
def logistic(operand: Array) -> Array:
    """1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-operand))


@widened
@quiet
def rsqrt(operand: Array) -> Array:
    """1 / sqrt(x)."""
    return 1 / np.sqrt(operand)


@widened
@quiet
def exponential_minus_one(operand: Array) -> Array:
    """exp(x) - 1, exact near 0."""
    return np.expm1(operand)


@widened
@quiet
def log_plus_one(operand: Array) -> Array:
    """log(1 + x), exact near 0."""
    return np.log1p(operand)


@quiet
def atan2(lhs: Array, rhs: Array) -> Array:
    """The angle of the point (rhs, lhs)."""
    if lhs.dtype.kind == "c":
        return -1j * np.log((rhs + 1j * lhs) / np.sqrt(rhs * rhs + lhs * lhs))
    return np.arctan2(lhs, rhs)


def complex_(real: Array, imaginary: Array) -> Array:
    """Numbers of these parts, one of which may be a scalar, and infinite: 1j times an infinity has a NaN."""
    shape = np.broadcast_shapes(real.shape, imaginary.shape)
    result = np.empty(shape, np.result_type(real, np.complex64))
    result.real, result.imag = real, imaginary
    return result


def round_nearest_afz(operand: Array) -> Array:
    """To the nearest integer, ties away from zero."""
    whole = np.trunc(operand)
    away = np.abs(operand - whole) >= operand.dtype.type(0.5)
    return np.where(away, whole + np.sign(operand), whole)


def _unsigned(array: Array) -> Array:
    return array.view(f"u{array.dtype.itemsize}")


def _bits(array: Array) -> int:
    return array.dtype.itemsize * 8


def shift_left(lhs: Array, rhs: Array) -> Array:
    """Zeros where the shift, read as unsigned, is at least the number of bits, as NumPy has it."""
    return np.asarray(np.left_shift(_unsigned(lhs), _unsigned(rhs))).view(lhs.dtype)


def shift_right_logical(lhs: Array, rhs: Array) -> Array:
    """Shifts zeros in."""
    return np.asarray(np.right_shift(_unsigned(lhs), _unsigned(rhs))).view(lhs.dtype)


def shift_right_arithmetic(lhs: Array, rhs: Array) -> Array:
    """Shifts the sign bit in."""
    signed = lhs.view(f"i{lhs.dtype.itemsize}")
    amount = np.minimum(_unsigned(rhs), _bits(lhs) - 1).astype(signed.dtype)
    return np.right_shift(signed, amount).view(lhs.dtype)


def popcnt(operand: Array) -> Array:
    """The number of bits that are set."""
    return np.bitwise_count(_unsigned(operand)).astype(operand.dtype)


def count_leading_zeros(operand: Array) -> Array:
    """The number of zeros before the first bit that is set."""
    smeared = _unsigned(operand)
    for shift in (1, 2, 4, 8, 16, 32):
        if shift < _bits(operand):
            smeared = smeared | (smeared >> np.asarray(shift, smeared.dtype))
    return (_bits(operand) - np.bitwise_count(smeared)).astype(operand.dtype)


def mulhi(lhs: Array, rhs: Array) -> Array:
    """The upper half of the bits of the product."""
    bits = _bits(lhs)
    if bits < 64:
        wide = np.int64 if lhs.dtype.kind == "i" else np.uint64
        return (lhs.astype(wide) * rhs.astype(wide) >> wide(bits)).astype(lhs.dtype)
    upper = _upper_of_unsigned(lhs.astype(np.uint64), rhs.astype(np.uint64)).astype(lhs.dtype)
    if lhs.dtype.kind == "u":
        return upper
    return upper - np.where(lhs < 0, rhs, 0) - np.where(rhs < 0, lhs, 0)


def _upper_of_unsigned(lhs: Array, rhs: Array) -> Array:
    """Of u64, by the products of their 32-bit halves."""
    half, low = np.uint64(32), np.uint64(2**32 - 1)
    lhs_high, lhs_low, rhs_high, rhs_low = lhs >> half, lhs & low, rhs >> half, rhs & low
    middle = lhs_high * rhs_low + (lhs_low * rhs_low >> half)
    carried = lhs_low * rhs_high + (middle & low)
    return lhs_high * rhs_high + (middle >> half) + (carried >> half)


def compare(lhs: Array, rhs: Array, *, comparison_direction: str, compare_type: str = "FLOAT") -> Array:
    """EQ, NE, LT, LE, GT or GE. TOTALORDER puts -NaN < -inf < … < -0 < 0 < … < inf < NaN."""
    if compare_type == "TOTALORDER" and is_float(lhs):
        lhs, rhs = total_order(lhs), total_order(rhs)
    return _COMPARISONS[comparison_direction](lhs, rhs)


def total_order(operand: Array) -> Array:
    """Integers that are ordered as IEEE 754 totally orders the floats; other arrays as they are."""
    if not is_float(operand):
        return operand
    if operand.dtype.itemsize == 1 and np.asarray(-1).astype(operand.dtype) != -1:
        return np.asarray(operand).view(np.uint8)  # a float without sign
    bits = np.asarray(operand).view(f"i{operand.dtype.itemsize}")
    ends = np.iinfo(bits.dtype)
    places = np.where(bits < 0, bits ^ ends.max, bits)
    # some floats of 8 bits have a NaN in the place of -0
    return np.where((places == -1) & np.isnan(operand), bits.dtype.type(ends.min), places)


def select(pred: Array, on_true: Array, on_false: Array) -> Array:
    """Elements of `on_true` where `pred` is true."""
    return np.where(pred, on_true, on_false)


def clamp(minimum: Array, operand: Array, maximum: Array) -> Array:
    """min(max(operand, minimum), maximum)."""
    return np.minimum(np.maximum(operand, minimum), maximum)


@quiet
def convert(operand: Array, *, dtype: np.dtype[Any]) -> Array:
    """Floats become integers by truncation, clamped to the range, NaN to 0; to bool by x != 0."""
    if dtype == np.bool_:
        return operand != 0
    if operand.dtype.kind == "c" and dtype.kind != "c":
        operand = np.real(operand)
    if is_whole(dtype) and is_float(operand):
        return _truncate(operand, dtype)
    return widen(operand).astype(dtype)  # ml_dtypes has no casts between some floats of 8 bits


def _truncate(operand: Array, dtype: np.dtype[Any]) -> Array:
    least, most = integer_ends(dtype)
    wide = operand.astype(np.float64)
    inside = (wide > float(least) - 1) & (wide < float(most) + (1 if most < 2**53 else 0))
    whole = np.where(inside, wide, 0).astype(dtype)
    outside = np.where(wide > 0, np.full((), most, dtype), np.full((), least, dtype))
    return np.where(inside, whole, np.where(np.isnan(wide), np.zeros((), dtype), outside))


@quiet
def reduce_precision(operand: Array, *, exponent_bits: int, mantissa_bits: int) -> Array:
    """Rounded to a float format with that many bits: to nearest even, large to infinity, small to zero."""
    if operand.dtype.itemsize == 1:  # in f32, where their subnormal numbers are none
        return reduce_precision(
            widen(operand), exponent_bits=exponent_bits, mantissa_bits=mantissa_bits
        ).astype(operand.dtype)
    full_mantissa = np.finfo(operand.dtype).nmant if operand.dtype.kind == "f" else 7
    bits = _unsigned(np.asarray(operand))
    word = bits.dtype.type
    drop = full_mantissa - mantissa_bits
    if drop > 0:
        half = word((1 << (drop - 1)) - 1) + ((bits >> word(drop)) & word(1))
        bits = (bits + half) & word(~((1 << drop) - 1) & (2 ** (8 * bits.dtype.itemsize) - 1))
    rounded = bits.view(operand.dtype)
    bias = 2 ** (exponent_bits - 1) - 1
    magnitude = np.abs(rounded).astype(np.float64)
    large = magnitude >= (np.ldexp(1.0, bias + 1) if bias < 1023 else np.inf)
    small = magnitude < np.ldexp(1.0, 1 - bias)
    signed = np.copysign(np.ones_like(operand), operand)
    rounded = np.where(large, signed * operand.dtype.type(np.inf), rounded)
    rounded = np.where(small, signed * operand.dtype.type(0), rounded)
    return np.where(np.isnan(operand), operand, rounded)
