"""The shardings that JAX wrote before Shardy, and that XLA's dumps have, as shardings of `sdy`.

func.func @main(%x: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,1,4]<=[8] …}"})
  %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{devices=[1,4,2]<=[2,4]T(1,0) …}"}
->
sdy.mesh @mesh = <["x0"=2, "x1"=4]>
func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x0"}, {}]>})
  %1 = sdy.sharding_constraint %0 <@mesh, [{}, {"x1"}]>

These strings name no axes: they list devices. The mesh is that of the module with as many devices, else one
whose axes are the digits of the device numbers that all strings of the module count by.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from shardc.diagnostics import Location, ShardcError
from shardc.dialects.locations import location_of
from shardc.dialects.sdy import MeshOp, ShardingConstraintOp
from shardc.dialects.sdy_attributes import ShardingAttr, ShardingPerValueAttr
from shardc.dialects.shardings import SHARDING, attr_of, mesh_attr, per_value, sharding_of
from shardc.dialects.stablehlo.calls import CustomCallOp
from shardc.dialects.types import type_of
from shardc.dialects.verify import module_meshes
from shardc.frontend.mlir_marks import MHLO_SHARDING
from shardc.layout import LayoutError, Mesh, Sharding
from shardc.layout.notations import hlo as notation
from shardc.layout.recognise import factors, table_of

_COUNT = "mhlo.num_partitions"
_METADATA = re.compile(r",?\s*metadata=\{(?:[^{}\"]|\"[^\"]*\")*\}")
_UNSPECIFIED = re.compile(r"unspecified_dims=\[([\d,]*)\]")
_CONSTRAINT = "Sharding"
_PER_DEVICE = ("SPMDFullToShardShape", "SPMDShardToFullShape")
_WITH_SHARDY = "print the program with Shardy: jax.config.update('jax_use_shardy_partitioner', True)"


class _Text(Struct, frozen=True):
    """The string of one value, and where it stands."""

    text: str
    type: Attribute
    loc: Location


def read_gspmd(module: ModuleOp) -> None:
    """Replace every `mhlo.sharding` of a module, in place. ShardcError for one that cannot be read."""
    texts = list(_texts(module))
    if not texts:
        return
    mesh = _mesh(module, texts)
    _Reader(module, mesh).rewrite()


def _texts(module: ModuleOp) -> Iterator[_Text]:
    for op in module.walk():
        yield from _of_operation(op)
        if isinstance(op, FuncOp):
            for attrs, type, loc in _interface(op):
                if MHLO_SHARDING in attrs:
                    yield _Text(_string(attrs[MHLO_SHARDING], loc), type, loc)


def _of_operation(op: Operation) -> list[_Text]:
    """The strings of an operation's results; one for all, or a list in braces with one for each."""
    attr = op.attributes.get(MHLO_SHARDING)
    if attr is None:
        return []
    loc = location_of(op.location)
    text = _string(attr, loc)
    parts = _elements(text) if text.startswith("{{") else [text] * len(op.results)
    if len(parts) != len(op.results):
        raise ShardcError(f"{len(parts)} shardings are given to {len(op.results)} results", loc)
    return [_Text(part, result.type, loc) for part, result in zip(parts, op.results, strict=True)]


def _interface(func: FuncOp) -> Iterator[tuple[dict[str, Attribute], Attribute, Location]]:
    """The attributes, type and place of every argument and result."""
    inputs, outputs = func.function_type.inputs.data, func.function_type.outputs.data
    args = func.body.block.args if func.body.blocks else ()
    places = [location_of(arg.location) for arg in args] or [location_of(func.location)] * len(inputs)
    for attrs, type, place in zip(_dicts(func.arg_attrs, len(inputs)), inputs, places, strict=True):
        yield attrs, type, place
    for attrs, type in zip(_dicts(func.res_attrs, len(outputs)), outputs, strict=True):
        yield attrs, type, location_of(func.location)


def _dicts(attr: ArrayAttr[DictionaryAttr] | None, count: int) -> list[dict[str, Attribute]]:
    return [dict(entry.data) for entry in attr] if attr is not None else [{} for _ in range(count)]


def _string(attr: Attribute, loc: Location) -> str:
    if not isinstance(attr, StringAttr):
        raise ShardcError(f"{MHLO_SHARDING} is a string, not {attr}", loc)
    return _METADATA.sub("", attr.data).strip()


def _elements(text: str) -> list[str]:
    """The strings of a tuple `{{…}, {…}}`."""
    found, depth, start = list[str](), 0, 0
    for position, char in enumerate(text):
        depth += (char == "{") - (char == "}")
        if char == "{" and depth == 2:
            start = position
        elif char == "}" and depth == 1:
            found.append(text[start : position + 1])
    return found


# The mesh


def _mesh(module: ModuleOp, texts: list[_Text]) -> Mesh:
    """The mesh that the strings are read on."""
    tiled = [text for text in texts if "devices=" in text.text]
    found = [(text, _read(text, None)) for text in tiled]
    count = _device_count(module)
    for text, sharding in found:
        count = count or sharding.mesh.size
        if sharding.mesh.size != count:
            raise ShardcError(
                f"{text.text} is of {sharding.mesh.size} devices, where the program has {count}", text.loc
            )
    known = next((mesh for mesh in module_meshes(module).values() if mesh.size == (count or 1)), None)
    if known is not None:
        return known
    cuts = {1, count or 1}
    for _, sharding in found:
        digits = factors(table_of(sharding))
        if digits is None:
            return replace(sharding.mesh, name="mesh")
        size = 1
        for digit, _, _ in reversed(digits):
            size *= digit
            cuts.add(size)
    ordered = sorted(cuts)
    sizes = [b // a for a, b in pairwise(ordered)][::-1] or [1]
    if any(b % a for a, b in pairwise(ordered)):
        sizes = [count or 1]
    return Mesh("mesh", tuple((f"x{i}", size) for i, size in enumerate(sizes)))


def _device_count(module: ModuleOp) -> int | None:
    attr = module.attributes.get(_COUNT)
    value: Any = attr
    return int(value.value.data) if isinstance(attr, IntegerAttr) and value.value.data > 1 else None


def _read(text: _Text, mesh: Mesh | None) -> Sharding:
    try:
        return notation.read(text.text, mesh, type_of(text.type).rank)
    except LayoutError as error:
        hint = _WITH_SHARDY if "manual" in text.text else None
        raise ShardcError(f"the sharding {text.text} cannot be read: {error}", text.loc, hint) from None


def _deals_alike(one: Sharding, other: Sharding) -> bool:
    """Whether every device has the same block."""
    tables = table_of(one), table_of(other)
    columns = [(*table.numbers, table.partial) for table in tables]
    return tables[0].kind == tables[1].kind and all(
        np.array_equal(a, b) for a, b in zip(*columns, strict=True)
    )


# The rewrite


class _Reader:
    def __init__(self, module: ModuleOp, mesh: Mesh) -> None:
        self._module = module
        self._mesh = mesh
        self._meshes = module_meshes(module)
        self._used: dict[str, Mesh] = {}

    def rewrite(self) -> None:
        for op in list(self._module.walk()):
            if isinstance(op, FuncOp):
                self._function(op)
            elif isinstance(op, CustomCallOp) and op.call_target_name.data in _PER_DEVICE:
                message = "per-device code that was lowered without Shardy is not read"
                raise ShardcError(message, location_of(op.location), _WITH_SHARDY)
            elif isinstance(op, CustomCallOp) and op.call_target_name.data == _CONSTRAINT:
                self._constraint(op)
            else:
                self._operation(op)
        known = self._meshes
        block = self._module.body.block
        for name, mesh in self._used.items():
            if name in known:
                continue
            made = MeshOp.create(properties={"sym_name": StringAttr(name), "mesh": mesh_attr(mesh)})
            setattr(made, "location", self._module.location)
            if block.first_op is None:
                block.add_op(made)
            else:
                block.insert_op_before(made, block.first_op)

    def _sharding(self, text: _Text) -> Sharding:
        sharding = _read(text, self._mesh)
        if sharding.mesh.is_maximal:
            device = sharding.mesh.device_ids[0] if sharding.mesh.device_ids else 0
            sharding = replace(sharding, mesh=replace(sharding.mesh, name=f"maximal_mesh_{device}"))
        self._used[sharding.mesh.name] = sharding.mesh
        return sharding

    def _function(self, func: FuncOp) -> None:
        new = [self._with_sharding(*entry) for entry in _interface(func)]
        inputs = len(func.function_type.inputs.data)
        for key, entries in (("arg_attrs", new[:inputs]), ("res_attrs", new[inputs:])):
            if any(entries):
                func.properties[key] = ArrayAttr([DictionaryAttr(entry) for entry in entries])
            else:
                func.properties.pop(key, None)

    def _with_sharding(
        self, attrs: dict[str, Attribute], type: Attribute, loc: Location
    ) -> dict[str, Attribute]:
        if MHLO_SHARDING not in attrs:
            return attrs
        sharding = self._sharding(_Text(_string(attrs[MHLO_SHARDING], loc), type, loc))
        kept = {key: value for key, value in attrs.items() if key != MHLO_SHARDING}
        if SHARDING in kept:
            self._check_same(kept[SHARDING], sharding, loc)
            return kept
        return kept | {SHARDING: attr_of(sharding)}

    def _check_same(self, given: Attribute, sharding: Sharding, loc: Location) -> None:
        """ShardcError where a value's `sdy.sharding` deals other blocks than its `mhlo.sharding`."""
        try:
            other = sharding_of(given, self._meshes) if isinstance(given, ShardingAttr) else None
        except LayoutError as error:
            raise ShardcError(str(error), loc) from None
        if other is None or not _deals_alike(other, sharding):
            message = f"{SHARDING} and {MHLO_SHARDING} of this value contradict each other"
            raise ShardcError(message, loc, "leave one of them out")

    def _operation(self, op: Operation) -> None:
        shardings = [self._sharding(text) for text in _of_operation(op)]
        if op.attributes.pop(MHLO_SHARDING, None) is None or not shardings:
            return
        given = op.attributes.get(SHARDING)
        if given is None:
            op.attributes[SHARDING] = per_value(shardings)
        elif isinstance(given, ShardingPerValueAttr) and len(given.data) == len(shardings):
            for ref, sharding in zip(given.data, shardings, strict=True):
                self._check_same(ShardingAttr(ref), sharding, location_of(op.location))

    def _constraint(self, op: CustomCallOp) -> None:
        texts = _of_operation(op)
        if len(texts) != 1 or len(op.operands) != 1:
            raise ShardcError(f"@{_CONSTRAINT} states one {MHLO_SHARDING}", location_of(op.location))
        sharding = self._sharding(texts[0])
        opened = _UNSPECIFIED.search(str(op.backend_config or ""))
        numbers = {int(number) for number in opened[1].split(",") if number} if opened else set[int]()
        dims = [replace(dim, open=i in numbers) for i, dim in enumerate(sharding.dims)]
        sharding = replace(sharding, dims=tuple(dims))
        made = ShardingConstraintOp.create(
            operands=op.operands,
            result_types=[op.results[0].type],
            properties={"sharding": attr_of(sharding)},
        )
        setattr(made, "location", op.location)
        made.results[0].name_hint = op.results[0].name_hint
        block = op.parent_block()
        assert block is not None
        block.insert_op_before(made, op)
        op.results[0].replace_all_uses_with(made.results[0])
        block.erase_op(op)
