"""The operations from a wrong result back to the first wrong value, through functions, branches and loops.

A value is known by when it was wrong first. The way goes to what was wrong before: from what a loop carries
into an iteration to what the one before made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from shardc.graph import Graph, Location, Node, Region, walk
from shardc.ops import Trait, func, has, hlo, sdy

_LONGEST = 12
"""Operations that a path shows: the first and the last ones."""

_CALLEE = {func.call.name: "callee", hlo.composite.name: "decomposition"}


class Step(Struct, frozen=True):
    """An operation of the per-device program."""

    name: str
    loc: Location


def way_back(graph: Graph, result: int, wrong: Mapping[int, int]) -> tuple[Step, ...]:
    """The operations; `wrong`: when values were wrong first, later times being greater."""
    steps = list(_Way(graph, wrong).steps(result))
    return tuple(steps if len(steps) <= _LONGEST else steps[: _LONGEST // 2] + steps[-_LONGEST // 2 :])


class _Way(Struct):
    """sources: argument of a region that was gone into -> what it may be."""

    graph: Graph
    wrong: Mapping[int, int]
    makers: dict[int, tuple[Node, int]] = {}
    sources: dict[int, tuple[int, ...]] = {}

    def __post_init__(self) -> None:
        for function in self.graph.functions.values():
            for node in walk(function.body):
                self.makers.update((value, (node, place)) for place, value in enumerate(node.results))

    def steps(self, value: int | None) -> Iterator[Step]:
        before = 1 + max(self.wrong.values(), default=0)
        while value in self.makers:
            node, place = self.makers[value]
            if node.name != sdy.manual_computation.name:
                yield Step(node.name, node.loc)
            before = self.wrong.get(value, before)
            inside = [region.results[place] for region in self._regions(node)]
            value = self._earlier(inside or node.operands, before)
            if value is None and node.name == sdy.manual_computation.name:
                value = inside[0]  # elements that are right ones, at other places

    def _regions(self, node: Node) -> list[Region]:
        """Those that make the node's results, whose arguments are known then."""
        if node.name in _CALLEE:
            regions = [self.graph.functions[str(node.attrs[_CALLEE[node.name]])].body]
        elif has(node.name, Trait.LOOP):
            regions = [node.regions[1]]
        elif has(node.name, Trait.REGION) or node.name == sdy.named_computation.name:
            regions = list(node.regions)
        else:
            return []
        for region in regions:
            if len(region.args) == len(node.operands):
                before = [(operand,) for operand in node.operands]
                if has(node.name, Trait.LOOP):
                    before = [*zip(region.results, node.operands, strict=True)]
                self.sources.update(zip(region.args, before, strict=True))
        return regions

    def _earlier(self, values: Sequence[int], before: int) -> int | None:
        """The first of the values that was wrong before."""
        seen, left = set[int](), [*values]
        while left:
            value = left.pop(0)
            if self.wrong.get(value, before) < before:
                return value
            if value not in seen:
                seen.add(value)
                left = [*self.sources.get(value, ()), *left]
        return None
