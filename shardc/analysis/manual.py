"""Which axes of the mesh the code around a value is written for, device by device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from msgspec.structs import replace

from shardc.diagnostics import ShardcError
from shardc.graph.program import Graph, Node, Region, walk
from shardc.layout import Dim, Mesh, Sharding
from shardc.ops import Trait, has, sdy

AxisNames = frozenset[str]
NO_AXES: AxisNames = frozenset()


def manual_axes(graph: Graph) -> dict[int, AxisNames]:
    """Value -> the manual axes of the computations around it, for every value inside one."""
    return {
        value: names
        for function in graph.functions.values()
        for region, names in regions(function.body)
        if names
        for value in (*region.args, *(result for node in region.nodes for result in node.results))
    }


def regions(region: Region, outer: AxisNames = NO_AXES) -> Iterator[tuple[Region, AxisNames]]:
    """A region and all regions in it, each with the names of its manual axes."""
    yield region, outer
    for node in region.nodes:
        for inner in node.regions:
            yield from regions(inner, outer | own_axes(node))


def own_axes(node: Node) -> AxisNames:
    """The axes that a manual computation adds; none for other operations."""
    if node.name != sdy.manual_computation.name:
        return NO_AXES
    return frozenset(cast("tuple[str, ...]", node.attrs["manual_axes"]))


def mesh_of(node: Node, meshes: Iterable[Mesh]) -> Mesh:
    """The mesh of a manual computation: that of its shardings, else the first of some that has its axes.

    Raises ShardcError if none has.
    """
    for key in ("in_shardings", "out_shardings"):
        for sharding in cast("tuple[Sharding, ...]", node.attrs[key]):
            return sharding.mesh
    own = own_axes(node)
    for mesh in meshes:
        if own <= mesh.sizes.keys():
            return mesh
    names = ", ".join(sorted(own)) or "no axes"
    raise ShardcError(
        f"no mesh here has the axes of this per-device code: {names}",
        node.loc,
        f"declare one: {sdy.mesh.name} @mesh = …",
    )


def is_complete(mesh: Mesh, manual: AxisNames) -> bool:
    """Whether code that is manual over these axes leaves nothing of the mesh to the compiler."""
    return all(size == 1 or name in manual for name, size in mesh.axes)


def inside(sharding: Sharding, manual_axes: AxisNames) -> Sharding:
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


def per_device_lines(graph: Graph) -> tuple[int, ...]:
    """The lines of the program's own per-device code."""
    nodes = (node for function in graph.functions.values() for node in walk(function.body))
    return tuple(sorted({node.loc.line for node in nodes if node.name == sdy.manual_computation.name}))


def is_all_per_device(graph: Graph) -> bool:
    """Whether the entry is per-device code and nothing else: a program that only it says the meaning of."""
    nodes = graph.main.body.nodes
    kinds = [node.name for node in nodes if not has(node.name, Trait.TERMINATOR)]
    return bool(kinds) and all(name == sdy.manual_computation.name for name in kinds)
