"""Shardings without the axes of one device.

%1 = sdy.sharding_constraint %0 <@m, [{"one", "x"}, {"also"}]> : tensor<8x4xf32>

becomes, on a mesh x=4, one=1, also=1,

%1 = sdy.sharding_constraint %0 <@m, [{"x"}, {}]> : tensor<8x4xf32>

since they split nothing, and a plan has no ways to choose from between layouts that differ in them alone.
At the borders of per-device code it is so, too: its body may name them, and a value that only varies over
them is one that does not vary.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from xdsl.ir import Operation

from shardc.dialects.sharding_writer import write_shardings
from shardc.dialects.shardings import attr_of, per_value
from shardc.dialects.sidecars import BESIDE, sidecar
from shardc.dialects.snapshot import Snapshot
from shardc.graph import walk
from shardc.layout import Sharding
from shardc.propagation.editing import without_unit_axes


def leave_unit_axes(snap: Snapshot) -> bool:
    """Take axes of size 1 out of all shardings of a module; whether there were any."""
    graph = snap.graph
    if not any(1 in mesh.sizes.values() for mesh in graph.meshes.values()):
        return False
    values: dict[int, Sharding | None] = {
        value.id: without_unit_axes(value.sharding)
        for value in graph.values
        if value.sharding is not None and _names(value.sharding)
    }
    results = {
        name: [sharding and without_unit_axes(sharding) for sharding in function.result_shardings]
        for name, function in graph.functions.items()
        if any(sharding is not None and _names(sharding) for sharding in function.result_shardings)
    }
    write_shardings(snap, values, results)
    nodes = [node for function in graph.functions.values() for node in walk(function.body)]
    changed = [_leave(snap.ops[node.id], node.attrs) for node in nodes]
    return bool(values or results) or any(changed)


def _names(sharding: Sharding) -> bool:
    """Whether a sharding names an axis of size 1."""
    return any(axis.size == 1 for axis in sharding.axes())


def _leave(op: Operation, attrs: Mapping[str, object]) -> bool:
    """The same in the shardings that an operation keeps itself; whether there were any."""
    changed = False
    for key in BESIDE.keys() & op.properties.keys() & attrs.keys():
        old = attrs[key]
        shardings = cast("tuple[Sharding, ...]", old if isinstance(old, tuple) else (old,))
        if not any(map(_names, shardings)):
            continue
        new = tuple(map(without_unit_axes, shardings))
        op.properties[key] = per_value(new) if isinstance(old, tuple) else attr_of(new[0])
        op.attributes.pop(BESIDE[key], None)
        op.attributes.update(sidecar(key, new if isinstance(old, tuple) else new[0]))
        changed = True
    return changed
