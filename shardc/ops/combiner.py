"""A node as rules and meanings see it: without ids, and with a name for what its region does."""

from __future__ import annotations

from shardc.graph.program import Graph, Node, Op, Region, own_attrs
from shardc.ops import hlo
from shardc.ops.definition import Trait
from shardc.ops.extremes import extreme
from shardc.ops.registry import has

_COMBINERS = {
    hlo.add.name: "sum",
    hlo.maximum.name: "max",
    hlo.minimum.name: "min",
    hlo.multiply.name: "prod",
    hlo.and_.name: "and",
    hlo.or_.name: "or",
    hlo.xor.name: "xor",
}
_OF_BOOLS = {"sum": "or", "max": "or", "prod": "and", "min": "and"}
_OF_BITS = {"or": "bitor", "and": "bitand"}


def op_of(graph: Graph, node: Node) -> Op:
    """The node without its ids."""
    combines = node.regions and not has(node.name, Trait.REGION)
    kind = combiner(node.regions[0], graph) if combines else None
    if kind is None and node.name == hlo.scatter.name:
        kinds = set(combiners(node.regions[0], graph))
        kind = kinds.pop() if len(kinds) == 1 else None
    if node.name == hlo.select_and_scatter.name:
        kind = _selected(node, graph)
    return Op(node.name, graph.types(node.operands), graph.types(node.results), own_attrs(node), kind)


def combiner(region: Region, graph: Graph) -> str | None:
    """How a region over scalars combines its arguments: sum, max, min, prod, and, or, xor, set; else None.

    Of two (value, index) pairs: argmax or argmin, if it picks so and of equal values the smaller index.
    `set` returns its last argument (the scatter that overwrites). `or` and `and` are named so for bool only,
    where a sum or maximum is an `or` too, a product or minimum an `and`.
    """
    if len(region.args) == 4:
        return extreme(region)
    if len(region.nodes) == 1 and len(region.args) == 2 and region.results == region.args[1:]:
        return "set"
    if len(region.nodes) != 2 or len(region.args) != 2:
        return None
    node = region.nodes[0]
    if sorted(node.operands) != sorted(region.args) or region.results != node.results:
        return None
    return _kind(node, graph)


def combiners(region: Region, graph: Graph) -> tuple[str | None, ...]:
    """How a region combines each of several values with its update; () unless each with its own alone."""
    count = len(region.args) // 2
    if len(region.nodes) != count + 1 or len(region.results) != count:
        return ()
    made = {result: node for node in region.nodes[:-1] for result in node.results}
    pairs = zip(region.args[:count], region.args[count:], region.results, strict=True)
    nodes = [(made.get(result), [value, update]) for value, update, result in pairs]
    if any(node is None or sorted(node.operands) != sorted(pair) for node, pair in nodes):
        return ()
    return tuple(_kind(node, graph) for node, _ in nodes if node is not None)


def _selected(node: Node, graph: Graph) -> str | None:
    """max or min where a select_and_scatter adds what it scatters to the first of the largest or of the
    smallest; else None."""
    select, scatter = node.regions
    first, compares = select.nodes[0], len(select.nodes) == 2 and select.results == select.nodes[0].results
    if not compares or first.operands != select.args or combiner(scatter, graph) != "sum":
        return None
    if first.attrs.get("compare_type") == "TOTALORDER":
        return None
    return {"GE": "max", "LE": "min"}.get(str(first.attrs.get("comparison_direction")))


def _kind(node: Node, graph: Graph) -> str | None:
    kind = _COMBINERS.get(node.name)
    if kind is None:
        return None
    if graph.type(node.results[0]).dtype == "bool":
        return _OF_BOOLS.get(kind, kind)
    return _OF_BITS.get(kind, kind)
