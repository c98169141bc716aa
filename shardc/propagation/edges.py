"""Data-flow edges: values that must be sharded alike because they are one value at different times.

A loop's carried value is the operand, the body's result, the argument of both regions and the loop's
result. An *edge* ties them together: its *sources* (operands, returned values) are propagated to and from as
by an identity operation; its *targets* share one sharding, which is kept by the first of them, the owner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from shardc.analysis.manual import inside
from shardc.graph import Graph, Node, Region
from shardc.layout import Sharding, unconstrained
from shardc.ops import func, hlo, sdy
from shardc.propagation.manual import Border, complete


class Edge(Struct, frozen=True):
    """One edge.

    `sources` are uses: (node, operand number), where the node is the operation or the terminator of one of
    its regions. `start` is the owner's annotation.
    """

    sources: tuple[tuple[Node, int], ...]
    owner: int
    others: tuple[int, ...] = ()
    start: Sharding | None = None
    border: Border | None = None

    @property
    def targets(self) -> tuple[int, ...]:
        """The owner first."""
        return (self.owner, *self.others)


class Edges(Struct, frozen=True):
    """The edges of one operation: those owned by its regions' arguments, and those owned by its results."""

    arguments: tuple[Edge, ...] = ()
    results: tuple[Edge, ...] = ()

    @property
    def all(self) -> tuple[Edge, ...]:
        return self.arguments + self.results


EdgesOf = Callable[[Node, Graph], "Edges | None"]
"""Tells the edges of an operation; None if it has none."""


def edges_of(node: Node, graph: Graph) -> Edges | None:
    """The edges of an operation; None if it is of a kind that has none."""
    function = _EDGES.get(node.name)
    return function(node, graph) if function else None


def explicit(owners: Mapping[int, Sharding | None]) -> EdgesOf:
    """Only the edges that the program itself names: by owner, each with what it starts with."""

    def given(node: Node, graph: Graph) -> Edges | None:
        edges = edges_of(node, graph)
        if edges is None or not any(edge.owner in owners for edge in edges.all):
            return None
        sides = (
            tuple(replace(edge, start=owners.get(edge.owner, edge.start)) for edge in side)
            for side in (edges.arguments, edges.results)
        )
        return Edges(*sides)

    return given


def outside(side: Sequence[Edge], found: Sequence[Sharding | None], graph: Graph) -> list[Sharding]:
    """What was found for the edges of a side, as the operation says it: open where an edge has none, and
    nothing where all have none."""
    known = next((sharding for sharding in found if sharding is not None), None)
    if known is None:
        return []
    return [
        unconstrained(known.mesh, graph.type(edge.owner).rank)
        if sharding is None
        else edge.border.outside(sharding)
        if edge.border is not None and edge.border.inward
        else sharding
        for edge, sharding in zip(side, found, strict=True)
    ]


def regions_of(node: Node, graph: Graph) -> tuple[Region, ...]:
    """The bodies of an operation that has edges; of a call, its callee's."""
    return (_callee(node, graph),) if node.name == func.call.name else node.regions


def _while(node: Node, graph: Graph) -> Edges:
    cond, body = node.regions
    end = body.nodes[-1]
    return Edges(
        results=tuple(
            Edge(((node, i), (end, i)), result, (cond.args[i], body.args[i]), graph.values[result].sharding)
            for i, result in enumerate(node.results)
        )
    )


def _branches(node: Node, graph: Graph) -> Edges:
    ends = [region.nodes[-1] for region in node.regions]
    return Edges(
        results=tuple(
            Edge(tuple((end, i) for end in ends), result, (), graph.values[result].sharding)
            for i, result in enumerate(node.results)
        )
    )


def _barrier(node: Node, graph: Graph) -> Edges:
    return Edges(
        results=tuple(
            Edge(((node, i),), result, (), graph.values[result].sharding)
            for i, result in enumerate(node.results)
        )
    )


def _manual(node: Node, graph: Graph) -> Edges:
    (body,) = node.regions
    names = cast("tuple[str, ...]", node.attrs["manual_axes"])
    manual_axes = frozenset(names)
    arguments: list[Edge] = []
    for i, (arg, sharding) in enumerate(
        zip(body.args, _shardings(node, "in_shardings", body.args), strict=True)
    ):
        outer = None if sharding is None else complete(sharding, names)
        border = None if outer is None else Border(outer, manual_axes, inward=True)
        start = None if outer is None else inside(outer, manual_axes)
        arguments.append(Edge(((node, i),), arg, (), start, border))
    results: list[Edge] = []
    shardings = _shardings(node, "out_shardings", node.results)
    for i, (result, sharding) in enumerate(zip(node.results, shardings, strict=True)):
        outer = None if sharding is None else complete(sharding, names)
        border = None if outer is None else Border(outer, manual_axes, inward=False)
        results.append(Edge(((body.nodes[-1], i),), result, (), outer, border))
    return Edges(tuple(arguments), tuple(results))


def _named(node: Node, graph: Graph) -> Edges:
    (body,) = node.regions
    inputs = node.attrs.get("in_shardings") or [graph.values[arg].sharding for arg in body.args]
    outputs = node.attrs.get("out_shardings") or [graph.values[result].sharding for result in node.results]
    return _inlined(
        node, body, cast("Sequence[Sharding | None]", inputs), cast("Sequence[Sharding | None]", outputs)
    )


def _call(node: Node, graph: Graph) -> Edges:
    function = graph.functions[str(node.attrs["callee"])]
    inputs = [graph.values[arg].sharding for arg in function.body.args]
    given = [graph.values[result].sharding for result in node.results]
    declared = function.result_shardings
    outputs = [here or there for here, there in zip(given, declared, strict=True)]
    return _inlined(
        node, function.body, _all(function.body.args, inputs, graph), _all(node.results, outputs, graph)
    )


def _all(values: Sequence[int], shardings: Sequence[Sharding | None], graph: Graph) -> list[Sharding | None]:
    """Where one value of a call has a sharding, the others are open, as Shardy has it."""
    known = next((sharding for sharding in shardings if sharding is not None), None)
    if known is None:
        return list(shardings)
    ranks = [graph.type(value).rank for value in values]
    return [s or unconstrained(known.mesh, rank) for s, rank in zip(shardings, ranks, strict=True)]


def _inlined(
    node: Node, body: Region, inputs: Sequence[Sharding | None], outputs: Sequence[Sharding | None]
) -> Edges:
    end = body.nodes[-1]
    return Edges(
        tuple(Edge(((node, i),), arg, (), inputs[i]) for i, arg in enumerate(body.args)),
        tuple(Edge(((end, i),), result, (), outputs[i]) for i, result in enumerate(node.results)),
    )


def _callee(node: Node, graph: Graph) -> Region:
    return graph.functions[str(node.attrs["callee"])].body


def _shardings(node: Node, key: str, values: Sequence[int]) -> Sequence[Sharding | None]:
    given = cast("Sequence[Sharding | None] | None", node.attrs.get(key))
    return given or (None,) * len(values)


_EDGES: dict[str, Callable[[Node, Graph], Edges]] = {
    func.call.name: _call,
    sdy.manual_computation.name: _manual,
    sdy.named_computation.name: _named,
    hlo.case.name: _branches,
    hlo.if_.name: _branches,
    hlo.optimization_barrier.name: _barrier,
    hlo.while_.name: _while,
}
