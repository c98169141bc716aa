"""The special functions of CHLO, from scipy.special; 16-bit floats are computed in f32."""

from __future__ import annotations

from typing import Any

import numpy as np

from shardc.semantics.arrays import Array, quiet, widened
from shardc.semantics.deferred import special


@widened
def erf(operand: Array) -> Array:
    """The error function."""
    return special.erf(operand)


@widened
def erfc(operand: Array) -> Array:
    """1 - erf(x)."""
    return special.erfc(operand)


@widened
def erf_inv(operand: Array) -> Array:
    """The inverse of erf on (-1, 1); infinite at its ends, NaN outside."""
    return special.erfinv(operand)


@widened
def lgamma(operand: Array) -> Array:
    """The logarithm of the absolute value of the gamma function; infinite at both infinities, as in C."""
    return special.gammaln(np.where(operand == -np.inf, np.inf, operand).astype(operand.dtype))


@widened
def digamma(operand: Array) -> Array:
    """The logarithmic derivative of the gamma function; NaN at its poles."""
    pole = (operand <= 0) & (operand == np.floor(operand))
    return np.where(pole, np.asarray(np.nan, operand.dtype), np.asarray(special.psi(operand), operand.dtype))


@widened
def polygamma(order: Array, operand: Array) -> Array:
    """The derivative of digamma of the given order."""
    result: Any = special.polygamma(order.astype(np.int64), operand)
    return np.asarray(result, operand.dtype)


@widened
def zeta(operand: Array, offset: Array) -> Array:
    """The Hurwitz zeta function."""
    return special.zeta(operand, offset)


@widened
def bessel_i1e(operand: Array) -> Array:
    """exp(-|x|) times the modified Bessel function of order 1."""
    return special.i1e(operand)


def is_inf(operand: Array) -> Array:
    """Whether an element is an infinity."""
    return np.isinf(operand)


def is_pos_inf(operand: Array) -> Array:
    """Whether an element is +infinity."""
    return operand == np.inf


def is_neg_inf(operand: Array) -> Array:
    """Whether an element is -infinity."""
    return operand == -np.inf


@quiet
def square(operand: Array) -> Array:
    """x * x."""
    return operand * operand
