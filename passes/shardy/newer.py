"""Passes of newer Shardys that jaxlib does not have yet, by their names.

    sdy.mesh @m = <["a"=2, "b"=4]>        … <@m, [{"a"}, {}], replicated={"b"}>
->  sdy.mesh @m = <["data"=2, "model"=4]> … <@m, [{"data"}, {}], replicated={"model"}>   // sdy-translate-mesh
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from shardc.diagnostics import ShardcError
from shardc.dialects.locations import location_of
from shardc.dialects.sdy import ManualComputationOp, MeshOp
from shardc.dialects.sdy_attributes import ManualAxesAttr, MeshAttr
from shardc.dialects.sdy_refs import AxisRef, MeshRef, ShardingRef
from shardc.dialects.stablehlo.mesh_groups import MeshGroups
from shardc.passes.shardy.constants import CONSTANTS, merge_constants
from shardc.passes.shardy.export import change_groups, change_shardings
from shardc.passes.shardy.unreduced_calls import carry_unreduced, check_unreduced


def merge_equal_constants(module: ModuleOp) -> None:
    """Equal constants of one region become one."""
    for op in module.body.block.ops:
        if isinstance(op, FuncOp):
            merge_constants(op.body.block, CONSTANTS)


NEWER_STEPS = {
    "sdy-deduplicate-constants": merge_equal_constants,
    "sdy-propagate-unreduced-across-call-boundaries": carry_unreduced,
    "sdy-verify-unreduced-axes": check_unreduced,
}
"""Shardy's name -> what it does."""


@dataclass(frozen=True)
class TranslateMesh(ModulePass):
    """Give the axes of a mesh other names: `axis_names` are separated by commas, one for each axis."""

    name = "sdy-translate-mesh"

    old_mesh_name: str = ""
    axis_names: str = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        meshes = {m.sym_name.data: m for m in op.body.block.ops if isinstance(m, MeshOp)}
        found = meshes.get(self.old_mesh_name)
        if found is None:
            raise ShardcError(f"Mesh {self.old_mesh_name} not found in module.", location_of(op.location))
        mesh, names = found.mesh.data, tuple(self.axis_names.split(","))
        if len(names) != len(mesh.axes):
            raise ShardcError(
                "Both meshes must have the same number of axes.",
                location_of(found.location),
                f"@{self.old_mesh_name} has {len(mesh.axes)}",
            )
        new = dict(zip((name for name, _ in mesh.axes), names, strict=True))
        change_shardings(op, lambda ref: _renamed(ref, self.old_mesh_name, new))
        change_groups(op, lambda groups: _renamed_groups(groups, self.old_mesh_name, new))
        for inner in op.walk():
            if isinstance(inner, ManualComputationOp) and _is_over(inner, self.old_mesh_name):
                inner.properties["manual_axes"] = ManualAxesAttr(
                    tuple(new[name] for name in inner.manual_axes.data)
                )
        sizes = tuple(size for _, size in mesh.axes)
        found.properties["mesh"] = MeshAttr(MeshRef(tuple(zip(names, sizes, strict=True)), mesh.device_ids))


def _is_over(op: ManualComputationOp, mesh: str) -> bool:
    return any(ref.mesh == mesh for ref in (*op.in_shardings.data, *op.out_shardings.data))


def _renamed_groups(groups: MeshGroups, mesh: str, new: dict[str, str]) -> MeshGroups:
    return replace(groups, axes=_called(groups.axes, new)) if groups.mesh == mesh else groups


def _renamed(ref: ShardingRef, mesh: str, new: dict[str, str]) -> ShardingRef:
    if ref.mesh != mesh:
        return ref
    return replace(
        ref,
        dims=tuple(replace(dim, axes=_called(dim.axes, new)) for dim in ref.dims),
        replicated=_called(ref.replicated, new),
        unreduced=_called(ref.unreduced, new),
    )


def _called(axes: tuple[AxisRef, ...], new: dict[str, str]) -> tuple[AxisRef, ...]:
    """The axes under their new names; one that the mesh has not keeps its own."""
    return tuple(replace(axis, name=new.get(axis.name, axis.name)) for axis in axes)
