"""Attributes of operations as plain Python (`graph/attrs.py`), and back.

Reading goes by the class of the attribute, writing by its name: the tables are at the end. Axes and shardings
need the meshes they name.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from functools import lru_cache
from math import prod
from typing import Any, cast

from msgspec.structs import replace
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    IntegerType,
    Signedness,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Data

from shardc.dialects.attribute_kinds import DIRECTIONS, bools, integer, integers, precisions
from shardc.dialects.dense import DenseAttr, dense_attr, pairs_attr
from shardc.dialects.once import Once
from shardc.dialects.sdy_attributes import (
    AllToAllParamsAttr,
    AxesAttr,
    AxisListsAttr,
    ManualAxesAttr,
    ShardingAttr,
    ShardingPerValueAttr,
)
from shardc.dialects.shardings import (
    Meshes,
    attr_of,
    axis_of,
    per_value,
    sharding_of,
)
from shardc.dialects.sidecars import SIDECARS, apply_sidecars
from shardc.dialects.stablehlo.attributes import ConvAttr, DotAttr, GatherAttr, ScatterAttr
from shardc.dialects.stablehlo.enums import (
    ComparisonDirectionAttr,
    ComparisonTypeAttr,
    EnumAttr,
    FftTypeAttr,
    RngAlgorithmAttr,
    RngDistributionAttr,
    TextAttr,
    TransposeAttr,
)
from shardc.dialects.stablehlo.mesh_groups import MeshGroupsAttr
from shardc.dialects.types import attr_of_type
from shardc.graph.attrs import ConvDims, Dense, DotDims, GatherDims, ScatterDims
from shardc.graph.types import TensorType, name_of
from shardc.layout import LayoutError, Mesh, Sharding, axis_named

# Reading


def python_of(attr: Attribute) -> object:
    """The Python value of an attribute that names no mesh."""
    return _python(attr)


@lru_cache(maxsize=1 << 14)
def _find(attr: Attribute) -> object:
    for kind, read in _READERS:
        if isinstance(attr, kind):
            return read(attr)
    return str(attr)


_python = Once(_find)


def _integer(attr: IntegerAttr[IntegerType]) -> int | bool:
    return bool(attr.value.data) if attr.type == i1 else attr.value.data


def _array(attr: DenseArrayBase[IntegerType]) -> tuple[object, ...]:
    values = attr.get_values()
    return tuple(map(bool, values)) if attr.elt_type == i1 else tuple(values)


def _nested(values: Any, rank: int) -> object:
    """Lists of lists as tuples, so deep."""
    if rank < 2:
        return tuple(values) if rank else values
    return tuple([_nested(row, rank - 1) for row in values])


_MOST_ROWS = 1 << 24
"""Elements of a table in an attribute; more is a mistake, and would take all memory."""


def _rows(attr: DenseAttr) -> object:
    count = prod(attr.data.value.shape)
    if count > _MOST_ROWS:
        raise LayoutError(f"a table in an attribute has {count} elements")
    table = attr.data.value.array()
    return _nested(table.tolist(), table.ndim)


def value_of(name: str, attr: Attribute, meshes: Meshes, mesh: Mesh | None) -> object:
    """The Python value of property `name`; `mesh` is the one that bare axis names belong to."""
    if type(attr) is ShardingAttr:  # isinstance takes ten times as long
        return sharding_of(attr, meshes)
    if type(attr) is ShardingPerValueAttr:
        return tuple(_beside(sharding_of(ref, meshes), mesh) for ref in attr.data)
    if type(attr) is MeshGroupsAttr:
        return attr.data.rows(meshes)
    if name == "value" and type(attr) is DenseAttr:
        return attr.data.value
    if mesh is not None and (name in _AXES or type(attr) in _OF_AXES):
        return _axes_of(attr, mesh)
    if name == "allowed_direction":
        return DIRECTIONS[cast(int, python_of(attr))]
    return python_of(attr)


_OF_AXES = frozenset[type[Attribute]]((AxesAttr, AxisListsAttr, AllToAllParamsAttr))


def _beside(sharding: Sharding, mesh: Mesh | None) -> Sharding:
    """A sharding over `<[]>`, the mesh of no axes, as one over the mesh of the shardings beside it."""
    empty = not sharding.mesh.axes and not sharding.mesh.is_maximal
    return replace(sharding, mesh=mesh) if empty and mesh is not None else sharding


def _axes_of(attr: Attribute, mesh: Mesh) -> object:
    if isinstance(attr, AxesAttr):
        return tuple(axis_of(axis, mesh) for axis in attr.data)
    if isinstance(attr, AxisListsAttr):
        return tuple(tuple(axis_of(axis, mesh) for axis in axes) for axes in attr.data)
    if isinstance(attr, AllToAllParamsAttr):
        return tuple((tuple(axis_of(axis, mesh) for axis in axes), s, t) for axes, s, t in attr.data)
    return tuple(axis_named(name, mesh) for name in cast("tuple[str, ...]", python_of(attr)))


def python_attrs(
    properties: Mapping[str, Attribute],
    attributes: Mapping[str, Attribute],
    own: Container[str],
    meshes: Meshes,
    mesh: Mesh | None,
) -> dict[str, object]:
    """The attrs of a node: its properties, the attributes that are its `own`, and those called shardc.*."""
    attrs = {name: value_of(name, attr, meshes, mesh) for name, attr in properties.items()}
    for name, attr in attributes.items():
        if name in own:
            attrs[name] = value_of(name, attr, meshes, mesh)
        elif name.startswith("shardc.") and name not in SIDECARS:
            attrs[name] = python_of(attr)
    apply_sidecars(attrs, attributes)
    return attrs


# Writing


def attribute_of(name: str, value: object) -> Attribute:
    """The attribute for property `name` with a Python value; TypeError if nothing fits."""
    if name in _WRITERS:
        return _WRITERS[name](value)
    for kind, write in _BY_TYPE:
        if isinstance(value, kind):
            return write(value)
    raise TypeError(f"{name} = {value!r} is no attribute of an operation")


@lru_cache(maxsize=1 << 14)
def _string(value: str) -> Attribute:
    return StringAttr(value)


def _int32(value: Any) -> Attribute:
    return integer(int(value), i32)


def _options(value: Any) -> Attribute:
    """The options of a LAPACK routine: characters, as unsigned bytes, truth values, numbers of rows."""
    return DictionaryAttr({k: _option(k, v) for k, v in value})


def _option(name: str, value: Any) -> Attribute:
    if isinstance(value, bool) or not isinstance(value, int):
        return attribute_of("", value)
    return integer(value, i32 if name in ("low", "high") else _BYTE)


def dense(value: Dense) -> DenseAttr:
    """The attribute for a constant's value."""
    dtype = name_of(value.data.dtype)
    if dtype is None:
        raise ValueError(f"constants of {value.data.dtype} are not supported")
    return dense_attr(value, attr_of_type(TensorType(value.shape, dtype)))


def _tuple(value: tuple[object, ...]) -> Attribute:
    if all(isinstance(item, int) and not isinstance(item, bool) for item in value):
        return integers(value)
    if all(isinstance(item, Sharding) for item in value):
        return per_value(cast("tuple[Sharding, ...]", value))
    return ArrayAttr([attribute_of("", item) for item in value])


# The tables


_AXES = frozenset(("axes",))
_BYTE = IntegerType(8, Signedness.UNSIGNED)
_READERS: list[tuple[type[Attribute], Callable[[Any], object]]] = [
    (DenseArrayBase, _array),
    (IntegerAttr, _integer),
    (StringAttr, lambda attr: attr.data),
    (UnitAttr, lambda attr: True),
    (FloatAttr, lambda attr: attr.value.data),
    (SymbolRefAttr, lambda attr: attr.string_value()),
    (DictionaryAttr, lambda attr: tuple((k, python_of(v)) for k, v in sorted(attr.data.items()))),
    (ArrayAttr, lambda attr: tuple(map(python_of, attr.data))),
    (DenseAttr, _rows),
    (EnumAttr, lambda attr: attr.data),
    (ManualAxesAttr, lambda attr: attr.data),
    (TextAttr, lambda attr: attr.data),
    (FunctionType, str),
    (Data, lambda attr: attr.data),
]

_INT_ARRAYS = (
    "broadcast_dimensions permutation dimensions start_indices limit_indices strides edge_padding_low "
    "edge_padding_high interior_padding slice_sizes window_strides lhs_dilation rhs_dilation "
    "window_dimensions base_dilations window_dilations fft_length"
)

_WRITERS: dict[str, Callable[[Any], Attribute]] = {
    **dict.fromkeys(_INT_ARRAYS.split(), integers),
    "window_reversal": bools,
    "precision_config": precisions,
    "comparison_direction": ComparisonDirectionAttr,
    "compare_type": ComparisonTypeAttr,
    "fft_type": FftTypeAttr,
    "transpose_a": TransposeAttr,
    "rng_distribution": RngDistributionAttr,
    "rng_algorithm": RngAlgorithmAttr,
    "padding": pairs_attr,
    "pairs": pairs_attr,
    "replica_groups": pairs_attr,
    "source_target_pairs": pairs_attr,
    "exponent_bits": _int32,
    "mantissa_bits": _int32,
    "api_version": _int32,
    "callee": SymbolRefAttr,
    "decomposition": SymbolRefAttr,
    "mhlo.backend_config": _options,
    "manual_axes": lambda value: ManualAxesAttr(tuple(value)),
    "in_shardings": per_value,
    "out_shardings": per_value,
}

_BY_TYPE: list[tuple[type, Callable[[Any], Attribute]]] = [
    (bool, lambda value: integer(int(value), i1)),
    (int, lambda value: integer(value, i64)),
    (float, lambda value: FloatAttr(value, 64)),
    (str, _string),
    (Sharding, attr_of),
    (DotDims, DotAttr),
    (GatherDims, GatherAttr),
    (ScatterDims, ScatterAttr),
    (ConvDims, ConvAttr),
    (Dense, dense),
    (tuple, _tuple),
    (Attribute, lambda value: value),
]
