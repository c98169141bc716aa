"""Operations on one device, beside a mesh of several: whole on all of them.

    sdy.mesh @pod = <["x"=4]>
    sdy.mesh @one = <[], device_ids=[2]>
    %0 = stablehlo.sort %x {sdy.sharding = #sdy.sharding_per_value<[<@one, []>]>}

becomes

    %0 = stablehlo.sort %x {sdy.sharding = #sdy.sharding_per_value<[<@pod, [{}]>]>}

Local code is the same on every device, and an operation has no other effect than its results, which are the
same wherever they are computed. Arguments and results of functions stay: they say who holds them.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from shardc.diagnostics import warn
from shardc.dialects.locations import location_of
from shardc.dialects.sdy_attributes import ShardingAttr, ShardingPerValueAttr
from shardc.dialects.sdy_refs import DimRef, ShardingRef
from shardc.dialects.types import type_of
from shardc.layout import Mesh


def spread(module: ModuleOp, meshes: Mapping[str, Mesh], target: Mesh) -> bool:
    """Put operations that are on one device of a mesh on all of it. Whether there were any."""
    found = False
    for op in module.walk():
        if isinstance(op, FuncOp):
            continue
        devices: set[int] = set()
        for data in (op.properties, op.attributes):
            data.update({key: _whole(op, attr, meshes, target, devices) for key, attr in data.items()})
        for device in sorted(devices):
            text = f"{op.name} is to run on device {device} alone: every device takes part and has its result"
            warn(text, location_of(op.location), "local code is the same on every device")
        found = found or bool(devices)
    return found


def _whole(
    op: Operation, attr: Attribute, meshes: Mapping[str, Mesh], target: Mesh, devices: set[int]
) -> Attribute:
    """A sharding of results on one device as one of the whole mesh; the device is added to those found."""
    if not isinstance(attr, (ShardingAttr, ShardingPerValueAttr)):
        return attr
    refs = attr.data if isinstance(attr, ShardingPerValueAttr) else (attr.data,)
    new: list[ShardingRef] = []
    for ref, result in zip(refs, op.results, strict=False):
        mesh = meshes.get(ref.mesh) if isinstance(ref.mesh, str) else None
        device = mesh.device_ids[0] if mesh is not None and mesh.is_maximal and mesh.device_ids else None
        if device is None or device not in (target.device_ids or range(target.size)):
            new.append(ref)
            continue
        devices.add(device)
        new.append(ShardingRef(target.name, (DimRef(),) * type_of(result.type).rank))
    if len(new) != len(refs):
        return attr
    return (
        ShardingPerValueAttr(tuple(new)) if isinstance(attr, ShardingPerValueAttr) else ShardingAttr(new[0])
    )
