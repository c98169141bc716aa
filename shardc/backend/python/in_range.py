"""What is not done to indices that are within bounds already, and which values are places in a dimension."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from msgspec.structs import replace

from shardc.backend.python import idiom
from shardc.backend.python.library_run import SHAPES, Program
from shardc.backend.python.ranges import Range, bounds
from shardc.graph import Node
from shardc.ops import chlo, combiner, hlo

_INDEX_TYPES = ("i32", "i64")
_PLACES = {
    chlo.top_k.name: "",
    hlo.iota.name: "iota_dimension",
    idiom.argmax.name: "axis",
    idiom.argmin.name: "axis",
    idiom.argsort.name: "axis",
}
"""Whose last result has places in a dimension of the first operand, or of itself, and which attribute says in
which; the last without one.
"""

_HOLDS: dict[str, Callable[[Range, Range], bool]] = {
    "GE": lambda left, right: left[0] >= right[1],
    "GT": lambda left, right: left[0] > right[1],
    "LE": lambda left, right: left[1] <= right[0],
    "LT": lambda left, right: left[1] < right[0],
}
"""When a comparison holds for all numbers within bounds."""

_DEPTH = 8

_FROM = {each.name for each in (idiom.greatest, idiom.least, idiom.place_of_greatest, idiom.place_of_least)}
"""Whose last result has such places from the second operand on."""


def places(program: Program, node: Node) -> dict[int, Range]:
    """The results of a type that indices have which are places in a dimension, from where to below what they
    go.
    """
    if node.name == hlo.sort.name:
        found = [bounds(value, program.made, program.counters) for value in node.operands]
        given = zip(node.results, found, strict=True)
        return {result: (known[0], known[1] + 1) for result, known in given if known is not None}
    if node.name in _FROM:
        start = bounds(node.operands[1], program.made, program.counters)
        size = program.graph.type(node.operands[0]).shape[cast(int, node.attrs["axis"])]
        return {} if start is None else {node.results[-1]: (start[0], start[1] + size)}
    result = node.results[-1] if node.name in _PLACES else None
    if result is None or program.graph.type(result).dtype not in _INDEX_TYPES:
        return {}
    dim = cast(int, node.attrs.get(_PLACES[node.name], -1))
    return {result: (0, program.graph.type(node.operands[0] if node.operands else result).shape[dim])}


def counted_from_the_start(program: Program, node: Node) -> Node | None:
    """Indices from the end are negative; that of a device or a loop is not."""
    test = program.made.get(node.operands[0])
    if test is None or test.name != hlo.compare.name or test.attrs["comparison_direction"] != "LT":
        return None
    index, zero = (bounds(value, program.made, program.counters) for value in test.operands)
    if index is None or zero is None or index[0] < zero[1]:
        return None
    return _as_it_is(program, node, node.operands[2])


def inside(program: Program, node: Node) -> Node | None:
    """What is taken where indices are within bounds, of those that always are."""
    return _as_it_is(program, node, node.operands[1]) if _holds(program, node.operands[0], _DEPTH) else None


def _holds(program: Program, value: int, depth: int) -> bool:
    """Whether conditions that only compare indices are true everywhere."""
    made = program.made.get(value)
    if made is None or not depth:
        return False
    if made.name in SHAPES or made.name == hlo.and_.name:
        return all(_holds(program, operand, depth - 1) for operand in made.operands)
    if made.name in (hlo.reduce.name, idiom.keepdims.name):
        every = combiner(made.regions[0], program.graph) == "and" and program.splat(made.operands[1])
        return bool(every) and _holds(program, made.operands[0], depth - 1)
    if made.name != hlo.compare.name:
        return False
    left, right = (bounds(operand, program.made, program.counters) for operand in made.operands)
    holds = _HOLDS.get(str(made.attrs["comparison_direction"]))
    return holds is not None and left is not None and right is not None and holds(left, right)


def within(program: Program, node: Node) -> Node | None:
    """A number that is never outside of what it is clamped to."""
    low, index, high = (bounds(value, program.made, program.counters) for value in node.operands)
    if low is None or index is None or high is None or not low[1] <= index[0] <= index[1] <= high[0]:
        return None
    return _as_it_is(program, node, node.operands[1])


def greater(program: Program, node: Node) -> Node | None:
    """Of two numbers that one which is never less than the other."""
    return _decided(program, node, 1)


def lesser(program: Program, node: Node) -> Node | None:
    """Of two numbers that one which is never greater than the other."""
    return _decided(program, node, 0)


def _decided(program: Program, node: Node, which: int) -> Node | None:
    """The less (0) or the greater (1) of two numbers, where their bounds say which that is."""
    for pair in (node.operands, node.operands[::-1]):
        below, above = (bounds(each, program.made, program.counters) for each in pair)
        if below is not None and above is not None and below[1] <= above[0]:
            return _as_it_is(program, node, pair[which])
    return None


def _as_it_is(program: Program, node: Node, value: int) -> Node | None:
    if program.graph.type(value) != program.graph.type(node.results[0]):
        return None
    return replace(node, name=idiom.same.name, operands=(value,))
