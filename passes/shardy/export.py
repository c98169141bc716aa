"""What Shardy's pipeline does to the shardings of a whole module: meshes get names, axes of size one go.

#sdy.sharding<mesh<["a"=2]>, [{"a"}]>     ->   #sdy.sharding<@mesh, [{"a"}]>
<@m, [{"one", "a"}, {}]>                   ->   <@m, [{"a"}, {}]>
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec.structs import replace
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.dialects.arrays import is_array
from shardc.dialects.dense import dense_attr
from shardc.dialects.sdy import MeshOp
from shardc.dialects.sdy_attributes import (
    MeshAttr,
    ShardingAttr,
    ShardingPerValueAttr,
)
from shardc.dialects.sdy_refs import AxisRef, DimRef, MeshRef, ShardingRef
from shardc.dialects.stablehlo.mesh_groups import MeshGroups, MeshGroupsAttr
from shardc.graph.attrs import Dense

Change = Callable[[ShardingRef], ShardingRef]


def change_shardings(module: ModuleOp, change: Change) -> None:
    """Replace every sharding of a module."""
    for op in module.walk():
        for data in (op.properties, op.attributes):
            for key, attribute in data.items():
                data[key] = _changed(attribute, change)


def change_meshes(module: ModuleOp, change: Callable[[str | MeshRef], str | MeshRef]) -> None:
    """Put another mesh into every sharding of a module, and into replica groups that are axes of one."""
    change_shardings(module, lambda ref: replace(ref, mesh=change(ref.mesh)))
    change_groups(module, lambda groups: replace(groups, mesh=change(groups.mesh)))


def change_groups(module: ModuleOp, change: Callable[[MeshGroups], MeshGroups]) -> None:
    """Replace the replica groups of a module that are axes of a mesh."""
    for op in module.walk():
        for key, attribute in op.properties.items():
            if isinstance(attribute, MeshGroupsAttr):
                op.properties[key] = MeshGroupsAttr(change(attribute.data))


def _changed(attribute: Attribute, change: Change) -> Attribute:
    if isinstance(attribute, ShardingAttr):
        return ShardingAttr(change(attribute.data))
    if isinstance(attribute, ShardingPerValueAttr):
        return ShardingPerValueAttr(tuple(map(change, attribute.data)))
    if isinstance(attribute, DictionaryAttr):
        return DictionaryAttr({key: _changed(inner, change) for key, inner in attribute.data.items()})
    if is_array(attribute):
        return ArrayAttr([_changed(inner, change) for inner in attribute])
    return attribute


def lift_meshes(module: ModuleOp) -> None:
    """Name meshes that stand inside shardings: @mesh, @mesh_0, …; equal meshes become the first of them.

    A mesh of one device is @maximal_mesh_ with its number.
    """
    meshes = [op for op in module.body.block.ops if isinstance(op, MeshOp)]
    names = {op.mesh.data: op.sym_name.data for op in reversed(meshes)}
    first_of = {op.sym_name.data: names[op.mesh.data] for op in meshes}
    kept = [op for op in meshes if first_of[op.sym_name.data] == op.sym_name.data]
    taken = {op.sym_name.data for op in (*kept, *(f for f in module.body.block.ops if isinstance(f, FuncOp)))}
    made: list[MeshOp] = []

    def lifted(mesh: str | MeshRef) -> str:
        if isinstance(mesh, str):
            return first_of.get(mesh, mesh)
        if mesh not in names:
            ids = () if mesh.axes else mesh.device_ids or ()
            name = _free_name(f"maximal_mesh_{ids[0]}" if ids else "mesh", taken)
            names[mesh] = name
            taken.add(name)
            made.append(MeshOp.create(properties={"sym_name": StringAttr(name), "mesh": MeshAttr(mesh)}))
        return names[mesh]

    change_meshes(module, lifted)
    for op in meshes:
        if op not in kept:
            Rewriter.erase_op(op)
    first = module.body.block.first_op
    if kept:
        Rewriter.insert_op(made, InsertPoint.after(kept[-1]))
    elif made and first is not None:
        Rewriter.insert_op(made, InsertPoint.before(first))


def _free_name(wanted: str, taken: set[str]) -> str:
    if wanted not in taken:
        return wanted
    return next(name for n in range(len(taken) + 1) if (name := f"{wanted}_{n}") not in taken)


def drop_axes_of_size_one(module: ModuleOp) -> None:
    """Let shardings forget the axes that split nothing, as Shardy's import does."""
    meshes = [op for op in module.body.block.ops if isinstance(op, MeshOp)]
    single = {op.sym_name.data: _single_axes(op.mesh.data) for op in meshes}

    def without(ref: ShardingRef) -> ShardingRef:
        ones = single.get(ref.mesh, set()) if isinstance(ref.mesh, str) else _single_axes(ref.mesh)
        if not ones:
            return ref
        return replace(
            ref,
            dims=tuple(_dim_without(dim, ones) for dim in ref.dims),
            replicated=_kept(ref.replicated, ones),
            unreduced=_kept(ref.unreduced, ones),
        )

    change_shardings(module, without)


def _single_axes(mesh: MeshRef) -> set[str]:
    """The axes of size one."""
    return {axis for axis, size in mesh.axes if size == 1}


def _dim_without(dim: DimRef, dropped: set[str]) -> DimRef:
    """A dimension without some axes; one that is closed and has none left has no priority."""
    axes = _kept(dim.axes, dropped)
    return replace(dim, axes=axes, priority=dim.priority if axes or dim.open else None)


def _kept(axes: tuple[AxisRef, ...], dropped: set[str]) -> tuple[AxisRef, ...]:
    return tuple(axis for axis in axes if axis.name not in dropped)


def describe_meshes(module: ModuleOp) -> None:
    """Say of every mesh in StableHLO's words what it is, as Shardy's export does."""
    for op in module.body.block.ops:
        if isinstance(op, MeshOp):
            op.attributes["stablehlo.mesh"] = _description(op.mesh.data)


def _description(mesh: MeshRef) -> DictionaryAttr:
    axes = [
        DictionaryAttr({"name": StringAttr(name), "size": IntegerAttr(size, i64)}) for name, size in mesh.axes
    ]
    entries: dict[str, Attribute] = {"axes": ArrayAttr(axes)}
    if mesh.device_ids is not None:
        ids = np.array(mesh.device_ids, np.int64)
        type = TensorType[Attribute](i64, [len(mesh.device_ids)])
        entries["device_ids"] = dense_attr(Dense(ids, ids.shape), type)
    return DictionaryAttr(entries)
