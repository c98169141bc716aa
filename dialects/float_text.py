"""Floating-point numbers as MLIR writes them in constants and attributes."""

from __future__ import annotations

from math import isfinite, log2
from typing import Any

from shardc.layout.limits import finfo

_PADDING = 3


def float_text(x: Any) -> str:
    """How MLIR prints a NumPy scalar: 6 digits and a zero if they read back exactly, else as many as it has.

    Bits in hexadecimal stand for what is not finite, and for large whole numbers that 6 digits don't tell.
    """
    number = float(x)
    bits = f"0x{x.tobytes()[::-1].hex().upper()}"
    if not isfinite(number):
        return bits
    sign = "-" if str(number).startswith("-") else ""
    short = sign + _short(*_decimal(abs(number), 6))
    if float(type(x)(float(short))) == number:
        return short
    digits = _digits(x)
    full = sign + _full(*_decimal(abs(number), digits), digits)
    return full if "." in full else bits


def _digits(x: Any) -> int:
    """How many digits LLVM gives a number of a format: enough to tell all of them apart."""
    eps = finfo(x.dtype).eps
    precision = 1 - round(log2(float(eps)))
    return 2 + precision * 59 // 196


def _decimal(number: float, digits: int) -> tuple[str, int]:
    """The number as text * 10^exponent with at most so many digits, rounded as LLVM rounds.

    Digits far behind are cut off before the rest is rounded, half up.
    """
    whole, divisor = number.as_integer_ratio()
    exponent = 1 - divisor.bit_length()
    whole *= 5**-exponent
    surplus = (whole.bit_length() - (digits * 196 + 58) // 59) * 59 // 196
    if surplus > 0:
        whole //= 10**surplus
        exponent += surplus
    over = len(str(whole)) - digits
    if over > 0:
        whole = (whole + 5 * 10 ** (over - 1)) // 10**over
        exponent += over
    text = str(whole).rstrip("0")
    return (text, exponent + len(str(whole)) - len(text)) if text else ("0", 0)


def _short(text: str, exponent: int) -> str:
    power = exponent + len(text) - 1
    return f"{text[0]}.{text[1:]:0<6}e{'-' if power < 0 else '+'}{abs(power):02}"


def _full(text: str, exponent: int, digits: int) -> str:
    """Plain, unless that takes more than 3 zeros of padding."""
    power = exponent + len(text) - 1
    if (exponent > 0 and (exponent > _PADDING or len(text) + exponent > digits)) or power < -_PADDING:
        return f"{text[0]}.{text[1:] or '0'}E{'+' if power >= 0 else '-'}{abs(power)}"
    if exponent >= 0:
        return text + "0" * exponent
    if power >= 0:
        return f"{text[: power + 1]}.{text[power + 1 :]}"
    return f"0.{'0' * (-power - 1)}{text}"
