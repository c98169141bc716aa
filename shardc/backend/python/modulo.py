"""Python's % and // of integers in StableHLO, whose own round to zero:

    %     select(((r < 0) != (n < 0)) & (r != 0), r + n, r)     where r = remainder(x, n)
    //    select(((r < 0) != (n < 0)) & (r != 0), q - 1, q)     where q = divide(x, n)

so where the remainder and the divisor have different signs, the result is mended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from shardc.backend.python import idiom
from shardc.graph import Dense, Node
from shardc.ops import hlo


def divided(node: Node, made: Mapping[int, Node]) -> Node | None:
    """The remainder that a select makes Python's of, given what makes each value; None if it does not."""
    test, more, rest = node.operands
    remainder, total = made.get(rest), made.get(more)
    if remainder is None or remainder.name not in (hlo.remainder.name, idiom.modulo.name) or total is None:
        return None
    divisor = remainder.operands[1]
    if total.name != hlo.add.name or total.operands != (rest, divisor):
        return None
    return remainder if _differ(test, rest, divisor, made) else None


def floored(node: Node, made: Mapping[int, Node], one: Callable[[int], bool]) -> Node | None:
    """The division that a select rounds down. `one` says of a value whether it is 1."""
    test, less, rounded = node.operands
    division, lower = made.get(rounded), made.get(less)
    if division is None or division.name != hlo.divide.name or lower is None:
        return None
    if lower.name != hlo.subtract.name or lower.operands[0] != rounded or not one(lower.operands[1]):
        return None
    rest = _rest(test, made)
    remainder = None if rest is None else made.get(rest)
    if rest is None or remainder is None or remainder.operands != division.operands:
        return None
    return division if _differ(test, rest, division.operands[1], made) else None


def _rest(test: int, made: Mapping[int, Node]) -> int | None:
    """Which value is compared with zero to be no remainder."""
    both = made.get(test)
    return _of_zero(both.operands[-1], "NE", made) if both is not None and both.operands else None


def _differ(test: int, rest: int, divisor: int, made: Mapping[int, Node]) -> bool:
    """Whether a value says that the remainder is not zero and has another sign than the divisor."""
    both = made.get(test)
    if both is None or both.name != hlo.and_.name:
        return False
    signs, nonzero = both.operands
    compared = _compared(signs, "NE", made) or ()
    negative = tuple(_of_zero(side, "LT", made) for side in compared)
    return negative == (rest, divisor) and _of_zero(nonzero, "NE", made) == rest


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
