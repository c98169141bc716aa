"""How often each operation of a device's program runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from shardc.analysis.loops import Constants, counted
from shardc.analysis.per_device import PerDeviceProgram
from shardc.analysis.usage import usage
from shardc.graph import Graph, Node, Region
from shardc.ops import Trait, has


class Run(Struct, frozen=True):
    """`node` runs `times` times; with `at_least`, in a loop that the program's data end, counted once.
    `calls` are the ids of the calls around it, outermost first."""

    node: Node
    times: int
    at_least: bool = False
    calls: tuple[int, ...] = ()


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
                for run in self._function(self._graph.functions[str(node.attrs["callee"])].body):
                    yield replace(run, calls=(node.id, *run.calls))
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


class WrittenOut:
    """A program with the bodies of functions in the place of their calls: equal layers are one function for
    the reader, and no border in memory for a compiler. Nodes and values have numbers of their own."""

    def __init__(self, program: PerDeviceProgram, runs: Sequence[Run]) -> None:
        self._program, self._runs = program, runs
        self._numbers: dict[tuple[tuple[int, ...], int], int] = {}
        self._nodes: dict[tuple[tuple[int, ...], int], int] = {}
        self._same: dict[tuple[tuple[int, ...], int], tuple[tuple[int, ...], int]] = {}
        for run in runs:
            if has(run.node.name, Trait.CALL):
                self._called(run)

    def node(self, run: Run) -> Node:
        """The operation of a run."""
        return self._at(run.calls, run.node)

    def ends(self) -> Iterator[Node]:
        """The ends of the program and of the bodies of its loops and branches."""
        yield self._at((), self._program.body.nodes[-1])
        for run in self._runs:
            for region in run.node.regions if has(run.node.name, Trait.REGION) else ():
                yield self._at(run.calls, region.nodes[-1])

    def _called(self, run: Run) -> None:
        """What a function takes and returns is what its call does."""
        body = self._program.graph.functions[str(run.node.attrs["callee"])].body
        inside = (*run.calls, run.node.id)
        for argument, value in zip(body.args, run.node.operands, strict=True):
            self._same[inside, argument] = run.calls, value
        for value, result in zip(run.node.results, body.nodes[-1].operands, strict=True):
            self._same[run.calls, value] = inside, result

    def _at(self, calls: tuple[int, ...], node: Node) -> Node:
        if not self._same:
            return node  # there are no calls
        return replace(
            node,
            id=self._nodes.setdefault((calls, node.id), len(self._nodes)),
            operands=tuple(self._value(calls, value) for value in node.operands),
            results=tuple(self._value(calls, value) for value in node.results),
        )

    def _value(self, calls: tuple[int, ...], value: int) -> int:
        key = calls, value
        while key in self._same:
            key = self._same[key]
        return self._numbers.setdefault(key, len(self._numbers))


def _total(runs: list[Run] | tuple[Run, ...], weight: Callable[[Node], int]) -> int:
    return sum(run.times * weight(run.node) for run in runs)
