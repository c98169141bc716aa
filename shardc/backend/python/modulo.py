"""Python's % and // of integers in StableHLO, whose own round to zero:

    %     select(((r < 0) != (n < 0)) & (r != 0), r + n, r)     where r = remainder(x, n)
    //    select(((r < 0) != (n < 0)) & (r != 0), q - 1, q)     where q = divide(x, n)

so where the remainder and the divisor have different signs, the result is mended. For //, JAX compares the
signs of x and n; of a divisor that is a number above 0 the sign is not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from shardc.backend.python import idiom
from shardc.graph import Dense, Node
from shardc.ops import hlo

Splat = Callable[[int], object]
"""The one element of a constant; None for other values."""


def divided(node: Node, made: Mapping[int, Node], splat: Splat) -> Node | None:
    """The remainder that a select makes Python's of, given what makes each value; None if it does not."""
    test, more, rest = node.operands
    remainder, total = made.get(rest), made.get(more)
    if remainder is None or remainder.name not in (hlo.remainder.name, idiom.modulo.name) or total is None:
        return None
    divisor = remainder.operands[1]
    if total.name != hlo.add.name or total.operands != (rest, divisor):
        return None
    return remainder if _differ(test, rest, remainder.operands, made, splat) else None


def floored(node: Node, made: Mapping[int, Node], splat: Splat) -> Node | None:
    """The division that a select rounds down."""
    test, less, rounded = node.operands
    division, lower = made.get(rounded), made.get(less)
    if division is None or division.name != hlo.divide.name or lower is None:
        return None
    if lower.name != hlo.subtract.name or lower.operands[0] != rounded or splat(lower.operands[1]) != 1:
        return None
    rest = _rest(test, made)
    remainder = None if rest is None else made.get(rest)
    if rest is None or remainder is None or remainder.operands != division.operands:
        return None
    return division if _differ(test, rest, division.operands, made, splat) else None


def _rest(test: int, made: Mapping[int, Node]) -> int | None:
    """Which value is compared with zero to be no remainder."""
    both = made.get(test)
    return _of_zero(both.operands[-1], "NE", made) if both is not None and both.operands else None


def _differ(test: int, rest: int, operands: Sequence[int], made: Mapping[int, Node], splat: Splat) -> bool:
    """Whether a value says that the remainder is not zero and has another sign than the divisor."""
    both = made.get(test)
    if both is None or both.name != hlo.and_.name:
        return False
    signs, nonzero = both.operands
    if _of_zero(nonzero, "NE", made) != rest:
        return False
    dividend, divisor = operands
    number = splat(divisor)
    above = number is not None and cast(float, number) > 0
    if above and _of_zero(signs, "LT", made) == rest:
        return True
    compared: tuple[int, ...] = _compared(signs, "NE", made) or ()
    if tuple(_of_zero(side, "LT", made) for side in compared) == (rest, divisor):
        return True
    if len(compared) != 2 or _sign_of(compared[0], made) != dividend:
        return False
    return _sign_of(compared[1], made) == divisor or (above and splat(compared[1]) == 1)


def _sign_of(value: int, made: Mapping[int, Node]) -> int | None:
    """That whose sign a value is, through broadcasts."""
    node = made.get(value)
    if node is not None and node.name == hlo.broadcast_in_dim.name:
        return _sign_of(node.operands[0], made)
    return node.operands[0] if node is not None and node.name == hlo.sign.name else None


def _compared(value: int, direction: str, made: Mapping[int, Node]) -> tuple[int, ...] | None:
    node = made.get(value)
    if node is None or node.name != hlo.compare.name or node.attrs["comparison_direction"] != direction:
        return None
    return node.operands


def _of_zero(value: int, direction: str, made: Mapping[int, Node]) -> int | None:
    """What is compared with zero so."""
    compared = _compared(value, direction, made)
    return compared[0] if compared is not None and _is_zero(compared[1], made) else None


def _is_zero(value: int, made: Mapping[int, Node]) -> bool:
    node = made.get(value)
    if node is not None and node.name == hlo.broadcast_in_dim.name:
        return _is_zero(node.operands[0], made)
    return node is not None and node.name == hlo.constant.name and _zero(node.attrs["value"])


def _zero(value: object) -> bool:
    return isinstance(value, Dense) and value.is_splat and value.data[()] == 0
