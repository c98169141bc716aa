"""Random weights that keep what they are multiplied with in scale.

A weight is a parameter that a dot product or a convolution has as its right operand, or as its left one where
the right is none; it is drawn with a standard deviation of 1 / sqrt(fan-in), the number of terms of each sum
(LeCun and others, *Efficient BackProp*, 1998). Else the activations of deep programs grow until softmax is 0
or 1 and sums are infinite, and then a comparison shows nothing.
"""

from __future__ import annotations

from math import sqrt

from shardc.graph import Graph, Node
from shardc.interpret.origins import in_order
from shardc.ops import Trait, find, has, hlo, op_of

_KEEPS = {hlo.convert.name, hlo.dynamic_slice.name}


def weight_scales(graph: Graph) -> list[float]:
    """For every parameter of the entry, what a draw from the standard normal is multiplied with."""
    found: dict[int, float] = {}
    for node, origins in in_order(graph, _through):
        if has(node.name, Trait.PRODUCT):
            sides = [origins.get(value) for value in node.operands[:2]]
            weights = sides[1] or sides[0] or ()
            for weight in weights[:1]:
                found.setdefault(weight, 1 / sqrt(max(1.0, _terms(graph, node))))
    return [found.get(index, 1.0) for index in range(len(graph.main.body.args))]


def _through(node: Node) -> tuple[int, ...]:
    kinds = (Trait.MOVES, Trait.VIEW, Trait.IDENTITY, Trait.SAME_LAYOUT, Trait.ANNOTATION, Trait.EXCERPT)
    return node.operands[:1] if node.name in _KEEPS or has(node.name, *kinds) else ()


def _terms(graph: Graph, node: Node) -> float:
    """How many products each element of the result sums; work counts a product and a sum for each."""
    definition = find(node.name)
    if definition is None:
        return 1.0
    op = op_of(graph, node)
    return definition.work.operations(op) / 2 / max(1, op.results[0].size)
