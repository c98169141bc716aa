"""Arithmetic on numbers known while compiling: sizes, axes, constants. Bounded in time and memory."""

from __future__ import annotations

from collections.abc import Callable

from shardc.frontend.text.values import Scalar

MAX_BITS = 4096
"""Larger whole numbers are an error: nothing in a program needs them."""


class StaticError(ValueError):
    """Arithmetic that has no result; the text says why."""


def binary(op: str, left: Scalar, right: Scalar) -> Scalar:
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


def unary(op: str, operand: Scalar) -> Scalar:
    """`op operand`. Raises StaticError."""
    if op == "~" and isinstance(operand, bool):
        return not operand
    if op == "~" and isinstance(operand, float):
        raise StaticError("~ takes whole numbers and bools")
    return _UNARY[op](operand)


def _check_bits(op: str, left: Scalar, right: Scalar) -> None:
    if isinstance(left, float) or isinstance(right, float):
        return
    size = {
        "**": int(left).bit_length() * max(right, 0),
        "<<": int(left).bit_length() + max(right, 0),
        "*": int(left).bit_length() + int(right).bit_length(),
    }
    if size.get(op, 0) > MAX_BITS:
        raise StaticError("this number is too large")


def _bits(function: Callable[[int, int], int]) -> Callable[[Scalar, Scalar], Scalar]:
    def compute(left: Scalar, right: Scalar) -> Scalar:
        if isinstance(left, float) or isinstance(right, float):
            raise TypeError("takes whole numbers and bools")
        return function(left, right)

    return compute


def _power(left: Scalar, right: Scalar) -> Scalar:
    result: object = left**right
    if not isinstance(result, int | float):
        raise TypeError("has no real result")
    return result


_BINARY: dict[str, Callable[[Scalar, Scalar], Scalar]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
    "//": lambda left, right: left // right,
    "%": lambda left, right: left % right,
    "**": _power,
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
    "&": _bits(lambda left, right: left & right),
    "|": _bits(lambda left, right: left | right),
    "^": _bits(lambda left, right: left ^ right),
    "<<": _bits(lambda left, right: left << right),
    ">>": _bits(lambda left, right: left >> right),
}

_UNARY: dict[str, Callable[[Scalar], Scalar]] = {
    "-": lambda value: -value,
    "+": lambda value: +value,
    "~": lambda value: ~int(value),
}
