"""Where dynamic slices begin.

StableHLO moves a start below 0 to 0; JAX counts it from the end, once, and only then moves what is still out
of range. So JAX's text for a start is one of three:

    select(i < 0, i + n, i), n the dimension's size   ->  i, and JAX counts it from the end
    what is never below 0                             ->  itself
    all others                                        ->  itself, and JAX is told not to count from the end
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec.structs import replace

from shardc.backend.python import idiom
from shardc.backend.python.ranges import Range, bounds, splat
from shardc.graph import Graph, Node
from shardc.ops import hlo

_AT = {hlo.dynamic_slice.name: (idiom.sliced.name, 1), hlo.dynamic_update_slice.name: (idiom.updated.name, 2)}
"""operation -> its idiom, and the operand that is the first start"""


class Known(Protocol):
    """What is known of the program: its values, the nodes that make them, what arguments count."""

    graph: Graph
    made: dict[int, Node]
    counters: dict[int, Range]


def counted_from_the_end(known: Known, node: Node) -> Node:
    """A dynamic slice or update as JAX reads it: `from_end` says of each start whether JAX may count it."""
    name, first = _AT[node.name]
    shape = known.graph.type(node.operands[0]).shape
    starts = [_start(known, start, size) for start, size in zip(node.operands[first:], shape, strict=True)]
    operands = (*node.operands[:first], *(start for start, _ in starts))
    return replace(
        node, name=name, operands=operands, attrs={**node.attrs, "from_end": tuple(may for _, may in starts)}
    )


def _start(known: Known, start: int, size: int) -> tuple[int, bool]:
    """The start to print for a dimension of a size, and whether JAX may count it from the end."""
    if known.graph.type(start).dtype.startswith("u"):
        return start, True
    found = bounds(start, known.made, known.counters)
    if found is not None and found[0] >= 0:
        return start, True
    counted = _counted(known.made, start, size)
    return (start, False) if counted is None else (counted, True)


def _counted(made: Mapping[int, Node], start: int, size: int) -> int | None:
    """The index that a start says to be counted from the end where it is negative."""
    chosen = made.get(start)
    if chosen is None or chosen.name != hlo.select.name:
        return None
    test, more, index = made.get(chosen.operands[0]), made.get(chosen.operands[1]), chosen.operands[2]
    if test is None or more is None or test.name != hlo.compare.name or more.name != hlo.add.name:
        return None
    if test.attrs["comparison_direction"] != "LT" or test.operands[0] != index or index not in more.operands:
        return None
    (added,) = [value for value in more.operands if value != index] or (index,)
    return index if (splat(test.operands[1], made), splat(added, made)) == (0, size) else None
