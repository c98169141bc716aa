"""Which axes of the mesh the code around a value is written for, device by device."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from shardc.graph.program import Graph, Node, Region
from shardc.layout import Dim, Mesh, Sharding

Names = frozenset[str]
NONE: Names = frozenset()


def manual_axes(graph: Graph) -> dict[int, Names]:
    """Value -> the manual axes of the computations around it, for every value inside one."""
    return {
        value: names
        for function in graph.functions.values()
        for region, names in regions(function.body)
        if names
        for value in (*region.args, *(result for node in region.nodes for result in node.results))
    }


def regions(region: Region, outer: Names = NONE) -> Iterator[tuple[Region, Names]]:
    """A region and all regions in it, each with the names of its manual axes."""
    yield region, outer
    for node in region.nodes:
        for inner in node.regions:
            yield from regions(inner, outer | own_axes(node))


def own_axes(node: Node) -> Names:
    """The axes that a manual computation adds; none for other operations."""
    if node.name != "sdy.manual_computation":
        return NONE
    return frozenset(cast("tuple[str, ...]", node.attrs["manual_axes"]))


def is_complete(mesh: Mesh, manual: Names) -> bool:
    """Whether code that is manual over these axes leaves nothing of the mesh to the compiler."""
    return all(size == 1 or name in manual for name, size in mesh.axes)


def inside(sharding: Sharding, manual_axes: Names) -> Sharding:
    """What the body of a manual computation sees of a sharding."""
    return replace(
        sharding,
        dims=tuple(
            Dim(tuple(a for a in dim.axes if a.name not in manual_axes), dim.open, dim.priority)
            for dim in sharding.dims
        ),
        replicated=tuple(a for a in sharding.replicated if a.name not in manual_axes),
        unreduced=tuple(a for a in sharding.unreduced if a.name not in manual_axes),
    )
