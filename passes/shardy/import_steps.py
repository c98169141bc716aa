"""Small steps of Shardy's import, each alone on a module: groups, manual axes, meshes inside shardings.

    sdy.sharding_group %0 group_id=5, sdy.sharding_group %0 group_id=7
->  sdy.sharding_group %0 group_id=0                               // sdy-sharding-group-import
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec.structs import replace
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from shardc.diagnostics import ShardcError
from shardc.dialects.locations import location_of
from shardc.dialects.sdy import ManualComputationOp, MeshOp, ShardingGroupOp
from shardc.dialects.sdy_attributes import ManualAxesAttr, ShardingPerValueAttr
from shardc.dialects.sdy_refs import AxisRef, MeshRef, ShardingRef
from shardc.dialects.snapshot import snapshot
from shardc.passes.shardy.edges import take_edges
from shardc.passes.shardy.export import change_groups, change_meshes
from shardc.propagation.groups import Member, check_group, group_nodes


def import_groups(module: ModuleOp) -> None:
    """Number the sharding groups from 0, groups with a common value as one, and name each member once.

    ShardcError if a group has values of two shapes, or some inside a manual computation and some outside it.
    """
    edges = take_edges(module)
    graph = snapshot(module).graph
    for edge in edges:
        edge.put_back(edge.start)
    by_group: dict[int, list[Member]] = {}
    for member in group_nodes(graph):
        by_group.setdefault(cast(int, member[0].attrs["group_id"]), []).append(member)
    for members in by_group.values():
        check_group(members, graph)
    _number(module)


def _number(module: ModuleOp) -> None:
    """Number united groups in the order in which Shardy does: as the group that leads them was first seen."""
    ops = [op for op in module.walk() if isinstance(op, ShardingGroupOp)]
    leader: dict[int, int] = {}

    def find(group: int) -> int:
        while leader.setdefault(group, group) != group:
            group = leader[group]
        return group

    by_value: dict[SSAValue, list[ShardingGroupOp]] = {}
    for op in ops:
        by_value.setdefault(op.input, []).append(op)
    for first, *others in by_value.values():
        for op in (first, *others):
            one, other = find(_id(first)), find(_id(op))
            leader[other] = one
    numbers = {group: n for n, group in enumerate(g for g in leader if leader[g] == g)}
    for first, *others in by_value.values():
        first.properties["group_id"] = IntegerAttr(numbers[find(_id(first))], i64)
        for op in others:
            Rewriter.erase_op(op)


def _id(op: ShardingGroupOp) -> int:
    return op.group_id.value.data


def clean_manual_axes(module: ModuleOp) -> None:
    """Sort manual axes in the order of the mesh; shardings that don't name one are replicated along it.

    ShardcError if a body that does something has manual axes and no sharding names a mesh.
    """
    meshes = {op.sym_name.data: op.mesh.data for op in _meshes(module)}
    for op in module.walk():
        if not isinstance(op, ManualComputationOp):
            continue
        refs = (*op.in_shardings.data, *op.out_shardings.data)
        common = next((ref.mesh for ref in refs if _resolved(ref.mesh, meshes).axes), None)
        if common is None:
            _check_unsharded(op)
            continue
        order = [name for name, _ in _resolved(common, meshes).axes]
        names = tuple(sorted(op.manual_axes.data, key=order.index))
        op.properties["manual_axes"] = ManualAxesAttr(names)
        for key, given in (("in_shardings", op.in_shardings), ("out_shardings", op.out_shardings)):
            op.properties[key] = ShardingPerValueAttr(
                tuple(_complete(ref, names, common, order) for ref in given.data)
            )


def _check_unsharded(op: ManualComputationOp) -> None:
    """ShardcError if a body does something, and nothing says on which mesh its manual axes are."""
    if op.manual_axes.data and op.body.block.first_op is not op.body.block.last_op:
        raise ShardcError(
            "op has manual_axes when there are no in/out shardings and the body is not empty",
            location_of(op.location),
            "no mesh is named, so no device is told to run the body",
        )


def _resolved(mesh: str | MeshRef, meshes: dict[str, MeshRef]) -> MeshRef:
    return meshes[mesh] if isinstance(mesh, str) else mesh


def _complete(ref: ShardingRef, names: Sequence[str], common: str | MeshRef, order: list[str]) -> ShardingRef:
    used = {axis.name for dim in ref.dims for axis in dim.axes}
    used.update(axis.name for axis in (*ref.replicated, *ref.unreduced))
    missing = [AxisRef(name) for name in names if name not in used]
    if not missing:
        return ref
    replicated = sorted((*ref.replicated, *missing), key=lambda axis: (order.index(axis.name), axis.pre))
    return replace(ref, mesh=common, replicated=tuple(replicated))


def inline_meshes(module: ModuleOp) -> None:
    """Write every mesh inside the shardings and replica groups over it, and remove the meshes."""
    found = _meshes(module)
    meshes = {op.sym_name.data: op.mesh.data for op in found}
    change_meshes(module, lambda mesh: _resolved(mesh, meshes))
    for op in found:
        Rewriter.erase_op(op)


def inline_groups(module: ModuleOp) -> None:
    """Write every mesh inside the replica groups over it."""
    meshes = {op.sym_name.data: op.mesh.data for op in _meshes(module)}
    change_groups(module, lambda groups: replace(groups, mesh=_resolved(groups.mesh, meshes)))


def _meshes(module: ModuleOp) -> list[MeshOp]:
    return [op for op in module.body.block.ops if isinstance(op, MeshOp)]
