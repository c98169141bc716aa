"""The steps of Shardy's import and export by their names, each alone on a module.

    %1 = sdy.sharding_constraint %0 <@m, [{}, {"a"}]> : tensor<8x8xf32>
->  %1 = sdy.reshard %0 <@m, [{}, {"a"}]> : tensor<8x8xf32>              // sdy-sharding-constraint-to-reshard
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from shardc.diagnostics import ShardcError
from shardc.dialects.arrays import is_array
from shardc.dialects.locations import location_of
from shardc.dialects.sdy import MeshOp, ShardingConstraintOp, ShardingGroupOp
from shardc.dialects.sdy_refs import ShardingRef
from shardc.dialects.shardings import SHARDING
from shardc.dialects.verify import sharding_refs
from shardc.passes.shardy.borders import divide_borders, refuse_uneven_borders, remove_parts_of_axes
from shardc.passes.shardy.call_graph import drop_uncalled
from shardc.passes.shardy.call_shardings import (
    give_calls_result_shardings,
    give_functions_result_shardings,
    reshard_call_results,
)
from shardc.passes.shardy.collective_products import leave_to_products
from shardc.passes.shardy.constants import merge_constants
from shardc.passes.shardy.export import (
    change_shardings,
    describe_meshes,
    drop_axes_of_size_one,
    lift_meshes,
)
from shardc.passes.shardy.func_edges import add_func_edges, sink_func_edges
from shardc.passes.shardy.import_steps import clean_manual_axes, import_groups, inline_groups, inline_meshes
from shardc.passes.shardy.reshards import to_reshard
from shardc.passes.shardy.rules import drop_rules

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
    """Forget shardings, and meshes but in replica groups. ShardcError if an operation is about a sharding."""
    inline_groups(module)
    for op in list(module.walk()):
        if isinstance(op, MeshOp):
            Rewriter.erase_op(op)
            continue
        if sharding_refs(op):
            raise ShardcError(
                f"{op.name} names a mesh, so meshes cannot be dropped", location_of(op.location)
            )
        _drop(op, _SHARDINGS)


_SHARDINGS = frozenset({SHARDING, "sdy.parameters_shardings", "sdy.output_shardings"})
"""Those of values, and of what a module takes and gives, which stand on the module."""


def remove_debug_info(module: ModuleOp) -> None:
    """Forget where shardings came from, and by which operation."""
    for op in module.walk():
        _drop(op, _DEBUG_INFO)


_DEBUG_INFO = frozenset(
    {
        "sdy.sharding_origins",
        "sdy.propagation_edges",
        "sdy.block_arg_sharding_origins",
        "sdy.block_arg_propagation_edges",
        "sdy.result_sharding_origins",
        "sdy.result_propagation_edges",
    }
)


def _drop(op: Operation, names: frozenset[str]) -> None:
    """Remove attributes from an operation, and from the arguments and results of a function."""
    for name in names & op.attributes.keys():
        del op.attributes[name]
    for key in ("arg_attrs", "res_attrs"):
        listed = op.properties.get(key)
        if is_array(listed):
            op.properties[key] = ArrayAttr([_without(entry, names) for entry in listed])


def _without(entry: Attribute, names: frozenset[str]) -> Attribute:
    if not isinstance(entry, DictionaryAttr):
        return entry
    return DictionaryAttr({key: value for key, value in entry.data.items() if key not in names})


STEPS: dict[str, Step] = {
    "symbol-dce": drop_uncalled,
    "sdy-inline-meshes": inline_meshes,
    "sdy-manual-axes-cleanup": clean_manual_axes,
    "sdy-sharding-group-import": import_groups,
    "sdy-propagate-sharding-from-func-to-call": give_calls_result_shardings,
    "sdy-propagate-to-func-results": give_functions_result_shardings,
    "sdy-insert-func-call-reshards": reshard_call_results,
    "sdy-add-func-data-flow-edges": add_func_edges,
    "sdy-sink-func-data-flow-edges": sink_func_edges,
    "sdy-lift-inlined-meshes": name_meshes,
    "sdy-remove-size-one-axes": drop_axes_of_size_one,
    "sdy-close-shardings": close_dimensions,
    "sdy-remove-sharding-groups": remove_groups,
    "sdy-sharding-constraint-to-reshard": constraints_to_reshards,
    "sdy-constant-or-scalar-merger": merge_all_constants,
    "sdy-drop-sharding-rules": drop_rules,
    "sdy-remove-propagation-debug-info": remove_debug_info,
    "sdy-drop-sharding-and-mesh": drop_shardings_and_meshes,
    "sdy-update-non-divisible-input-output-shardings": divide_borders,
    "sdy-remove-sub-axes-in-input-output-shardings": remove_parts_of_axes,
    "sdy-remove-all-gather-reduce-scatter-for-cmv1": leave_to_products,
    "sdy-pad-for-divisibility": refuse_uneven_borders,
}
"""Shardy's name -> what it does."""

OLDER_STEPS: dict[str, Step] = {
    "sdy-constant-merger": merge_all_constants,
    "sdy-equilise-call-and-func-result-shardings": give_calls_result_shardings,
}
"""Names that steps had in older Shardys."""


def step_class(name: str, step: Step) -> type[ModulePass]:
    """The pass of that name."""

    def apply(self: ModulePass, ctx: Context, op: ModuleOp) -> None:
        step(op)

    title = "".join(word.capitalize() for word in name.split("-"))
    return dataclass(frozen=True)(
        type(title, (ModulePass,), {"name": name, "__doc__": step.__doc__, "apply": apply})
    )
