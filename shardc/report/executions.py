"""How often each operation of a device's program runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from shardc.analysis.loops import Constants, counted
from shardc.analysis.per_device import PerDeviceProgram
from shardc.analysis.usage import usage
from shardc.graph import Graph, Node, Region
from shardc.ops import Trait, has


@dataclass(frozen=True, slots=True)
class Run:
    """`node` runs `times` times; with `at_least`, in a loop that the program's data end, counted once."""

    node: Node
    times: int
    at_least: bool = False


class Executions:
    """The runs of every operation that the written program has; what nothing uses is not written.

    Of branches, that with the largest total `weight` counts; the operations of the others run 0 times.
    """

    def __init__(self, program: PerDeviceProgram, weight: Callable[[Node], int]) -> None:
        self._graph: Graph = program.graph
        self._weight = weight
        self._constants = Constants(program.graph)
        self._live: dict[int, frozenset[int]] = {}
        self.runs = tuple(self._function(program.body))

    def total(self) -> int:
        """The weight of everything that runs."""
        return _total(self.runs, self._weight)

    def _function(self, region: Region) -> Iterator[Run]:
        live = usage(region).live
        yield from self._region(region, live)

    def _region(self, region: Region, live: set[int]) -> Iterator[Run]:
        for node in region.nodes[:-1]:
            if id(node) not in live:
                continue
            yield Run(node, 1)
            if has(node.name, Trait.CALL):
                yield from self._function(self._graph.functions[str(node.attrs["callee"])].body)
            elif has(node.name, Trait.LOOP):
                yield from self._loop(node, live)
            elif has(node.name, Trait.BRANCH):
                yield from self._branches(node, live)

    def _loop(self, node: Node, live: set[int]) -> Iterator[Run]:
        found = counted(node, self._constants)
        times = 1 if found is None else found.trips
        for region in node.regions if found is None else node.regions[1:]:
            for run in self._region(region, live):
                yield replace(run, times=run.times * times, at_least=run.at_least or found is None)

    def _branches(self, node: Node, live: set[int]) -> Iterator[Run]:
        branches = [list(self._region(region, live)) for region in node.regions]
        taken = max(range(len(branches)), key=lambda i: _total(branches[i], self._weight))
        for i, branch in enumerate(branches):
            yield from (run if i == taken else replace(run, times=0) for run in branch)


def _total(runs: list[Run] | tuple[Run, ...], weight: Callable[[Node], int]) -> int:
    return sum(run.times * weight(run.node) for run in runs)
