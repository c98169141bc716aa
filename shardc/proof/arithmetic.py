"""Arithmetic of exact arrays: sums, products, quotients, and the greater and the lesser of two."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shardc.proof import field
from shardc.proof.field import Residues
from shardc.proof.order import chosen, equal, order, representative, signs
from shardc.proof.values import EXACT, DrawAgain, Floats, any_special, exact, make, special, whole
from shardc.semantics.arrays import Array

Binary = Callable[[Array, Array], Array]


def _combined(
    residues: Callable[..., Residues], shadows: np.ufunc, infinite: Callable[..., Array], *operands: Array
) -> Array:
    """What functions make of the residues and of both shadows; where there are infinities or NaN what
    `infinite`, which has IEEE 754's, makes of the elements.
    """
    if not any_special(*operands):
        return make(residues(*(x["residue"] for x in operands)), *_shadows(shadows, *operands))
    finite = (np.where(special(x), np.uint64(0), x["residue"]) for x in operands)
    result = make(residues(*finite), *_shadows(shadows, *operands))
    places = np.logical_or.reduce(np.broadcast_arrays(*map(special, operands)))
    values = infinite(*[np.broadcast_to(operand, places.shape)[places] for operand in operands])
    result = np.array(np.broadcast_to(result, places.shape))
    result[places] = values
    return result


def _ieee(ufunc: np.ufunc) -> Callable[..., Array]:
    return lambda *arrays: whole(ufunc(*map(representative, arrays)))


def _shadows(function: Callable[..., Floats], *operands: Array) -> tuple[Floats, Floats]:
    """A function of both shadows."""
    return function(*(x["shadow"] for x in operands)), function(*(x["other"] for x in operands))


def add(left: Array, right: Array) -> Array:
    """left + right."""
    return _combined(field.add, np.add, _infinite_sum, exact(left), exact(right))


def _infinite_sum(left: Array, right: Array) -> Array:
    """At least one of each pair is special; the sign of the other says nothing."""
    a, b = (np.where(special(x), x["shadow"], 0.0) for x in (left, right))
    return whole(a + b)


def negate(operand: Array) -> Array:
    """-x."""
    return _combined(field.negate, np.negative, _opposite, operand)


def _opposite(operand: Array) -> Array:
    return whole(-operand["shadow"])


def subtract(left: Array, right: Array) -> Array:
    """left - right."""
    return add(exact(left), negate(exact(right)))


def multiply(left: Array, right: Array) -> Array:
    """left * right."""
    return _combined(field.multiply, np.multiply, _ieee(np.multiply), exact(left), exact(right))


def divide(left: Array, right: Array) -> Array:
    """left / right; by a zero that is no matter of chance (padding, a literal) as IEEE 754 has it.

    Raises DrawAgain where another denominator is zero.
    """
    left, right = exact(left), exact(right)
    zero = right["residue"] == 0
    if bool(zero.any()):
        if bool((zero & ((right["shadow"] != 0) | (right["other"] != 0))).any()):
            raise DrawAgain("a denominator is zero")
        left, right, zero = np.broadcast_arrays(left, right, zero)
        result = np.empty(zero.shape, EXACT)
        result[zero] = whole(signs(left[zero]) / 0.0)
        result[~zero] = divide(left[~zero], right[~zero])
        return result
    return _combined(_quotient, np.divide, _ieee(np.divide), left, right)


def _quotient(left: Residues, right: Residues) -> Residues:
    return field.multiply(left, field.inverse(right))


def maximum(left: Array, right: Array) -> Array:
    """The greater; NaN wins."""
    return chosen(exact(left), exact(right), 1)


def minimum(left: Array, right: Array) -> Array:
    """The lesser; NaN wins."""
    return chosen(exact(left), exact(right), -1)


def total(operand: Array, axes: tuple[int, ...]) -> Array:
    """The sum over the axes."""
    if any_special(operand):
        return _infinite_total(operand, axes)
    shadows = (np.sum(operand[which], axis=axes) for which in ("shadow", "other"))
    return make(field.total(operand["residue"], axes), *shadows)


def _infinite_total(operand: Array, axes: tuple[int, ...]) -> Array:
    infinite = special(operand)
    finite = np.array(operand)
    finite[infinite] = whole(np.asarray(0.0))
    result = total(finite, axes)
    places = infinite.any(axis=axes)
    sums = np.sum(np.where(infinite, operand["shadow"], 0.0), axis=axes)
    result = np.array(result)
    result[places] = whole(sums[places])
    return result


def compare(left: Array, right: Array, direction: str) -> NDArray[np.bool_]:
    """EQ, NE, LT, LE, GT or GE; whatever is compared with NaN is unequal and unordered."""
    left, right = exact(left), exact(right)
    if direction in ("EQ", "NE"):
        return equal(left, right) == (direction == "EQ")
    how = order(left, right)
    wanted = {"LT": (-1,), "LE": (-1, 0), "GT": (1,), "GE": (1, 0)}[direction]
    return np.isin(how, wanted)


COMBINATIONS: dict[str, Binary] = {"sum": add, "prod": multiply, "max": maximum, "min": minimum}
"""What combines two exact arrays, by the name that collectives and reductions give it."""
