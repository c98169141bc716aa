"""Python's operators."""

from __future__ import annotations

from collections.abc import Callable

from shardc.frontend.text.builtins.derived import builtin_of
from shardc.frontend.text.builtins.elementwise import (
    UNSIGNED,
    bitwise_operands,
    compare,
    comparison,
    no_order,
    numeric,
)
from shardc.frontend.text.builtins.products import matmul
from shardc.frontend.text.emitter import Emitter, dtype_of
from shardc.frontend.text.values import Operand, Tensor
from shardc.graph.types import is_complex, is_float, is_inexact
from shardc.ops import hlo

MAX_UNROLLED_POWER = 64
"""x ** n with a larger integer n is a power operation, not multiplications."""


def add(e: Emitter, x: Operand, y: Operand) -> Tensor:
    left, right = e.together(x, y)
    return e.op(hlo.or_.name if left.dtype == "bool" else hlo.add.name, left, right)


def subtract(e: Emitter, x: Operand, y: Operand) -> Tensor:
    left, right = e.together(x, y)
    if left.dtype == "bool":
        raise e.error("bools cannot be subtracted", "x ^ y is true where they differ")
    return e.op(hlo.subtract.name, left, right)


def multiply(e: Emitter, x: Operand, y: Operand) -> Tensor:
    left, right = e.together(x, y)
    return e.op(hlo.and_.name if left.dtype == "bool" else hlo.multiply.name, left, right)


divide = builtin_of(hlo.divide)


def remainder(e: Emitter, x: Operand, y: Operand) -> Tensor:
    """Python's %: the sign of the divisor."""
    with e.group("remainder"):
        left, right = _divided(e, x, y)
        rest = e.op(hlo.remainder.name, left, right)
        if left.dtype in UNSIGNED:
            return rest
        return e.op(hlo.select.name, _differ(e, rest, right), e.op(hlo.add.name, rest, right), rest)


def floor_divide(e: Emitter, x: Operand, y: Operand) -> Tensor:
    """Python's //: rounded down."""
    with e.group("floor_divide"):
        left, right = _divided(e, x, y)
        quotient = e.op(hlo.divide.name, left, right)
        if is_float(left.dtype):
            return e.op(hlo.floor.name, quotient)
        if left.dtype in UNSIGNED:
            return quotient
        one = e.splat(1, left.type, left.weak)
        lower = e.op(hlo.subtract.name, quotient, one)
        rest = e.op(hlo.remainder.name, left, right)
        return e.op(hlo.select.name, _differ(e, rest, right), lower, quotient)


def _divided(e: Emitter, x: Operand, y: Operand) -> tuple[Tensor, Tensor]:
    """The operands of a division that leaves a rest."""
    left, right = (numeric(e, tensor) for tensor in e.together(x, y))
    if is_complex(left.dtype):
        raise no_order(e, left)
    return left, right


def _differ(e: Emitter, rest: Tensor, divisor: Tensor) -> Tensor:
    """Whether a remainder is not zero and has another sign than the divisor."""
    zero = e.splat(0, rest.type, rest.weak)
    signs = comparison(e, comparison(e, rest, zero, "LT"), comparison(e, divisor, zero, "LT"), "NE")
    return e.op(hlo.and_.name, signs, comparison(e, rest, zero, "NE"))


def power(e: Emitter, x: Operand, y: Operand) -> Tensor:
    """x ** y; a small integer exponent becomes multiplications, as in JAX."""
    if isinstance(y, int) and not isinstance(y, bool) and abs(y) <= MAX_UNROLLED_POWER:
        base = numeric(e, x)
        if y < 0 and not is_inexact(base.dtype):
            raise e.error(f"an integer to the power {y}", "astype(x, f32) makes it a float first")
        return _integer_power(e, base, y)
    left, right = (numeric(e, tensor) for tensor in e.together(x, y))
    return e.op(hlo.power.name, left, right)


def _integer_power(e: Emitter, base: Tensor, exponent: int) -> Tensor:
    """By repeated squaring."""
    if exponent == 0:
        return e.splat(1, base.type, base.weak)
    result: Tensor | None = None
    left = abs(exponent)
    while left:
        if left & 1:
            result = base if result is None else e.op(hlo.multiply.name, result, base)
        left >>= 1
        if left:
            base = e.op(hlo.multiply.name, base, base)
    assert result is not None
    return result if exponent > 0 else e.op(hlo.divide.name, e.splat(1, result.type, result.weak), result)


def bitwise(symbol: str, op: str) -> Callable[[Emitter, Operand, Operand], Tensor]:
    """& | ^ on integers and bools."""

    def lower(e: Emitter, x: Operand, y: Operand) -> Tensor:
        return e.op(op, *bitwise_operands(e, symbol, x, y))

    return lower


def shift_left(e: Emitter, x: Operand, y: Operand) -> Tensor:
    return e.op(hlo.shift_left.name, *(numeric(e, tensor) for tensor in bitwise_operands(e, "<<", x, y)))


def shift_right(e: Emitter, x: Operand, y: Operand) -> Tensor:
    left, right = (numeric(e, tensor) for tensor in bitwise_operands(e, ">>", x, y))
    shift = hlo.shift_right_logical if left.dtype in UNSIGNED else hlo.shift_right_arithmetic
    return e.op(shift.name, left, right)


def negate(e: Emitter, x: Operand) -> Tensor:
    if dtype_of(x)[0] == "bool":
        raise e.error("a bool cannot be negated", "~x is elementwise not")
    return e.op(hlo.negate.name, e.tensor(x))


def positive(e: Emitter, x: Operand) -> Tensor:
    return numeric(e, x)


def invert(e: Emitter, x: Operand) -> Tensor:
    """~x: not on bools, all bits on integers."""
    if dtype_of(x)[0] == "bool":
        return e.op(hlo.not_.name, e.tensor(x))
    return e.op(hlo.not_.name, *bitwise_operands(e, "~", x))


BINARY: dict[str, Callable[[Emitter, Operand, Operand], Tensor]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "//": floor_divide,
    "%": remainder,
    "**": power,
    "@": matmul,
    "&": bitwise("&", hlo.and_.name),
    "|": bitwise("|", hlo.or_.name),
    "^": bitwise("^", hlo.xor.name),
    "<<": shift_left,
    ">>": shift_right,
    "==": compare("EQ"),
    "!=": compare("NE"),
    "<": compare("LT"),
    "<=": compare("LE"),
    ">": compare("GT"),
    ">=": compare("GE"),
}

UNARY: dict[str, Callable[[Emitter, Operand], Tensor]] = {"-": negate, "+": positive, "~": invert}
