"""Arithmetic on numbers known while compiling: sizes, axes, constants. Bounded in time and memory."""

from __future__ import annotations

from cmath import isinf
from collections.abc import Callable
from typing import Any, cast

from shardc.frontend.text.values import Number

MAX_BITS = 4096
"""Larger whole numbers are an error: nothing in a program needs them."""


_TOO_LARGE = "this number is too large"


class StaticError(ValueError):
    """Arithmetic that has no result; the text says why."""


def binary(op: str, left: Number, right: Number) -> Number:
    """`left op right` as Python computes it. Raises StaticError."""
    if op == "@":
        raise StaticError("@ multiplies tensors, and these are numbers")
    try:
        _check_bits(op, left, right)
        result = _BINARY[op](left, right)
    except ZeroDivisionError:
        raise StaticError(f"{left} {op} {right}: division by zero") from None
    except OverflowError:
        raise StaticError(_TOO_LARGE) from None
    except (ArithmeticError, TypeError, ValueError) as error:
        raise StaticError(f"{left} {op} {right}: {error}") from None
    if _is_infinite(result) and not (_is_infinite(left) or _is_infinite(right)):
        raise StaticError(_TOO_LARGE)
    return result


def unary(op: str, operand: Number) -> Number:
    """`op operand`. Raises StaticError."""
    if op == "~" and isinstance(operand, bool):
        return not operand
    if op == "~" and isinstance(operand, float | complex):
        raise StaticError("~ takes whole numbers and bools")
    return _UNARY[op](operand)


def _check_bits(op: str, left: Number, right: Number) -> None:
    if isinstance(left, float | complex) or isinstance(right, float | complex):
        return
    size = {
        "**": int(left).bit_length() * max(right, 0),
        "<<": int(left).bit_length() + max(right, 0),
        "*": int(left).bit_length() + int(right).bit_length(),
    }
    if size.get(op, 0) > MAX_BITS:
        raise StaticError(_TOO_LARGE)


def _is_infinite(value: Number) -> bool:
    return isinstance(value, float | complex) and isinf(value)


def _bits(function: Callable[[int, int], int]) -> Callable[[Number, Number], Number]:
    def compute(left: Number, right: Number) -> Number:
        if isinstance(left, float | complex) or isinstance(right, float | complex):
            raise TypeError("takes whole numbers and bools")
        return function(left, right)

    return compute


def _power(left: Number, right: Number) -> Number:
    result: object = left**right
    if isinstance(result, complex) and not isinstance(left, complex) and not isinstance(right, complex):
        raise TypeError("has no real result")
    assert isinstance(result, Number)
    return result


def _ordered(function: Callable[[Any, Any], Number]) -> Callable[[Number, Number], Number]:
    def compute(left: Number, right: Number) -> Number:
        if isinstance(left, complex) or isinstance(right, complex):
            raise TypeError("complex numbers have no order")
        return function(left, right)

    return compute


_BINARY: dict[str, Callable[[Number, Number], Number]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
    "//": _ordered(lambda left, right: left // right),
    "%": _ordered(lambda left, right: left % right),
    "**": _power,
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": _ordered(lambda left, right: left < right),
    "<=": _ordered(lambda left, right: left <= right),
    ">": _ordered(lambda left, right: left > right),
    ">=": _ordered(lambda left, right: left >= right),
    "&": _bits(lambda left, right: left & right),
    "|": _bits(lambda left, right: left | right),
    "^": _bits(lambda left, right: left ^ right),
    "<<": _bits(lambda left, right: left << right),
    ">>": _bits(lambda left, right: left >> right),
}

_UNARY: dict[str, Callable[[Number], Number]] = {
    "-": lambda value: -value,
    "+": lambda value: +value,
    "~": lambda value: ~cast(int, value),
}
