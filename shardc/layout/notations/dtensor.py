"""PyTorch's DTensor: per axis of the device mesh Shard(dim), Replicate() or Partial("sum").

    (Shard(0), Replicate())
    (_StridedShard(0, split_factor=4), Shard(0))      dimension 0 split by the second axis first
    DeviceMesh("cpu", [[0, 1], [2, 3]], mesh_dim_names=("data", "model"))

Splits apply axis by axis, each in blocks of the ceiling size, as torch.chunk does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shardc.layout.mesh import LayoutError, Mesh
from shardc.layout.notations import limits
from shardc.layout.notations.per_axis import Component, Copy, Partial, Split, components_of, to_sharding
from shardc.layout.notations.ranks import array_of, count_of, mesh_of_array, ranks_of
from shardc.layout.notations.values import Call, Name, Value, parse
from shardc.layout.refine import on_axes
from shardc.layout.sharding import KINDS, Sharding

_REASONS = {"avg": "a mean is a sum times 1/n", "product": "it cannot be reduced by one collective"}


def read(text: str, mesh: Mesh | None = None, rank: int | None = None) -> Sharding:
    """The sharding that the placements mean on `mesh`, one per axis. LayoutError if they cannot be.

    Without `rank`, the tensor has as many dimensions as are split. Of dimensions that don't divide,
    `slices(…, policy="chunked")` has PyTorch's blocks.
    """
    if mesh is None:
        raise LayoutError(f"{text!r} does not tell the devices: give the device mesh")
    value = parse(text)
    items = list(value) if isinstance(value, tuple | list) else [value]
    return to_sharding([_component(item) for item in items], mesh, rank)


def write(sharding: Sharding, shape: Sequence[int] | None = None) -> str:
    """The placements, to go with `write_mesh`. Any order of axes can be written, with _StridedShard.

    LayoutError if, given a `shape`, PyTorch's blocks would be others.
    """
    limits.only_layouts(sharding, "DTensor")
    whole = on_axes(sharding)
    found = components_of(whole)
    strided = any(isinstance(c, Split) and c.factor > 1 for c in found)
    limits.split_alike(whole, shape, "DTensor", "refuse" if strided else "chunked")
    return f"({', '.join(map(_text, found))}{',' if len(found) == 1 else ''})"


def read_mesh(text: str) -> Mesh:
    """The mesh of a `DeviceMesh("cpu", [[0, 1], [2, 3]], mesh_dim_names=("x", "y"))` or of what prints so,
    or of `init_device_mesh("cpu", (2, 2), mesh_dim_names=…)`. Axes without names are x0, x1, …"""
    value = parse(text)
    if not (isinstance(value, Call) and value.last in ("DeviceMesh", "init_device_mesh")):
        raise LayoutError(f"{text!r} is no DeviceMesh(…)")
    shaped = [arg for arg in [*value.args, *value.named.values()] if isinstance(arg, tuple | list)]
    ranks = value.named.get("mesh", value.named.get("mesh_shape", shaped[0] if shaped else []))
    names = value.named.get("mesh_dim_names")
    if value.last == "init_device_mesh":
        return mesh_of_array(np.arange(count_of(ranks)).reshape(array_of(ranks)), names)
    return mesh_of_array(array_of(ranks), names)


def write_mesh(sharding: Sharding) -> str:
    """The device mesh whose axes the placements of `write` are for."""
    mesh = on_axes(sharding).mesh
    names = ", ".join(f'"{name}"' for name, _ in mesh.axes) + ("," if len(mesh.axes) == 1 else "")
    return f'DeviceMesh("cpu", {ranks_of(mesh)}, mesh_dim_names=({names}))'


def _component(value: Value) -> Component:
    if not isinstance(value, Call):
        raise LayoutError(f"{value} is no placement; write Shard(0), Replicate() or Partial()")
    readers = {"Shard": _shard, "_StridedShard": _strided, "Replicate": _replicate, "Partial": _partial}
    readers["_Partial"] = _partial
    if value.last not in readers:
        raise LayoutError(f"{value.last} is none of {', '.join(readers)}")
    return readers[value.last](value)


def _shard(value: Call) -> Component:
    return Split(_number(value, 0, "dim"))


def _strided(value: Call) -> Component:
    name = "sf" if "sf" in value.named else "split_factor"
    return Split(_number(value, 0, "dim"), _number(value, 1, name))


def _replicate(value: Call) -> Component:
    return Copy()


def _partial(value: Call) -> Component:
    given = value.named.get("reduce_op", value.args[0] if value.args else "sum")
    kind = given.last.lower() if isinstance(given, Name) else str(given)
    if kind not in KINDS:
        raise LayoutError(f"partial {kind}: {_REASONS.get(kind, 'there are sum, max and min')}")
    return Partial(kind)


def _number(value: Call, place: int, name: str) -> int:
    given = value.named.get(name, value.args[place] if len(value.args) > place else None)
    if not isinstance(given, int):
        raise LayoutError(f"{value.last} needs the number {name}")
    return given


def _text(item: Component) -> str:
    if isinstance(item, Split):
        return (
            f"Shard({item.dim})"
            if item.factor == 1
            else f"_StridedShard({item.dim}, split_factor={item.factor})"
        )
    return f'Partial("{item.kind}")' if isinstance(item, Partial) else "Replicate()"
