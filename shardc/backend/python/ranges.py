"""What numbers are, as far as their making tells: one everywhere, or within which bounds integers lie that
devices, loops and arange count with.

Of a table that devices look themselves up in, the bounds are those of all its numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

import numpy as np

from shardc.analysis.collectives import axes_of
from shardc.backend.python import idiom
from shardc.graph import Dense, Node
from shardc.layout import size_of
from shardc.ops import hlo, spmd

Range = tuple[int, int]
"""The least and the greatest."""

_DEPTH = 8
_LIMIT = 2**31
_ANY: Range = (-_LIMIT, _LIMIT - 1)


def bounds(
    value: int, made: Mapping[int, Node], counters: Mapping[int, Range], depth: int = _DEPTH
) -> Range | None:
    """The bounds of a number, given what makes each value and from where to below what counters go.

    None where they are not known, or an i32 might not hold what leads there.
    """
    if value in counters:
        start, stop = counters[value]
        return start, max(start, stop - 1)
    node = made.get(value)
    if node is None or not depth:
        return None
    if node.name == spmd.axis_index.name:
        return 0, size_of(axes_of(node)) - 1
    if node.name == hlo.constant.name:
        return _constant(cast(Dense, node.attrs["value"]))
    if node.name in _PARTS:
        return bounds(node.operands[0], made, counters, depth - 1)
    if node.name == hlo.clamp.name:
        low, _, high = (bounds(operand, made, counters, depth - 1) for operand in node.operands)
        return None if low is None or high is None else (min(low[0], high[0]), high[1])
    if node.name == spmd.all_reduce.name and node.attrs["kind"] in ("max", "min"):
        return bounds(node.operands[0], made, counters, depth - 1)
    if node.name == hlo.select.name:
        one, other = (bounds(operand, made, counters, depth - 1) for operand in node.operands[1:])
        return None if one is None or other is None else (min(one[0], other[0]), max(one[1], other[1]))
    if node.name not in _ARITHMETIC and node.name != hlo.and_.name:
        return None
    sides = [bounds(operand, made, counters, depth - 1) for operand in node.operands]
    if node.name == hlo.and_.name:  # bits that one side has, and no sign if one has none
        most = [side[1] for side in sides if side is not None and side[0] >= 0]
        return (0, min(most)) if most else None
    left, right = sides
    if node.name == idiom.modulo.name and left is None and right is not None:
        left = _ANY
    if node.name in _EXTREMES and any(_is_i32(value, made) for value in node.operands):
        left, right = left or _ANY, right or _ANY
    found = None if left is None or right is None else _ARITHMETIC[node.name](left, right)
    return found if found and -_LIMIT <= found[0] and found[1] < _LIMIT else None


def splat(value: int, made: Mapping[int, Node]) -> object:
    """The one element of a constant that has it everywhere, through broadcasts; None of anything else."""
    node = made.get(value)
    if node is None or node.name == hlo.broadcast_in_dim.name:
        return None if node is None else splat(node.operands[0], made)
    if node.name != hlo.constant.name or not cast(Dense, node.attrs["value"]).is_splat:
        return None
    return cast(Dense, node.attrs["value"]).data[()]


def _is_i32(value: int, made: Mapping[int, Node]) -> bool:
    """Whether a value is a number of 32 bits, and so is what stands beside it."""
    return getattr(splat(value, made), "dtype", None) == np.int32


def _constant(value: Dense) -> Range | None:
    if not value.data.size or value.data.dtype.kind not in "iu":
        return None
    return int(value.data.min()), int(value.data.max())


def _add(left: Range, right: Range) -> Range:
    return left[0] + right[0], left[1] + right[1]


def _subtract(left: Range, right: Range) -> Range:
    return left[0] - right[1], left[1] - right[0]


def _multiply(left: Range, right: Range) -> Range:
    corners = [a * b for a in left for b in right]
    return min(corners), max(corners)


def _floor_divide(left: Range, right: Range) -> Range | None:
    """By what is positive, rounded down."""
    corners = [a // b for a in left for b in right if b > 0]
    return (min(corners), max(corners)) if right[0] > 0 else None


def _modulo(left: Range, right: Range) -> Range | None:
    """Python's, by what is positive."""
    return _remainder(left, right) or ((0, right[1] - 1) if right[0] > 0 else None)


def _remainder(left: Range, right: Range) -> Range | None:
    """Of what is not negative, by what is positive."""
    return (0, min(left[1], right[1] - 1)) if left[0] >= 0 and right[0] > 0 else None


def _greater(left: Range, right: Range) -> Range:
    return max(left[0], right[0]), max(left[1], right[1])


def _lesser(left: Range, right: Range) -> Range:
    return min(left[0], right[0]), min(left[1], right[1])


_EXTREMES = {hlo.maximum.name, hlo.minimum.name}
"""What has bounds if one side has."""

_PARTS = {
    idiom.same.name,
    idiom.layer.name,
    idiom.sliced.name,
    hlo.dynamic_slice.name,
    hlo.slice_.name,
    hlo.reshape.name,
    hlo.broadcast_in_dim.name,
    hlo.transpose.name,
    spmd.as_partial.name,
}
"""What has only numbers of its first operand."""

_ARITHMETIC: dict[str, Callable[[Range, Range], Range | None]] = {
    idiom.floor_divide.name: _floor_divide,
    idiom.modulo.name: _modulo,
    hlo.add.name: _add,
    hlo.maximum.name: _greater,
    hlo.minimum.name: _lesser,
    hlo.multiply.name: _multiply,
    hlo.remainder.name: _remainder,
    hlo.subtract.name: _subtract,
}
