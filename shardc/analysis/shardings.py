"""What a program says about the sharding of its values, wherever it says it."""

from __future__ import annotations

from typing import cast

from shardc.analysis.manual import inside, own_axes
from shardc.graph.program import Graph, Node, walk
from shardc.layout import Sharding
from shardc.ops import Trait, has, sdy


def is_split_along(graph: Graph, node: Node) -> bool:
    """Whether the result of a concatenation is split along its dimension."""
    sharding = graph.values[node.results[0]].sharding
    return sharding is not None and bool(sharding.dims[cast(int, node.attrs["dimension"])].axes)


def known_shardings(graph: Graph) -> dict[int, Sharding]:
    """Value id -> its sharding, for every value that has one.

    Besides the shardings on values: a constraint, reshard or collective states its result's, a manual
    computation those of its results and of its body's arguments, and what a loop carries is sharded as the
    loop's results are.
    """
    found = {value.id: value.sharding for value in graph.values if value.sharding is not None}
    for function in graph.functions.values():
        for node in walk(function.body):
            found.update(zip(node.results, _of_results(node), strict=False))
            if node.name == sdy.manual_computation.name:
                found.update(zip(node.regions[0].args, _of_blocks(node), strict=True))
            elif has(node.name, Trait.REGION):
                for region in node.regions:
                    pairs = zip(region.args, node.results, strict=False)
                    found.update({arg: found[result] for arg, result in pairs if result in found})
    return found


def _of_blocks(node: Node) -> list[Sharding]:
    """What the body of a manual computation sees of its operands' shardings."""
    own = own_axes(node)
    return [inside(sharding, own) for sharding in cast("tuple[Sharding, ...]", node.attrs["in_shardings"])]


def _of_results(node: Node) -> tuple[Sharding, ...]:
    for key in ("out_sharding", "sharding"):
        if key in node.attrs and node.name.startswith("sdy."):
            return (cast(Sharding, node.attrs[key]),)
    return cast("tuple[Sharding, ...]", node.attrs.get("out_shardings", ()))
