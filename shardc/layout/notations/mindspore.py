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
from shardc.layout.notations.ranks import count_of, numbers_of
from shardc.layout.notations.values import Call, Fields, Name, Value, parse, parse_code
from shardc.layout.refine import on_axes
from shardc.layout.sharding import Sharding


def read(text: str, mesh: Mesh | None = None, rank: int | None = None) -> Sharding:
    """The sharding of `Layout(…)(…)`, which brings its own mesh, or of the text of a `to_dict`."""
    sharding = read_layout(text, rank).sharding()
    check_rank(sharding, rank)
    if mesh is not None and mesh.size != sharding.mesh.size:
        raise LayoutError(f"the layout is of {sharding.mesh.size} devices, mesh {mesh} of {mesh.size}")
    return sharding


def check_rank(sharding: Sharding, rank: int | None) -> None:
    """LayoutError if a tensor map is not one of tensors of `rank` dimensions."""
    if rank is None or rank == sharding.rank:
        return
    wrapped = sharding.rank == 1 and len(sharding.dims[0].axes) > 1
    hint = "; if its one tuple is the whole map, unpack it: layout(*tensor_map)" if wrapped else ""
    raise LayoutError(f"the tensor map has {sharding.rank} entries, the tensor {rank} dimensions{hint}")


def read_layout(text: str, rank: int | None = None) -> Layout:
    """The Layout that `text` constructs, for a tensor of `rank` dimensions if that is known.

    Assignments may come before it, as in `layout = Layout(…)` and `strategy = (layout("x"),)`: the last one
    counts.
    """
    value = strategy_of(parse_code(text))
    if isinstance(value, tuple) and len(value) == 1:
        value = value[0]
    if isinstance(value, tuple) and value and all(isinstance(item, Call) for item in value):
        count = len(value)
        raise LayoutError(f"the strategy has the layouts of {count} operands; give it with one: (layout(…),)")
    if isinstance(value, Fields):
        return from_dict({str(key): item for key, item in value.entries})
    if not isinstance(value, Call):
        raise LayoutError(f"{text!r} is no Layout(…)(…)")
    if isinstance(value.function, Call):
        layout = _constructed(value.function)
        return layout(*entries_of(value.args, layout.alias_name, rank))
    return _constructed(value)


def strategy_of(value: Value) -> Value:
    """The strategy of `relu.shard(strategy)`; else the value itself."""
    if not isinstance(value, Call) or len(value.args) != 1:
        return value
    method = value.function.function if isinstance(value.function, Call) else value.function
    return value.args[0] if isinstance(method, Name) and method.last == "shard" else value


def read_entries(text: str, names: tuple[str, ...], rank: int | None = None) -> tuple[Entry, ...]:
    """The tensor map of `layout("x", "None")` over the aliases `names`. Errors as of `entries_of`."""
    value = parse(text)
    if not isinstance(value, Call) or value.named:
        raise LayoutError(f"{text!r} is no layout(…) of aliases")
    return entries_of(value.args, names, rank)


def entries_of(args: Sequence[Value], names: Sequence[str], rank: int | None = None) -> tuple[Entry, ...]:
    """Entries of a tensor map: aliases of `names`, or their places from the right, or tuples of those.

    MindSpore takes one tuple for one dimension that is split several times, its users' texts for the whole
    map; it is the map if it has as many entries as the tensor dimensions, which are more than one.
    """
    if len(args) == 1 and isinstance(args[0], tuple | list) and rank != 1 and len(args[0]) == rank:
        args = tuple(args[0])
    return tuple(_entry(arg, names) for arg in args)


def from_dict(fields: dict[str, Value]) -> Layout:
    """The Layout of which `fields` is the `to_dict`."""
    needed = ("device_matrix", "alias_name", "tensor_map")
    for name in needed:
        if not isinstance(fields.get(name), tuple | list):
            raise LayoutError(f"the dictionary of a Layout needs {name}")
    matrix, names, numbers = (_tuple_of(fields[name]) for name in needed)
    layout = Layout(matrix, names, fields.get("rank_list"))  # pyright: ignore[reportArgumentType]
    return layout(*(_entry(tuple(n) if isinstance(n, list) else n, names) for n in numbers))  # pyright: ignore[reportArgumentType]


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
    ranks = _listed(given.get("rank_list"))
    return Layout(given["device_matrix"], given["alias_name"], ranks)  # pyright: ignore[reportArgumentType]


def _listed(ranks: Value) -> Value:
    """`list(range(8, 16))` as the list that it is; else what was given."""
    match ranks:
        case Call(function=Name(text="list"), args=(Call(function=Name(text="range"), args=bounds),)):
            numbers = [bound for bound in bounds if isinstance(bound, int)]
            if not 1 <= len(numbers) == len(bounds) <= 3 or numbers[2:] == [0]:
                raise LayoutError(f"{ranks} is no list of ranks; write list(range(8)), or the numbers")
            counted = numbers_of(*numbers)
            count_of(max(len(counted), 1))
            return list(counted)
        case _:
            return ranks


def _entry(value: Value, names: Sequence[str]) -> Entry:
    if isinstance(value, tuple):
        return tuple(str(_entry(item, names)) for item in value)
    if value is None or isinstance(value, str):
        return value or NONE
    if not isinstance(value, int):
        raise LayoutError(f"an entry of a tensor map is an alias, a number, or a tuple of them, not {value}")
    if not -1 <= value < len(names):
        raise LayoutError(f"{value} in the tensor map is no place among {len(names)} axes")
    return NONE if value == -1 else str(names[len(names) - 1 - value])


def _tuple_of(value: object) -> tuple[Value, ...]:
    return tuple(value)  # pyright: ignore[reportUnknownVariableType, reportArgumentType, reportUnknownArgumentType]
