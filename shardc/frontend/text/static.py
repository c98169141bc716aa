"""Arithmetic on numbers known while compiling: sizes, axes, constants. Bounded in time and memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from shardc.frontend.text.values import Number

MAX_BITS = 4096
"""Larger whole numbers are an error: nothing in a program needs them."""


class StaticError(ValueError):
    """Arithmetic that has no result; the text says why."""


def binary(op: str, left: Number, right: Number) -> Number:
    """`left op right` as Python computes it. Raises StaticError."""
    if op == "@":
        raise StaticError("@ multiplies tensors, and these are numbers")
    try:
        _check_bits(op, left, right)
        return _BINARY[op](left, right)
    except ZeroDivisionError:
        raise StaticError(f"{left} {op} {right}: division by zero") from None
    except (ArithmeticError, TypeError, ValueError) as error:
        raise StaticError(f"{left} {op} {right}: {error}") from None


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
        raise StaticError("this number is too large")


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
