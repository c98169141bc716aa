"""The mesh that a program is planned and emitted for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from shardc.diagnostics import ShardcError
from shardc.graph import Graph, Location, walk
from shardc.layout import Mesh, Sharding

SINGLE = Mesh("single", ())
"""The mesh of a program that names none: one device."""

_SHOWN = 16
"""So many device numbers are listed."""


def mesh_of(graph: Graph) -> Mesh:
    """The one mesh that the entry's shardings use, else the first declared, else one device.

    ShardcError if the entry uses two: a compiled program runs on one mesh.
    """
    used: dict[Mesh, Location] = {}
    for mesh, loc in _used(graph):
        used.setdefault(mesh, loc)
    if len(used) > 1:
        first, second, *_ = used
        raise ShardcError(
            f"the program uses {titled(first)} and {titled(second)}; a compiled program runs on one",
            used[second],
            _hint(first, second),
        )
    return next(iter(used), next(iter(graph.meshes.values()), SINGLE))


def titled(mesh: Mesh) -> str:
    """`mesh m[x=2] of devices 1, 0`, or `mesh one[] of device 1 alone`."""
    if mesh.device_ids is None:
        return f"mesh {mesh}"
    numbers = ", ".join(map(str, mesh.device_ids[:_SHOWN])) + ", …" * (len(mesh.device_ids) > _SHOWN)
    return f"mesh {mesh} of " + (f"device {numbers} alone" if mesh.is_maximal else f"devices {numbers}")


def _hint(first: Mesh, second: Mesh) -> str:
    if first.is_maximal or second.is_maximal:
        return "without a sharding on one device, every device holds the value"
    return "write both shardings over one mesh, or compile the parts separately"


def _used(graph: Graph) -> Iterator[tuple[Mesh, Location]]:
    function = graph.main
    for value in function.body.args:
        yield from _mesh(graph.values[value].sharding, graph.values[value].loc)
    for node in walk(function.body):
        for key in ("sharding", "in_shardings", "out_shardings"):
            held = node.attrs.get(key, ())
            for sharding in (held,) if isinstance(held, Sharding) else cast("tuple[Sharding, ...]", held):
                yield from _mesh(sharding, node.loc)
        for value in node.results:
            yield from _mesh(graph.values[value].sharding, node.loc)
    for sharding in function.result_shardings:
        yield from _mesh(sharding, function.loc)


def _mesh(sharding: Sharding | None, loc: Location) -> Iterator[tuple[Mesh, Location]]:
    if sharding is not None:
        yield sharding.mesh, loc
