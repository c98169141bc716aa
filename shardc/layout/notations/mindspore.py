"""MindSpore's Layout.

    Layout((2, 2, 2), ("dp", "sp", "mp"))("mp", ("sp", "dp"))
    Layout((2, 4), ("x", "y"), rank_list=[7, 6, 5, 4, 3, 2, 1, 0])("x", "None")

The device matrix has its rightmost dimension fastest; position p is device rank_list[p]. Each entry of the
tensor map splits one dimension of the tensor: "None", an alias, or several, the first of them the major one.
In integers an alias is its place counted from the right, and "None" is -1. The alias interleaved_parallel
splits within a device, so that its copies' work can overlap; it is not counted as devices.
Strategies of `.shard` are in `mindspore_shard`, the derivation by hand in `mindspore_steps`.
"""

from __future__ import annotations

from collections.abc import Sequence

from shardc.layout.mesh import LayoutError, Mesh
from shardc.layout.notations import limits
from shardc.layout.notations.mindspore_layout import INTERLEAVED, NONE, Entry, Layout
from shardc.layout.notations.values import Call, Fields, Value, parse
from shardc.layout.refine import on_axes
from shardc.layout.sharding import Sharding


def read(text: str, mesh: Mesh | None = None, rank: int | None = None) -> Sharding:
    """The sharding of `Layout(…)(…)`, which brings its own mesh, or of the text of a `to_dict`."""
    sharding = read_layout(text).sharding()
    if rank is not None and rank != sharding.rank:
        raise LayoutError(f"the tensor map has {sharding.rank} entries, the tensor {rank} dimensions")
    if mesh is not None and mesh.size != sharding.mesh.size:
        raise LayoutError(f"the layout is of {sharding.mesh.size} devices, mesh {mesh} of {mesh.size}")
    return sharding


def read_layout(text: str) -> Layout:
    """The Layout that `text` constructs."""
    value = parse(text)
    if isinstance(value, Fields):
        return from_dict({str(key): item for key, item in value.entries})
    if not isinstance(value, Call):
        raise LayoutError(f"{text!r} is no Layout(…)(…)")
    if isinstance(value.function, Call):
        return _constructed(value.function)(*(_entry(arg) for arg in value.args))
    return _constructed(value)


def from_dict(fields: dict[str, Value]) -> Layout:
    """The Layout of which `fields` is the `to_dict`."""
    needed = ("device_matrix", "alias_name", "tensor_map")
    for name in needed:
        if not isinstance(fields.get(name), tuple | list):
            raise LayoutError(f"the dictionary of a Layout needs {name}")
    matrix, names, numbers = (_tuple_of(fields[name]) for name in needed)
    layout = Layout(matrix, names, fields.get("rank_list"))  # pyright: ignore[reportArgumentType]

    def entry(number: Value) -> Entry:
        if isinstance(number, tuple | list):
            return tuple(str(entry(n)) for n in number)
        if not isinstance(number, int) or not -1 <= number < len(names):
            raise LayoutError(f"{number} in the tensor map is no place among {len(names)} axes")
        return NONE if number == -1 else str(names[len(names) - 1 - number])

    return layout(*map(entry, numbers))


def write(sharding: Sharding, shape: Sequence[int] | None = None) -> str:
    """`Layout(…)(…)`. LayoutError for partial results, of which Layout knows nothing, and for a `shape` that
    doesn't divide, which MindSpore refuses."""
    return str(layout_of(sharding, shape))


def layout_of(sharding: Sharding, shape: Sequence[int] | None = None) -> Layout:
    """The Layout that says the same. Errors as of `write`."""
    limits.only_layouts(sharding, "MindSpore")
    limits.no_partials(sharding, "a MindSpore Layout")
    limits.split_alike(sharding, shape, "MindSpore", "refuse")
    whole = on_axes(sharding)
    mesh = whole.mesh
    ranks = [mesh.rank_of(int(device)) for device in mesh.devices.flat]
    names = tuple(name for name, _ in mesh.axes)
    listed = None if ranks == list(range(mesh.size)) else ranks
    layout = Layout(tuple(size for _, size in mesh.axes), names, listed)
    if INTERLEAVED in names:
        raise LayoutError(f"{INTERLEAVED} is no name for devices in MindSpore; rename the axis")
    entries = [tuple(axis.name for axis in dim.axes) for dim in whole.dims]
    return layout(*(e if len(e) > 1 else e[0] if e else NONE for e in entries))


def _constructed(call: Call) -> Layout:
    if call.last != "Layout":
        raise LayoutError(f"expected Layout(…), not {call.last or 'a call'}(…)")
    names = ("device_matrix", "alias_name", "rank_list")
    given = dict(zip(names, call.args, strict=False)) | call.named
    if unknown := [name for name in given if name not in names]:
        raise LayoutError(f"Layout takes no {unknown[0]}")
    for name in names[:2]:
        if name not in given:
            raise LayoutError(f"Layout needs {name}")
    return Layout(given["device_matrix"], given["alias_name"], given.get("rank_list"))  # pyright: ignore[reportArgumentType]


def _entry(value: Value) -> Entry:
    if isinstance(value, tuple):
        return tuple(str(alias) for alias in value)
    if value is None or isinstance(value, str):
        return value or NONE
    raise LayoutError(f"an entry of a tensor map is an alias or a tuple of them, not {value}")


def _tuple_of(value: object) -> tuple[Value, ...]:
    return tuple(value)  # pyright: ignore[reportUnknownVariableType, reportArgumentType, reportUnknownArgumentType]
