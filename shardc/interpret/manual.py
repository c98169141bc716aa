"""Where per-device code runs, and how tensors lie over its own axes."""

from __future__ import annotations

from typing import cast

import numpy as np
from msgspec.structs import replace

from shardc.graph import Graph, Node
from shardc.interpret.collectives import Place
from shardc.layout import Axis, Dim, LayoutError, Mesh, Sharding


def manual_place(node: Node, graph: Graph, outer: Mesh) -> tuple[Place, Mesh]:
    """Where the body runs: the mesh of the manual axes, those of the code around (`outer`) and its own, and
    the devices on it that stand at 0 of all other axes; and the mesh of its own axes."""
    manual = cast("tuple[str, ...]", node.attrs["manual_axes"])
    shardings = (
        *cast("tuple[Sharding, ...]", node.attrs["in_shardings"]),
        *cast("tuple[Sharding, ...]", node.attrs["out_shardings"]),
    )
    meshes = [sharding.mesh for sharding in shardings] or list(graph.meshes.values())
    names = {*manual, *outer.sizes}
    mesh = next((mesh for mesh in meshes if names <= mesh.sizes.keys()), None)
    if mesh is None:
        raise LayoutError(f"no mesh has the manual axes {', '.join(sorted(names))}")
    index = tuple(slice(None) if name in names else 0 for name in mesh.sizes)
    devices = tuple(int(device) for device in np.asarray(mesh.devices[index]).reshape(-1))
    return Place(_only(mesh, names), devices), _only(mesh, set(manual))


def _only(mesh: Mesh, names: set[str]) -> Mesh:
    axes = tuple((name, size) for name, size in mesh.axes if name in names)
    return replace(mesh, axes=axes, device_ids=None, processes=1, ranks=None)


def axes_in(mesh: Mesh, other: Mesh) -> tuple[Axis, ...]:
    """The axes of a mesh, as axes of another."""
    return tuple(other.axis(name) for name in mesh.sizes)


def manual_part(sharding: Sharding, mesh: Mesh) -> Sharding:
    """The sharding over the axes of `mesh` only."""
    return Sharding(
        mesh,
        tuple(Dim(tuple(axis for axis in dim.axes if axis.name in mesh.sizes)) for dim in sharding.dims),
        unreduced=tuple(axis for axis in sharding.unreduced if axis.name in mesh.sizes),
        kind=sharding.kind,
    )
