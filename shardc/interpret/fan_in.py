"""Random weights that keep what they are multiplied with in scale.

A weight is a parameter that a dot product or a convolution has as its right operand, or as its left one where
the right is none; it is drawn with a standard deviation of 1 / sqrt(fan-in), the number of terms of each sum
(LeCun and others, *Efficient BackProp*, 1998). Else the activations of deep programs grow until softmax is 0
or 1 and sums are infinite, and then a comparison shows nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

from shardc.graph import Graph, Node, Region
from shardc.ops import Trait, find, has, hlo, op_of

_KEEPS = {hlo.convert.name, hlo.dynamic_slice.name}


def weight_scales(graph: Graph) -> list[float]:
    """For every parameter of the entry, what a draw from the standard normal is multiplied with."""
    args = graph.main.body.args
    origins = {value: index for index, value in enumerate(args)}
    found: dict[int, float] = {}
    for node in _in_order(graph, graph.main.body, origins):
        sides = [origins.get(value) for value in node.operands[:2]]
        weight = sides[1] if sides[1] is not None else sides[0]
        if weight is not None:
            found.setdefault(weight, 1 / sqrt(max(1.0, _terms(graph, node))))
    return [found.get(index, 1.0) for index in range(len(args))]


def _in_order(graph: Graph, region: Region, origins: dict[int, int]) -> Iterator[Node]:
    """The products of a region and all in it; `origins` learns which parameter values come from."""
    for node in region.nodes:
        sources = [origins.get(value) for value in node.operands]
        if has(node.name, Trait.PRODUCT):
            yield node
        elif _keeps(node) and sources and sources[0] is not None:
            origins.update(dict.fromkeys(node.results, sources[0]))
        inner = list(node.regions)
        callee = graph.functions.get(str(node.attrs.get("callee")))
        inner += [callee.body] if callee is not None else []
        for body in inner:
            if len(body.args) == len(sources):
                pairs = zip(body.args, sources, strict=True)
                origins.update({arg: source for arg, source in pairs if source is not None})
            yield from _in_order(graph, body, origins)


def _keeps(node: Node) -> bool:
    kinds = (Trait.MOVES, Trait.VIEW, Trait.IDENTITY, Trait.SAME_LAYOUT, Trait.ANNOTATION, Trait.EXCERPT)
    return node.name in _KEEPS or has(node.name, *kinds)


def _terms(graph: Graph, node: Node) -> float:
    """How many products each element of the result sums; work counts a product and a sum for each."""
    definition = find(node.name)
    if definition is None:
        return 1.0
    op = op_of(graph, node)
    return definition.work.operations(op) / 2 / max(1, op.results[0].size)
