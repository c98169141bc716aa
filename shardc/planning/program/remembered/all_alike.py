"""A program as it would be if the layer that differs were like all others.

Where a layer in the middle differs, layers have been taken out of two stacks, that before it and that after
it (rewrite/folding). The outer half of what is left of each is what would be left of one stack, or as many of
a few layers of which none were taken out:

    layers 5 4 3 2 1 0 of one, the layer that differs, 5 4 3 2 1 0 of the other
 -> layers 5 4 3                                           2 1 0

    alike = all_alike(graph)
    alike.graph               # without the rest; its operations keep their ids
    alike.stands[node.id]     # the operation there that one here is, or is like; none for that layer's

A program is not wrong where this is not what it would be: the other's plan is where the search begins.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from shardc.graph import Graph, Node, Region, captured
from shardc.graph.compact import compact
from shardc.graph.marks import LAYER, TIMES
from shardc.ops import Trait, has, hlo, op_of
from shardc.planning.program.problem.canonical import likeness
from shardc.planning.program.remembered.layers_alike import NUMBERS, Layers, Slot, before_cut, together


class AllAlike(Struct, frozen=True):
    """The program, and by id which of its operations those of the whole one stand for."""

    graph: Graph
    stands: Mapping[int, int]


def all_alike(graph: Graph) -> AllAlike | None:
    """The program with one stack for the first two that have equal layers; None where there are none."""
    body = graph.main.body
    if any(has(node.name, Trait.REGION) for node in body.nodes):
        return None
    for one, other in pairwise(_stacks(body.nodes)):
        count = max(one.count, other.count)
        pair = together(graph, one, other, count)
        found = None if pair is None else _Joined(graph, *pair, count, first=one).alike()
        if found is not None:
            return found
    return None


def _stacks(nodes: Iterable[Node]) -> list[Layers]:
    """The operations of the stacks that layers have been taken out of, in program order; none where one is of
    two layers."""
    stacks: dict[int, Layers] = {}
    for node in nodes:
        places = [*cast("tuple[int, ...]", node.attrs.get(LAYER, ()))]
        if len(places) > 4:
            return []
        if places and places[1] != NUMBERS:
            stack, stretch, layer = places[0], places[1], places[3]
            stacks.setdefault(stack, Layers()).add(node, stretch, layer)
    return [*stacks.values()]


class _Joined:
    """Two stacks put together to one of `count` layers: the first of `low`, and the last of `high`. `first`
    is the one that begins before the other."""

    def __init__(self, graph: Graph, low: Layers, high: Layers, count: int, first: Layers) -> None:
        self.graph, self.count, self.cut = graph, count, before_cut(count)
        self.times = _layers(graph.main.body, low, high, count) - count + 1
        """How many layers the last of `low` that stays stands for, that which differs among them."""
        self.layered = {node.id for stack in (low, high) for node in stack.nodes.values()}
        self.stands: dict[int, int] = {}
        self.notes: dict[int, dict[str, object]] = {}
        """What is noted of operations that stay: their layers, and how many the last before the others stands
        for."""
        self.instead: dict[int, int] = {}
        """Of values that go those of the same layer of the other stack."""
        self.beside: dict[int, int] = {}
        """Of values of the second stack those of the same layer of the first, of what these read, too."""
        for stack, other in ((low, high), (high, low)):
            for (slot, layer), node in stack.nodes.items():
                like = other.nodes.get((slot, layer))
                if (layer < self.cut) == (stack is low):
                    self.stands[node.id] = node.id
                    self.notes[node.id] = self._notes(slot, layer)
                elif like is not None:
                    self.stands[node.id] = like.id
                    self.instead.update(zip(node.results, like.results, strict=True))
                if stack is not first and like is not None:
                    pairs = zip((*node.operands, *node.results), (*like.operands, *like.results), strict=True)
                    self.beside.update(pairs)

    def alike(self) -> AllAlike | None:
        """The program; None where what stays reads what goes otherwise than a layer."""
        main = self.graph.main
        nodes = self._staying(main.body)
        if nodes is None:
            return None
        made = {*main.body.args, *(value for node in nodes for value in node.results)}
        end = main.body.nodes[-1]
        number = {value: index for index, value in reversed([*enumerate(end.operands)])}
        results = self._in_order([value for value in number if value in made], number)
        nodes = _needed([*nodes, replace(end, operands=tuple(results))])
        nodes = self._of_one_layer(nodes, {*main.body.args})
        read = {value for node in nodes for value in _reads(node)}
        unread = {*main.body.args} - {value for node in main.body.nodes for value in _reads(node)}
        left = [value for value in main.body.args if value in read or value in unread]
        args = self._in_order(left, {value: index for index, value in enumerate(main.body.args)})
        joined = replace(
            main,
            body=Region(tuple(args), nodes),
            result_shardings=[main.result_shardings[number[value]] for value in results],
            interface=None,
        )
        graph = replace(self.graph, functions={**self.graph.functions, main.name: joined})
        ids = {node.id for node in nodes}
        stands = {node.id: node.id for node in main.body.nodes} | self.stands
        stands = {one: other for one, other in stands.items() if other in ids}
        return AllAlike(compact(graph), stands) if _annotated_alike(self.graph, stands) else None

    def _of_one_layer(self, nodes: list[Node], args: set[int]) -> list[Node]:
        """Where operations of one layer are kept of both stacks, with its arguments in the first one."""
        read = {value for node in nodes for value in node.operands} & args
        pairs = [(value, self.beside[value]) for value in read if value in self.beside]
        values = self.graph.values
        same = {
            value: first
            for value, first in pairs
            if first in read and values[value].sharding == values[first].sharding
        }
        return [replace(n, operands=tuple([same.get(value, value) for value in n.operands])) for n in nodes]

    def _staying(self, body: Region) -> list[Node] | None:
        """What is not of layers that go, and reads nothing of them but what it reads in layers that stay."""
        nodes, made = list[Node](), {*body.args}
        for node in body.nodes[:-1]:
            layered = node.id in self.layered
            if layered and self.stands.get(node.id) != node.id:
                continue
            reads = _reads(node)
            if made.issuperset([self.instead.get(value, value) for value in reads] if layered else reads):
                made.update(node.results)
                nodes.append(self._kept(node) if layered else node)
            elif layered:
                return None
        return nodes

    def _kept(self, node: Node) -> Node:
        """An operation of a layer that stays."""
        operands = tuple(self.instead.get(value, value) for value in node.operands)
        attrs = {key: value for key, value in node.attrs.items() if key not in (LAYER, TIMES)}
        return replace(node, operands=operands, attrs={**attrs, **self.notes[node.id]})

    def _notes(self, slot: Slot, layer: int) -> dict[str, object]:
        """What is noted of an operation; of one of a layer that is not whole nothing."""
        stretch, step = slot
        if not 0 <= layer < self.count:
            return {}
        times = {TIMES: self.times} if layer == self.cut - 1 else {}
        return {LAYER: (0, stretch, step, layer), **times}

    def _in_order(self, values: Iterable[int], number: Mapping[int, int]) -> list[int]:
        """Arguments or results as one stack has them: layers may begin elsewhere, and some of a layer's be of
        the first stack, some of the second."""
        return sorted(values, key=lambda value: number.get(self.beside.get(value, value), number[value]))


def _layers(body: Region, low: Layers, high: Layers, count: int) -> int:
    """The layers from the first of a stack to the last of the other, counted by operations."""
    ends = [node.id for stack, at in ((low, 0), (high, count - 1)) for node in stack.first(at)]
    steps, between = len(low.first(0)), range(min(ends), max(ends) + 1)
    ops = sum(node.name != hlo.constant.name and node.id in between for node in body.nodes)
    every = range(-1, count + 1)
    whole = sum(len(stack.first(layer)) == steps for stack in (low, high) for layer in every)
    return max(round(ops / steps), whole + 1) + low.times + high.times - 2


def _annotated_alike(graph: Graph, stands: Mapping[int, int]) -> bool:
    """Whether what differs is annotated as the rest is: else layouts of the rest may have become others. An
    argument that is open in all dimensions has its layout from them."""
    here, there = set[Hashable](), set[Hashable]()
    main, args = graph.main, {*graph.main.body.args}
    results = dict(zip(main.body.results, main.result_shardings, strict=True))
    for node in main.body.nodes[:-1]:
        found = there if node.id in stands else here
        given = ((v, graph.values[v].sharding) for v in node.operands if v in args)
        found.update((graph.type(v), s) for v, s in given if s and not all(dim.open for dim in s.dims))
        found.update((graph.type(v), "result", results[v]) for v in node.results if v in results)
        if has(node.name, Trait.IDENTITY):
            found.add(likeness(op_of(graph, node)))
    return here <= there


def _needed(nodes: Sequence[Node]) -> list[Node]:
    """Those that lead to what the last one reads."""
    read, found = {*_reads(nodes[-1])}, [nodes[-1]]
    for node in reversed(nodes[:-1]):
        if not read.isdisjoint(node.results):
            read.update(_reads(node))
            found.append(node)
    return found[::-1]


def _reads(node: Node) -> list[int]:
    return [*node.operands, *captured(node)]
