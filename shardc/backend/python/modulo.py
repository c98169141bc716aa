"""Python's % and // of integers in StableHLO, whose own round to zero:

    %     select(((r < 0) != (n < 0)) & (r != 0), r + n, r)     where r = remainder(x, n)
    //    select(((r < 0) != (n < 0)) & (r != 0), q - 1, q)     where q = divide(x, n)

so where the remainder and the divisor have different signs, the result is mended. For //, JAX compares the
signs of x and n; of a divisor that is a number above 0 the sign is not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, cast

from msgspec.structs import replace

from shardc.backend.python import idiom
from shardc.backend.python.library_run import Program
from shardc.backend.python.ranges import Range, bounds
from shardc.graph import Dense, Node, is_integer
from shardc.ops import hlo

Splat = Callable[[int], object]
"""The one element of a constant; None for other values."""


class Counting(Program, Protocol):
    """A program that knows which values count, and the range they take."""

    counters: dict[int, Range]


def modulo(program: Counting, node: Node) -> Node | None:
    """Python's % is the remainder where nothing is negative."""
    known = [bounds(value, program.made, program.counters) for value in node.operands]
    least = [-1 if found is None else found[0] for found in known]
    return replace(node, name=idiom.modulo.name) if least[0] >= 0 and least[1] > 0 else None


def mended(program: Program, node: Node) -> Node | None:
    """% and // as the language means them, whatever the divisor."""
    rest = divided(node, program.made, program.splat)
    if rest is not None:
        return Node(node.id, idiom.remainder.name, rest.operands, node.results, {}, (), node.loc)
    whole = floored(node, program.made, program.splat)
    if whole is None or not is_integer(program.graph.type(node.results[0]).dtype):
        return None
    return Node(node.id, idiom.floored.name, whole.operands, node.results, {}, (), node.loc)


def by_positive(program: Program, node: Node) -> Node | None:
    """The same of integers by a positive number, which NumPy and JAX mean alike."""
    made = mended(program, node)
    if made is None or not is_integer(program.graph.type(node.results[0]).dtype):
        return None
    number = program.splat(made.operands[1])
    if number is None or int(cast(int, number)) <= 0:
        return None
    positive = idiom.modulo if made.name == idiom.remainder.name else idiom.floor_divide
    return replace(made, name=positive.name)


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
