"""JAX's PartitionSpec and NamedSharding, as text.

    P('x', None, ('y', 'z'))        major to minor within a dimension
    P('x', unreduced={'y'})         partial sums over y
    P('x', P.UNCONSTRAINED)         left to the partitioner: an open dimension
    NamedSharding(Mesh(np.array(jax.devices()).reshape(2, 4), ('x', 'y')), P('x'))

Meshes are read as code makes them, `jax.make_mesh((2, 4), ('x', 'y'))` included, with assignments before them
(`devices = np.array(jax.devices()[:4])`), and as JAX prints them: `Mesh('x': 2, 'y': 4, …)`. The printed form
doesn't tell the order of the devices, nor does make_mesh, which may choose one for the hardware; they are
read as ascending.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from msgspec.structs import replace

from shardc.layout.axes import Axis
from shardc.layout.mesh import LayoutError, Mesh
from shardc.layout.notations import limits
from shardc.layout.notations.jax_devices import mesh_of_devices
from shardc.layout.notations.values import Call, Fields, Name, Value, parse_code
from shardc.layout.refine import refined
from shardc.layout.sharding import Dim, Sharding


def read(text: str, mesh: Mesh | None = None, rank: int | None = None) -> Sharding:
    """The sharding of a `P(…)` on `mesh`, or of a `NamedSharding(…)`, which has a mesh or names this.

    Dimensions beyond the spec's are whole; without `rank` there are none. LayoutError says what is wrong.
    """
    value = parse_code(text)
    if isinstance(value, Call) and value.last == "NamedSharding":
        parts = _arguments(value, ("mesh", "spec"))
        named = isinstance(parts["mesh"], Name)
        mesh, value = mesh if named and mesh else _mesh(parts["mesh"]), parts["spec"]
    if mesh is None:
        raise LayoutError(f"{text!r} does not tell the mesh: give it, or write NamedSharding(Mesh(…), P(…))")
    return _spec(value, mesh, rank)


def write(sharding: Sharding, shape: Sequence[int] | None = None) -> str:
    """`P(…)`, to go with `write_mesh`. Parts of axes become axes of their own there.

    LayoutError for priorities and for a partial max or min, of which JAX knows nothing, and if `shape` does
    not divide, which JAX refuses.
    """
    limits.only_layouts(replace(sharding, dims=tuple(_closed(dim) for dim in sharding.dims)), "JAX")
    limits.only_sums(sharding, "JAX")
    if sharding.mesh.is_maximal:
        raise LayoutError("a tensor on one given device is a SingleDeviceSharding in JAX; it has no spec")
    if sharding.replicated and any(dim.open for dim in sharding.dims):
        raise LayoutError("JAX cannot keep axes out of an unconstrained dimension")
    limits.split_alike(sharding, shape, "JAX", "refuse")
    whole = refined(sharding)
    entries = [_entry(dim) for dim in whole.dims]
    while entries and entries[-1] == "None":
        entries.pop()
    if whole.unreduced:
        entries.append(f"unreduced={{{', '.join(repr(a.name) for a in whole.unreduced)}}}")
    return f"P({', '.join(entries)})"


def read_mesh(text: str) -> Mesh:
    """The mesh of a `Mesh(…)` or `jax.make_mesh(…)`. LayoutError if it is none."""
    return _mesh(parse_code(text))


def write_mesh(sharding: Sharding) -> str:
    """Python code for the mesh of which `write` names the axes, for `import jax, numpy as np`."""
    mesh = refined(sharding).mesh
    limits.counted_from_zero(mesh, "JAX")
    order = "" if mesh.device_ids is None else f"[{list(mesh.device_ids)}]"
    names = tuple(name for name, _ in mesh.axes)
    sizes = ", ".join(str(size) for _, size in mesh.axes)
    return f"Mesh(np.array(jax.devices()){order}.reshape({sizes}), {names})"


def named_sharding(sharding: Sharding, shape: Sequence[int] | None = None) -> str:
    """`NamedSharding(Mesh(…), P(…))`: both in one. LayoutError as of `write`."""
    return f"NamedSharding({write_mesh(sharding)}, {write(sharding, shape)})"


def _spec(value: Value, mesh: Mesh, rank: int | None) -> Sharding:
    if not (isinstance(value, Call) and value.last in ("P", "PartitionSpec")):
        raise LayoutError("a sharding in JAX is P(…), PartitionSpec(…) or NamedSharding(mesh, spec)")
    dims = [_dim(item, mesh) for item in value.args]
    if rank is not None and len(dims) > rank:
        raise LayoutError(f"the spec has {len(dims)} dimensions, the tensor {rank}")
    dims += [Dim()] * ((rank or 0) - len(dims))
    if unknown := set(value.named) - {"unreduced", "reduced"}:
        raise LayoutError(f"a PartitionSpec has no {sorted(unknown)[0]}")
    unreduced = tuple(_axis(item, mesh) for item in _items(value.named.get("unreduced", ())))
    return Sharding(mesh, tuple(dims), (), unreduced).check()


def _dim(value: Value, mesh: Mesh) -> Dim:
    if isinstance(value, Name) and value.last == "UNCONSTRAINED":
        return Dim(open=True)
    return Dim(tuple(_axis(item, mesh) for item in _items(value) if item is not None))


def _axis(value: Value, mesh: Mesh) -> Axis:
    if isinstance(value, Name):
        raise LayoutError(f'axes are named in quotes: "{value.text}"')
    if not isinstance(value, str):
        raise LayoutError(f"axes are named in quotes, not {value}")
    return mesh.axis(value)


def _items(value: Value) -> list[Value]:
    """The members of a tuple, list or set; a lone name as a list of one."""
    if isinstance(value, Fields):
        return [item for _, item in value.entries]
    if isinstance(value, Call) and value.last in ("frozenset", "set"):
        return [item for arg in value.args for item in _items(arg)]
    return list(value) if isinstance(value, tuple | list) else [value]


def _mesh(value: Value) -> Mesh:
    if isinstance(value, Call) and value.last in ("Mesh", "AbstractMesh") and not value.args:
        sizes = {name: size for name, size in value.named.items() if name not in ("axis_types", "devices")}
        return Mesh("mesh", _axes(list(sizes), list(sizes.values())))
    if isinstance(value, Call) and value.last == "make_mesh":
        parts = _arguments(value, ("axis_shapes", "axis_names"))
        names, sizes = _items(parts["axis_names"]), parts["axis_shapes"]
        if value.named.get("devices") is not None:
            return mesh_of_devices(value.named["devices"], names, sizes)
        return Mesh("mesh", _axes(names, _items(sizes)))
    if isinstance(value, Call) and value.last == "Mesh":
        parts = _arguments(value, ("devices", "axis_names"))
        return mesh_of_devices(parts["devices"], _items(parts["axis_names"]))
    raise LayoutError("a mesh is Mesh(np.array(jax.devices()).reshape(2, 4), ('x', 'y'))")


def _axes(names: Sequence[Value], sizes: Sequence[Value]) -> tuple[tuple[str, int], ...]:
    if len(names) != len(sizes):
        raise LayoutError(f"a mesh of {len(sizes)} dimensions has {len(names)} names")
    counts = [_number(size) for size in sizes]
    if prod(counts) > 1 << 24:
        raise LayoutError(f"{prod(counts)} devices are too many")
    return tuple((str(name), count) for name, count in zip(names, counts, strict=True))


def _number(value: Value) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise LayoutError(f"{value} is no number")
    return value


def _arguments(call: Call, names: Sequence[str]) -> dict[str, Value]:
    """Arguments by name, however they were given."""
    given = dict(zip(names, call.args, strict=False)) | call.named
    for name in names:
        if name not in given:
            raise LayoutError(f"{call.last} needs {name}")
    return given


def _closed(dim: Dim) -> Dim:
    """What JAX writes as P.UNCONSTRAINED is fine: open, without axes."""
    return Dim(priority=dim.priority) if dim.open and not dim.axes else dim


def _entry(dim: Dim) -> str:
    if dim.open:
        return "P.UNCONSTRAINED"
    names = [axis.name for axis in dim.axes]
    return repr(tuple(names)) if len(names) > 1 else repr(names[0]) if names else "None"
