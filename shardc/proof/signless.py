"""A program without the absolute values of what is never below zero, in any order of floats.

    %2 = stablehlo.abs %1, where %1 is a sum of exponentials    ->    %2 = stablehlo.optimization_barrier %1

Over the reals nothing changes. Emitted texts have no such absolute values.
"""

from __future__ import annotations

from typing import cast

from msgspec.structs import replace

from shardc.analysis.sizes import Sizes, has_absolute
from shardc.graph import Dense, Graph, Node, Region
from shardc.ops import hlo

_SAME = hlo.optimization_barrier.name


def signless(graph: Graph) -> Graph:
    """The program so; itself where it has no absolute values."""
    if not any(has_absolute(function.body) for function in graph.functions.values()):
        return graph
    rewriter = _Rewriter(graph)
    functions = {
        name: replace(function, body=rewriter.region(function.body))
        for name, function in graph.functions.items()
    }
    return Graph(graph.meshes, functions, graph.values)


class _Rewriter:
    def __init__(self, graph: Graph) -> None:
        self.made: dict[int, Node] = {}
        self.sizes = Sizes(graph, self.made, self.splat, _SAME)

    def region(self, region: Region) -> Region:
        nodes: list[Node] = []
        for node in region.nodes:
            itself = self.sizes.itself(node)
            if itself is None:
                new = replace(node, regions=tuple(map(self.region, node.regions))) if node.regions else node
            else:
                new = Node(node.id, _SAME, (itself,), node.results, {}, (), node.loc)
            self.made.update((value, new) for value in new.results)
            nodes.append(new)
        return Region(region.args, nodes)

    def splat(self, value: int) -> object:
        made = self.made.get(value)
        if made is not None and made.name == hlo.broadcast_in_dim.name:
            return self.splat(made.operands[0])
        if made is None or made.name != hlo.constant.name or not cast(Dense, made.attrs["value"]).is_splat:
            return None
        return cast(Dense, made.attrs["value"]).data[()]
