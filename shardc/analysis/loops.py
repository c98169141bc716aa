"""Loops that count: a while whose condition is `i < n` and whose body adds one to i."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from msgspec import Struct

from shardc.graph.attrs import Dense
from shardc.graph.program import Graph, Node, Region, walk
from shardc.ops import Trait, has, hlo, sdy


class Counted(Struct, frozen=True):
    """Which carried value counts, from where, and below what."""

    index: int
    start: int
    stop: int

    @property
    def trips(self) -> int:
        return max(0, self.stop - self.start)


def bodies(region: Region) -> Iterator[Region]:
    """A region, and the bodies of the loops and branches in it."""
    yield region
    for node in walk(region):
        if has(node.name, Trait.REGION):
            yield from node.regions


class Constants:
    """The scalar integer constants of a graph, by value id."""

    def __init__(self, graph: Graph) -> None:
        self.values: dict[int, int] = {}
        for function in graph.functions.values():
            self.collect(function.body)

    def collect(self, region: Region) -> None:
        """Add those of a region that no function has."""
        for node in region.nodes:
            for inner in node.regions:
                self.collect(inner)
            if node.name in (hlo.constant.name, sdy.constant.name):
                value = cast(Dense, node.attrs["value"])
                if value.shape == () and value.data.dtype.kind in "iu":
                    self.values[node.results[0]] = int(value.data)


def counted(node: Node, constants: Constants) -> Counted | None:
    """How a while node counts, or None where it doesn't in a way we know."""
    cond, body = node.regions
    if len(cond.nodes) < 2:
        return None
    test = next((n for n in cond.nodes if cond.results[0] in n.results), None)
    if test is None or test.name != hlo.compare.name or test.attrs["comparison_direction"] != "LT":
        return None
    left, right = test.operands
    if left not in cond.args or right not in constants.values:
        return None
    index = cond.args.index(left)
    start = constants.values.get(node.operands[index])
    if start is None or not _adds_one(body, index, constants):
        return None
    return Counted(index, start, constants.values[right])


def _adds_one(body: Region, index: int, constants: Constants) -> bool:
    last = next((n for n in body.nodes if body.results[index] in n.results), None)
    if last is None or last.name != hlo.add.name:
        return False
    counter = body.args[index]
    other = [v for v in last.operands if v != counter]
    return counter in last.operands and len(other) == 1 and constants.values.get(other[0]) == 1
