"""One visit of one operation: from the shardings its tensors have to those they get."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from msgspec import Struct

from shardc.layout import Mesh, Sharding
from shardc.ops.rule import FactorRule
from shardc.propagation.aggressive import aggressive
from shardc.propagation.basic import basic
from shardc.propagation.direction import Directions
from shardc.propagation.manual import Border
from shardc.propagation.projection import project, unproject


class Strategy(Enum):
    """How conflicts are met: left alone, or decided."""

    BASIC = "basic"
    AGGRESSIVE = "aggressive"


class Visit(Struct, frozen=True):
    """Everything about a visit but the shardings.

    `border` translates the sharding of the one result, when the operands are on the other side of a manual
    computation. `whole_axes` forbids to split axes.
    """

    rule: FactorRule
    directions: Directions
    elementwise: bool = False
    border: Border | None = None
    whole_axes: bool = False


def step(
    visit: Visit, shardings: Sequence[Sharding | None], strategy: Strategy
) -> list[tuple[int, Sharding]]:
    """The tensors (operands first) whose sharding changes, with their new ones, in order.

    Nothing changes if the tensors lie on different meshes, or on one given device.
    """
    seen = list(shardings)
    if visit.border is not None:
        seen[-1] = visit.border.to_sources(seen[-1])
    mesh = common_mesh(seen)
    if mesh is None or mesh.is_maximal:
        return []
    projection = project(visit.rule, seen)
    whole_in = mesh if visit.whole_axes else None
    if strategy is Strategy.BASIC:
        changed = basic(projection, visit.directions, whole_in)
    else:
        changed = aggressive(projection, visit.directions, whole_in, visit.elementwise)
    tensors, dims = projection.tensors, visit.rule.tensors
    updates: list[tuple[int, Sharding]] = []
    for number in sorted(changed):
        old = seen[number]
        kind = "sum" if old is None else old.kind
        new = unproject(tensors[number], dims[number], projection.sizes, mesh, kind)
        if new == old or (old is None and new.is_replicated):
            continue
        if visit.border is not None and number == len(seen) - 1:
            new = visit.border.to_target(new)
        updates.append((number, new))
    return updates


def common_mesh(shardings: Sequence[Sharding | None]) -> Mesh | None:
    """The mesh of all tensors that name one; a mesh without axes and devices only stands in for another.

    None if no tensor has a sharding, or if two are on meshes that differ in axes or in the order of devices.
    """
    found: Mesh | None = None
    for sharding in shardings:
        if sharding is None:
            continue
        mesh = sharding.mesh
        if found is None or not (found.axes or found.device_ids):
            found = mesh
        elif (mesh.axes or mesh.device_ids) and not alike(mesh, found):
            return None
    return found


def alike(mesh: Mesh, other: Mesh) -> bool:
    """Whether two meshes are the same but for their names and for axes of size 1."""
    if mesh is other:
        return True
    return mesh.device_ids == other.device_ids and _axes(mesh) == _axes(other)


def _axes(mesh: Mesh) -> list[tuple[str, int]]:
    return [axis for axis in mesh.axes if axis[1] > 1]
