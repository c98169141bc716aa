"""Programs without calls of functions, and programs with functions for stretches of operations.

%2 = stablehlo.dot_general %x, %w1 …        %3 = func.call @equal.0(%x, %w1)
%3 = stablehlo.tanh %2 …                ->  %5 = func.call @equal.0(%3, %w2)
%4 = stablehlo.dot_general %3, %w2 …
%5 = stablehlo.tanh %4 …
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from shardc.graph import Function, Graph, Node, Region, Value, captured, walk
from shardc.ops import Trait, func, has, hlo, sdy


class Copy(Struct):
    """A copy of a graph that grows: what is copied into it gets new values and nodes. like: of copied nodes
    those that they are copies of, by id; closed: of those the ones whose regions use nothing from around."""

    graph: Graph
    nodes: int
    like: dict[int, int] = {}
    closed: set[int] = set()

    def value(self, like: int) -> int:
        values = self.graph.values
        old, number = values[like], len(values)
        values.append(Value(number, old.type, old.loc))
        return number

    def node(self, name: str, operands: tuple[int, ...], results: tuple[int, ...], like: Node) -> Node:
        """A call, where `like` stood."""
        self.nodes += 1
        return Node(self.nodes, func.call.name, operands, results, {"callee": name}, (), like.loc)

    def copied(self, node: Node, names: dict[int, int]) -> Node:
        """The node with new results; `names` says what other values are called, and learns of these."""
        regions = tuple([self._region(region, names) for region in node.regions]) if node.regions else ()
        operands = tuple([names.get(value, value) for value in node.operands])
        results = tuple([self.value(value) for value in node.results])
        for old, new in zip(node.results, results, strict=True):
            names[old] = new
        self.nodes += 1
        self.like[self.nodes] = self.like.get(node.id, node.id)
        return Node(self.nodes, node.name, operands, results, node.attrs, regions, node.loc)

    def uses(self, node: Node) -> tuple[int, ...]:
        """The values that a node reads, those inside of it among them."""
        if not node.regions:
            return node.operands
        first = self.like.get(node.id, node.id)
        inside = () if first in self.closed else captured(node)
        if not inside:
            self.closed.add(first)
        return (*node.operands, *inside)

    def _region(self, region: Region, names: dict[int, int]) -> Region:
        inside = dict(names)
        inside.update((value, self.value(value)) for value in region.args)
        return Region(
            tuple(inside[value] for value in region.args), [self.copied(n, inside) for n in region.nodes]
        )


def copy_of(graph: Graph) -> Copy:
    """The graph with own lists of functions and values; nodes are shared until they are replaced."""
    nodes = (node.id for function in graph.functions.values() for node in walk(function.body))
    return Copy(Graph(dict(graph.meshes), dict(graph.functions), list(graph.values)), max(nodes, default=0))


def devices_region(graph: Graph) -> Region | None:
    """What the devices run, where the program is one computation of theirs."""
    found = [node for node in graph.main.body.nodes if node.name == sdy.manual_computation.name]
    return found[0].regions[0] if len(found) == 1 else None


def inlined(copy: Copy, region: Region) -> Region:
    """The region without calls of functions."""
    names: dict[int, int] = {}
    nodes: list[Node] = []
    for node in region.nodes:
        if node.name == func.call.name:
            nodes += _written_out(copy, node, names)
        else:
            nodes.append(_renamed(copy, node, names))
    return Region(region.args, nodes)


def _written_out(copy: Copy, call: Node, names: dict[int, int]) -> list[Node]:
    """What a call runs; `names` says what other values are called, and learns of its results."""
    body = copy.graph.functions[str(call.attrs["callee"])].body
    inside = dict(zip(body.args, (names.get(value, value) for value in call.operands), strict=True))
    nodes: list[Node] = []
    for node in body.nodes[:-1]:
        called = node.name == func.call.name
        nodes += _written_out(copy, node, inside) if called else [copy.copied(node, inside)]
    names.update(zip(call.results, (inside[value] for value in body.results), strict=True))
    return nodes


def _renamed(copy: Copy, node: Node, names: dict[int, int]) -> Node:
    if not names or names.keys().isdisjoint(copy.uses(node)):
        return node
    return replace(
        node,
        operands=tuple(names.get(value, value) for value in node.operands),
        regions=tuple(Region(r.args, [_renamed(copy, n, names) for n in r.nodes]) for r in node.regions),
    )


def written_out(graph: Graph, region: Region) -> int:
    """How many operations a region has without calls of functions."""
    known: dict[str, int] = {}

    def of_region(region: Region) -> int:
        return sum(of_call(str(n.attrs["callee"])) if n.name == func.call.name else 1 for n in region.nodes)

    def of_call(callee: str) -> int:
        if callee not in known:
            known[callee] = of_region(graph.functions[callee].body)
        return known[callee]

    return of_region(region)


def constants(region: Region) -> dict[int, Node]:
    """What makes the values that follow from constants alone, by value: masks and tables among them."""
    found: dict[int, Node] = {}
    for node in region.nodes:
        if node.regions or not found.keys() >= {*node.operands}:
            continue
        if has(node.name, Trait.ELEMENTWISE, Trait.MOVES, Trait.SOURCE):
            found.update(dict.fromkeys(node.results, node))
    return found


def broadcasts(region: Region) -> dict[int, Node]:
    """What makes the values that are broadcast, by value: as well made where they are used. One program may
    keep a broadcast for the way back of which the other keeps the operand, and makes it again.
    """
    return {node.results[0]: node for node in region.nodes if node.name == hlo.broadcast_in_dim.name}


class Stretch(Struct, frozen=True, dict=True):
    """Operations in a row, without what can be made anywhere, and what they use, in order; `again` is what of
    that can be made anywhere, by value, each after what it is made of.
    """

    nodes: Sequence[Node]
    used: Sequence[int]
    again: dict[int, Node]

    @cached_property
    def inputs(self) -> list[int]:
        """The values from outside, in order of use."""
        made, again = {*self.values}, self.again
        used = [*self.used, *[value for node in again.values() for value in node.operands]]
        return list(dict.fromkeys([v for v in used if v not in made and v not in again]))

    @cached_property
    def values(self) -> list[int]:
        """What it makes."""
        return [value for node in self.nodes for value in node.results]


def outlined(
    copy: Copy, region: Region, name: str, stretches: Sequence[Stretch], results: Sequence[int]
) -> tuple[Region, list[int]]:
    """The region with a call in the place of each stretch, and the calls' node ids.

    results: numbers among the values that a stretch makes. The stretches do the same, up to names.
    """
    first = stretches[0]
    names = {value: copy.value(value) for value in first.inputs}
    arguments = tuple(names.values())
    body = [copy.copied(node, names) for node in made_late(copy, first.nodes, first.again)]
    made = first.values
    end = replace(region.nodes[-1], operands=tuple(names[made[number]] for number in results), results=())
    copy.nodes += 1
    body.append(replace(end, id=copy.nodes))
    copy.graph.functions[name] = Function(name, Region(arguments, body), [None] * len(results), public=False)
    calls: dict[int, Node] = {}
    for stretch in stretches:
        made = stretch.values
        call = copy.node(
            name, tuple(stretch.inputs), tuple(made[number] for number in results), stretch.nodes[0]
        )
        calls[stretch.nodes[-1].id] = call
    gone = {node.id for stretch in stretches for node in stretch.nodes} - calls.keys()
    nodes = [calls.get(node.id, node) for node in region.nodes if node.id not in gone]
    return Region(region.args, nodes), [call.id for call in calls.values()]


def made_late(copy: Copy, nodes: Iterable[Node], anywhere: Mapping[int, Node]) -> list[Node]:
    """The nodes, and what of that can be made anywhere they use, each before the first that uses it."""
    found: dict[int, Node] = {}
    for node in nodes:
        waiting = [] if node.results and node.results[0] in anywhere else [node]
        while waiting:
            makers = (anywhere[value] for value in copy.uses(waiting[-1]) if value in anywhere)
            if more := [maker for maker in makers if maker.id not in found]:
                waiting += more[::-1]
            else:
                last = waiting.pop()
                found.setdefault(last.id, last)
    return list(found.values())


def with_region(graph: Graph, old: Region, new: Region) -> None:
    """Put a new region in the place of main's body, or of one in it."""
    main = graph.main
    body = (
        new
        if old is main.body
        else Region(
            main.body.args,
            [
                replace(node, regions=tuple(new if region is old else region for region in node.regions))
                for node in main.body.nodes
            ],
        )
    )
    graph.functions[main.name] = replace(main, body=body)
