"""The steps of Shardy's import and export by their names, each alone on a module.

    %1 = sdy.sharding_constraint %0 <@m, [{}, {"a"}]> : tensor<8x8xf32>
->  %1 = sdy.reshard %0 <@m, [{}, {"a"}]> : tensor<8x8xf32>              // sdy-sharding-constraint-to-reshard
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from shardc.diagnostics import ShardcError
from shardc.dialects.locations import location_of
from shardc.dialects.sdy import MeshOp, ShardingConstraintOp, ShardingGroupOp
from shardc.dialects.sdy_attributes import ShardingAttr
from shardc.dialects.sdy_refs import ShardingRef
from shardc.dialects.shardings import SHARDING, Meshes, attr_of, sharding_of
from shardc.dialects.types import type_of
from shardc.dialects.verify import module_meshes, sharding_refs
from shardc.layout import Sharding
from shardc.passes.shardy.constants import merge_constants
from shardc.passes.shardy.export import (
    change_shardings,
    describe_meshes,
    drop_axes_of_size_one,
    lift_meshes,
)
from shardc.passes.shardy.reshards import to_reshard
from shardc.passes.shardy.rules import drop_rules
from shardc.propagation.export import divisible, whole_axes

Step = Callable[[ModuleOp], None]


def name_meshes(module: ModuleOp) -> None:
    """Give meshes that stand in shardings a name, and say in StableHLO's words what each mesh is."""
    lift_meshes(module)
    describe_meshes(module)


def close_dimensions(module: ModuleOp) -> None:
    """Close all dimensions, and forget replicated axes; priorities stay."""

    def closed(ref: ShardingRef) -> ShardingRef:
        return replace(ref, dims=tuple(replace(dim, open=False) for dim in ref.dims), replicated=())

    change_shardings(module, closed)


def remove_groups(module: ModuleOp) -> None:
    """Remove all sharding groups."""
    for op in list(module.walk()):
        if isinstance(op, ShardingGroupOp):
            Rewriter.erase_op(op)


def constraints_to_reshards(module: ModuleOp) -> None:
    """Every constraint becomes a reshard."""
    for op in list(module.walk()):
        if isinstance(op, ShardingConstraintOp):
            to_reshard(op)


def merge_all_constants(module: ModuleOp) -> None:
    """Equal constants of a function become one."""
    for op in module.body.block.ops:
        if isinstance(op, FuncOp):
            merge_constants(op.body.block)


def drop_shardings_and_meshes(module: ModuleOp) -> None:
    """Forget all shardings and meshes. ShardcError if an operation is about a sharding."""
    for op in list(module.walk()):
        if isinstance(op, MeshOp):
            Rewriter.erase_op(op)
            continue
        if sharding_refs(op):
            raise ShardcError(
                f"{op.name} names a mesh, so meshes cannot be dropped", location_of(op.location)
            )
        op.attributes.pop(SHARDING, None)
        for key in ("arg_attrs", "res_attrs"):
            listed = op.properties.get(key)
            if isinstance(listed, ArrayAttr):
                entries = list[Attribute](listed)
                op.properties[key] = ArrayAttr([_without_sharding(entry) for entry in entries])


def _without_sharding(entry: Attribute) -> Attribute:
    if not isinstance(entry, DictionaryAttr):
        return entry
    return DictionaryAttr({key: value for key, value in entry.data.items() if key != SHARDING})


def divide_borders(module: ModuleOp) -> None:
    """Cut the shardings of arguments and results back to what divides them; what is cut has no priority."""

    def cut(sharding: Sharding, shape: Sequence[int]) -> Sharding:
        pairs = zip(divisible(sharding, shape).dims, sharding.dims, strict=True)
        dims = tuple(new if new == old else replace(new, priority=None) for new, old in pairs)
        return replace(sharding, dims=dims)

    _cut_borders(module, cut)


def remove_parts_of_axes(module: ModuleOp) -> None:
    """Cut the shardings of arguments and results of functions off before the first part of an axis."""
    _cut_borders(module, lambda sharding, shape: whole_axes(sharding))


Cut = Callable[[Sharding, Sequence[int]], Sharding]


def _cut_borders(module: ModuleOp, cut: Cut) -> None:
    meshes = module_meshes(module)
    for op in module.body.block.ops:
        if not isinstance(op, FuncOp):
            continue
        for key, types in (("arg_attrs", op.function_type.inputs), ("res_attrs", op.function_type.outputs)):
            listed = op.properties.get(key)
            if isinstance(listed, ArrayAttr):
                pairs = zip(list[Attribute](listed), types, strict=True)
                op.properties[key] = ArrayAttr([_with_cut(entry, type, meshes, cut) for entry, type in pairs])


def _with_cut(entry: Attribute, type: Attribute, meshes: Meshes, cut: Cut) -> Attribute:
    """The attributes of one argument or result, its sharding cut."""
    found = entry.data.get(SHARDING) if isinstance(entry, DictionaryAttr) else None
    if not isinstance(entry, DictionaryAttr) or not isinstance(found, ShardingAttr):
        return entry
    after = cut(sharding_of(found, meshes), type_of(type).shape)
    return DictionaryAttr({**entry.data, SHARDING: attr_of(after)})


STEPS: dict[str, Step] = {
    "sdy-lift-inlined-meshes": name_meshes,
    "sdy-remove-size-one-axes": drop_axes_of_size_one,
    "sdy-close-shardings": close_dimensions,
    "sdy-remove-sharding-groups": remove_groups,
    "sdy-sharding-constraint-to-reshard": constraints_to_reshards,
    "sdy-constant-or-scalar-merger": merge_all_constants,
    "sdy-drop-sharding-rules": drop_rules,
    "sdy-drop-sharding-and-mesh": drop_shardings_and_meshes,
    "sdy-update-non-divisible-input-output-shardings": divide_borders,
    "sdy-remove-sub-axes-in-input-output-shardings": remove_parts_of_axes,
}
"""Shardy's name -> what it does."""


def step_class(name: str, step: Step) -> type[ModulePass]:
    """The pass of that name."""

    def apply(self: ModulePass, ctx: Context, op: ModuleOp) -> None:
        step(op)

    title = "".join(word.capitalize() for word in name.split("-"))
    return dataclass(frozen=True)(
        type(title, (ModulePass,), {"name": name, "__doc__": step.__doc__, "apply": apply})
    )
