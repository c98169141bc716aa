"""A sharding as a type of the .shard language: `f32[8@data, 4] partial(sum: model)`, and its mesh."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from shardc.layout.axes import Axis
from shardc.layout.mesh import LayoutError, Mesh
from shardc.layout.notations import limits
from shardc.layout.sharding import Dim, Sharding, text_of


def write(sharding: Sharding, shape: Sequence[int], dtype: str = "f32") -> str:
    """The type of a tensor of `shape`, on the mesh of `write_mesh`. Everything can be written."""
    named = _with_names(sharding)
    dims = [_dim(size, dim, named.mesh) for size, dim in zip(shape, named.dims, strict=True)]
    text = f"{dtype}[{', '.join(dims)}]"
    if named.replicated:
        text += f" replicated({_listed(named.replicated, named.mesh)})"
    if named.unreduced:
        text += f" partial({named.kind}: {_listed(named.unreduced, named.mesh)})"
    closed = not any(dim.axes or dim.open for dim in named.dims)
    return text + " replicated" if closed and not named.replicated else text


def write_mesh(sharding: Sharding) -> str:
    """The mesh, as a program declares it. LayoutError for one device, or devices with other numbers."""
    mesh = _with_names(sharding).mesh
    limits.counted_from_zero(mesh, "the language")
    if not mesh.axes:
        raise LayoutError("a tensor on one given device has no mesh in the language")
    axes = ", ".join(f"{name}={size}" for name, size in mesh.axes)
    order = "" if mesh.device_ids is None else f" devices {list(mesh.device_ids)}"
    processes = f" processes {mesh.processes}" if mesh.processes > 1 else ""
    name = mesh.name if re.fullmatch(r"[A-Za-z_]\w*", mesh.name) else "mesh"
    return f"mesh {name}[{axes}]{order}{processes}"


def _with_names(sharding: Sharding) -> Sharding:
    """The same with axis_… for axes that are no names in the language, as the numbers of a `.shard`."""
    taken = {name for name, _ in sharding.mesh.axes}
    names: dict[str, str] = {}
    for name, _ in sharding.mesh.axes:
        new = name if re.fullmatch(r"[A-Za-z_]\w*", name) else "axis_" + re.sub(r"\W", "_", name)
        while new != name and new in taken:
            new += "_"
        taken.add(new)
        names[name] = new
    mesh = replace(sharding.mesh, axes=tuple((names[name], size) for name, size in sharding.mesh.axes))

    def renamed(axes: Iterable[Axis]) -> tuple[Axis, ...]:
        return tuple(replace(axis, name=names[axis.name]) for axis in axes)

    dims = tuple(replace(dim, axes=renamed(dim.axes)) for dim in sharding.dims)
    return Sharding(mesh, dims, renamed(sharding.replicated), renamed(sharding.unreduced), sharding.kind)


def _dim(size: int, dim: Dim, mesh: Mesh) -> str:
    if not dim.axes and not dim.open:
        return str(size)
    names = [text_of(axis, mesh) for axis in dim.axes]
    split = names[0] if len(names) == 1 else f"({', '.join(names)})" if names else ""
    priority = "" if dim.priority is None else f":p{dim.priority}"
    return f"{size}@{split}{'?' if dim.open else ''}{priority}"


def _listed(axes: Sequence[Axis], mesh: Mesh) -> str:
    return ", ".join(text_of(axis, mesh) for axis in axes)
