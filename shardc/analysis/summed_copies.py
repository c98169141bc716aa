"""Copies that an explicit collective of a global program adds up.

    func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{}]>}) -> tensor<8xf32> {
      %0 = sdy.all_reduce {"x"} %a out_sharding=<@m, [{}]> : tensor<8xf32>

An argument is what its sharding says: without `unreduced={"x"}` every device along x holds all of it, and the
all_reduce adds those copies. Any other value is the whole result of its operation, of which the devices hold
what the collective needs, terms of a sum over x: then it adds nothing to the value. What stands in a function
that is called is such a value too.
"""

from __future__ import annotations

from typing import cast

from msgspec import Struct

from shardc.graph import Graph, Node, Region
from shardc.graph.marks import CALL
from shardc.layout import Axis, Sharding
from shardc.layout.difference import subtract
from shardc.ops import Trait, has, sdy
from shardc.ops.change_origins import reduced_axes

Axes = tuple[Axis, ...]


def summed_copies(graph: Graph) -> dict[int, Axes]:
    """Node id -> the axes over which the node sums copies of an argument of main."""
    walk = _Walk()
    for value in graph.main.body.args:
        sharding = graph.values[value].sharding
        walk.partial[value] = sharding.unreduced if sharding else ()
    walk.region(graph.main.body)
    return walk.found


class _Walk(Struct):
    """`partial`: an argument, or what layouts make of it -> the axes that it is partial over."""

    partial: dict[int, Axes] = {}
    found: dict[int, Axes] = {}

    def region(self, region: Region) -> None:
        for node in region.nodes[:-1]:
            if CALL not in node.attrs and node.operands:
                self.node(node)

    def node(self, node: Node) -> None:
        if node.name == sdy.named_computation.name:
            (body,) = node.regions
            self.alike(node.operands, body.args)
            self.region(body)
            self.alike(body.results, node.results)
        elif has(node.name, Trait.IDENTITY):
            after = node.attrs.get("out_sharding", node.attrs.get("sharding"))
            if after is None:
                self.alike(node.operands, node.results)
            elif node.operands[0] in self.partial:
                copies = subtract(reduced_axes(node.name, node.attrs), self.partial[node.operands[0]])
                if copies:
                    self.found[node.id] = copies
                self.partial[node.results[0]] = cast(Sharding, after).unreduced

    def alike(self, values: tuple[int, ...] | list[int], others: tuple[int, ...] | list[int]) -> None:
        for value, other in zip(values, others, strict=True):
            if value in self.partial:
                self.partial[other] = self.partial[value]
