"""The attributes of an operation that is built: from plain Python, as its class and its definition have them.

    properties, attributes = op_attributes(cls, {"permutation": (1, 0), "shardc.call": "layer#0"}, mesh)

Bare axis names belong to a mesh: that of the operation's `out_sharding`, else the one around it, which is
asked for where it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation

from shardc.dialects.convert import attribute_of
from shardc.dialects.derive import attribute
from shardc.dialects.sdy_attributes import AllToAllParamsAttr, AxesAttr, AxisListsAttr
from shardc.dialects.shardings import axis_ref
from shardc.dialects.sidecars import sidecar
from shardc.layout import Axis, Mesh, Sharding
from shardc.layout.sharding import text_of
from shardc.ops import find

Attributes = dict[str, Attribute]


def op_attributes(
    cls: type[IRDLOperation], attrs: Mapping[str, object], mesh: Callable[[], Mesh]
) -> tuple[Attributes, Attributes]:
    """Properties and other attributes. ValueError for one that the operation does not have."""
    definition = cls.get_irdl_definition()
    properties: Attributes = {}
    attributes: Attributes = {}
    for key, value in attrs.items():
        attr = _attribute(cls.name, key, value, attrs.get("out_sharding"), mesh)
        if key in definition.properties:
            properties[key] = attr
        elif key in definition.attributes or "." in key:
            attributes[key] = attr
        else:
            known = ", ".join([*definition.properties, *definition.attributes]) or "none"
            raise ValueError(f"{cls.name} has no attribute {key}; it has {known}")
        attributes.update(sidecar(key, value))
    return properties, attributes


def _attribute(name: str, key: str, value: object, target: object, mesh: Callable[[], Mesh]) -> Attribute:
    """The attribute `key` of operation `name`, whose `out_sharding` is `target`."""
    if name.startswith("spmd.") and key == "axes":
        return spmd_axes(value, mesh())  # pyright: ignore[reportArgumentType]
    if name.startswith("sdy.") and isinstance(target, Sharding):
        axes = _sdy_axes(key, value, target.mesh)
        if axes is not None:
            return axes
    return attribute(find(name), key, value) or attribute_of(key, value)


def _sdy_axes(name: str, value: Any, mesh: Mesh) -> Attribute | None:
    """The attribute of an sdy collective that lists axes; None if `name` is no such."""
    if name in ("gathering_axes", "slicing_axes", "reduce_scatter_axes"):
        return AxisListsAttr(tuple(tuple(axis_ref(axis, mesh) for axis in axes) for axes in value))
    if name == "params":
        return AllToAllParamsAttr(
            tuple((tuple(axis_ref(a, mesh) for a in axes), s, t) for axes, s, t in value)
        )
    if name == "reduction_axes" or (name == "axes" and all(isinstance(axis, Axis) for axis in value)):
        return AxesAttr(tuple(axis_ref(axis, mesh) for axis in value))
    if name == "axes":
        return AxisListsAttr(tuple(tuple(axis_ref(axis, mesh) for axis in axes) for axes in value))
    return None


def spmd_axes(value: tuple[Axis, ...], mesh: Mesh) -> Attribute:
    """`["x", "y:(1)2"]`, as spmd operations name axes."""
    return ArrayAttr([StringAttr(text_of(axis, mesh)) for axis in value])
