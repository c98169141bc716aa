"""A function as one region: the bodies of what it calls stand in the place of the calls."""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import count
from typing import cast

from msgspec.structs import replace

from shardc.graph import Graph, Node, Region, Value
from shardc.layout import Sharding
from shardc.ops import func, sdy


class Inliner:
    """Copies regions with values and numbers of their own. Calls of `kept` functions stay."""

    def __init__(self, graph: Graph, kept: Container[str]) -> None:
        self.graph, self.kept = graph, kept
        self._numbers = count()

    def copy(self, region: Region) -> Region:
        """A region of its own."""
        return self._region(region, {})

    def copy_into(self, into: Graph, region: Region) -> Region:
        """A region in another graph, its calls inlined."""
        copied = self.copy(region)
        offset = len(into.values)
        into.values += [replace(value, id=value.id + offset) for value in self.graph.values]
        return _shifted(copied, offset)

    def function(self, symbol: str) -> Region:
        """The body of a function, with what its signature says of shardings as constraints."""
        known: dict[int, int] = {}
        body = self.graph.functions[symbol].body
        args = tuple(self._value(v, known, sharded=False) for v in body.args)
        nodes: list[Node] = []
        results = self._body(symbol, args, nodes)
        last = body.nodes[-1]
        nodes.append(Node(next(self._numbers), last.name, tuple(results), (), last.attrs, (), last.loc))
        return Region(args, nodes)

    def _region(self, region: Region, known: dict[int, int]) -> Region:
        args = tuple(self._value(value, known) for value in region.args)
        nodes: list[Node] = []
        for node in region.nodes:
            self._node(node, known, nodes)
        return Region(args, nodes)

    def _node(self, node: Node, known: dict[int, int], nodes: list[Node]) -> None:
        operands = tuple(known.get(value, value) for value in node.operands)
        callee = node.attrs.get("callee")
        if node.name == func.call.name and str(callee) not in self.kept:
            made = self._body(cast(str, callee), operands, nodes)
            for result, value in zip(node.results, made, strict=True):
                known[result] = value
                self._name(value, self.graph.values[result])
            return
        regions = tuple(self._region(inner, known) for inner in node.regions)
        results = tuple(self._value(value, known) for value in node.results)
        nodes.append(Node(next(self._numbers), node.name, operands, results, node.attrs, regions, node.loc))

    def _name(self, value: int, called: Value) -> None:
        known = self.graph.values[value]
        if known.loc.name is None and called.loc.name:
            known.loc = replace(known.loc, name=called.loc.name)

    def _body(self, symbol: str, operands: Sequence[int], nodes: list[Node]) -> list[int]:
        """The nodes of a function for these arguments; its results."""
        function = self.graph.functions[symbol]
        known: dict[int, int] = {}
        for arg, operand in zip(function.body.args, operands, strict=True):
            known[arg] = self._constrained(operand, self.graph.values[arg], nodes)
        for node in function.body.nodes[:-1]:
            self._node(node, known, nodes)
        results = [known.get(value, value) for value in function.body.results]
        for i, sharding in enumerate(function.result_shardings):
            if sharding is not None:
                value = self.graph.values[results[i]]
                results[i] = self._constrained(results[i], replace(value, sharding=sharding), nodes)
        return results

    def _constrained(self, operand: int, parameter: Value, nodes: list[Node]) -> int:
        sharding: Sharding | None = parameter.sharding
        if sharding is None:
            return operand
        made = self._value(parameter.id, {}, sharded=False)
        nodes.append(
            Node(
                next(self._numbers),
                sdy.sharding_constraint.name,
                (operand,),
                (made,),
                {"sharding": sharding},
                (),
                parameter.loc,
            )
        )
        return made

    def _value(self, value: int, known: dict[int, int], *, sharded: bool = True) -> int:
        old = self.graph.values[value]
        known[value] = number = len(self.graph.values)
        self.graph.values.append(Value(number, old.type, old.loc, old.sharding if sharded else None))
        return number


def _shifted(region: Region, offset: int) -> Region:
    """A region whose values have other numbers."""
    nodes = [
        replace(
            node,
            operands=tuple(v + offset for v in node.operands),
            results=tuple(v + offset for v in node.results),
            regions=tuple(_shifted(inner, offset) for inner in node.regions),
        )
        for node in region.nodes
    ]
    return Region(tuple(v + offset for v in region.args), nodes)
