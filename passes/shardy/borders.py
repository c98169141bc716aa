"""The shardings of arguments and results cut back, as Shardy's export leaves them.

%x: tensor<6xf32> [{"a"}], with a=4     ->     %x: tensor<6xf32> [{"a":(1)2}]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute

from shardc.diagnostics import ShardcError
from shardc.dialects.arrays import is_array
from shardc.dialects.locations import location_of
from shardc.dialects.sdy import ManualComputationOp
from shardc.dialects.sdy_attributes import ShardingAttr, ShardingPerValueAttr
from shardc.dialects.shardings import SHARDING, Meshes, attr_of, per_value, sharding_of
from shardc.dialects.types import type_of
from shardc.dialects.verify import module_meshes
from shardc.layout import Sharding
from shardc.passes.shardy.call_graph import functions_of, main_of
from shardc.propagation.export import divisible, whole_axes

Cut = Callable[[Sharding, Sequence[int]], Sharding]


def divide_borders(module: ModuleOp) -> None:
    """Cut shardings back to what divides: of functions, of the results of calls, of manual computations.

    A dimension that is cut has no priority any more.
    """
    meshes = module_meshes(module)
    for function in functions_of(module).values():
        _cut_function(function, meshes, _to_divisible)
    for op in module.walk():
        if isinstance(op, CallOp) and SHARDING in op.attributes:
            op.attributes[SHARDING] = _all_cut(op.attributes[SHARDING], op.result_types, meshes)
        elif isinstance(op, ManualComputationOp):
            op.properties["in_shardings"] = _all_cut(op.in_shardings, op.operand_types, meshes)
            op.properties["out_shardings"] = _all_cut(op.out_shardings, op.result_types, meshes)


def remove_parts_of_axes(module: ModuleOp) -> None:
    """Cut the open dimensions of main's arguments and results off before the first part of an axis."""
    main = main_of(module)
    if main is not None:
        _cut_function(main, module_meshes(module), lambda sharding, shape: whole_axes(sharding))


def refuse_uneven_borders(module: ModuleOp) -> None:
    """Raise ShardcError if an argument or result of a function is split unevenly.

    Shardy pads all values in between so that each is split evenly. shardc has no need: its local code has
    blocks of different sizes where a dimension does not divide.
    """
    meshes = module_meshes(module)
    for function in functions_of(module).values():
        types = function.function_type
        sides = (("argument", "arg_attrs", types.inputs), ("result", "res_attrs", types.outputs))
        for title, key, side in sides:
            listed = function.properties.get(key)
            for number, (entry, type) in enumerate(
                zip(listed, side, strict=True) if is_array(listed) else ()
            ):
                found = _sharding_in(entry, meshes)
                if found is not None and _to_divisible(found, type_of(type).shape) != found:
                    text = f"{title} #{number} has a non-divisible sharding"
                    hint = "sdy-update-non-divisible-input-output-shardings makes them divide"
                    raise ShardcError(text, location_of(function.location), hint)


def _to_divisible(sharding: Sharding, shape: Sequence[int]) -> Sharding:
    if sharding.mesh.is_maximal:
        return sharding
    pairs = zip(divisible(sharding, shape).dims, sharding.dims, strict=True)
    dims = tuple(new if new == old else replace(new, priority=None) for new, old in pairs)
    return replace(sharding, dims=dims)


def _all_cut(given: Attribute, types: Iterable[Attribute], meshes: Meshes) -> Attribute:
    if not isinstance(given, ShardingPerValueAttr):
        return given
    pairs = zip(given.data, types, strict=True)
    return per_value([_to_divisible(sharding_of(ref, meshes), type_of(type).shape) for ref, type in pairs])


def _cut_function(function: FuncOp, meshes: Meshes, cut: Cut) -> None:
    types = function.function_type
    for key, side in (("arg_attrs", types.inputs), ("res_attrs", types.outputs)):
        listed = function.properties.get(key)
        if is_array(listed):
            pairs = zip(listed, side, strict=True)
            entries = [_with_cut(entry, type, meshes, cut) for entry, type in pairs]
            function.properties[key] = ArrayAttr(entries)


def _with_cut(entry: Attribute, type: Attribute, meshes: Meshes, cut: Cut) -> Attribute:
    """The attributes of one argument or result, its sharding cut."""
    found = _sharding_in(entry, meshes)
    if not isinstance(entry, DictionaryAttr) or found is None:
        return entry
    return DictionaryAttr({**entry.data, SHARDING: attr_of(cut(found, type_of(type).shape))})


def _sharding_in(entry: Attribute, meshes: Meshes) -> Sharding | None:
    """The sharding among the attributes of an argument or result."""
    found = entry.data.get(SHARDING) if isinstance(entry, DictionaryAttr) else None
    return sharding_of(found, meshes) if isinstance(found, ShardingAttr) else None
