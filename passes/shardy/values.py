"""Where the sharding of a value stands in a module."""

from __future__ import annotations

from msgspec.structs import replace
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, OpResult, SSAValue

from shardc.dialects.sdy import ManualComputationOp
from shardc.dialects.sdy_attributes import ShardingAttr, ShardingPerValueAttr
from shardc.dialects.sdy_refs import DimRef, ShardingRef
from shardc.dialects.shardings import SHARDING
from shardc.dialects.stablehlo.control_flow import WhileOp
from shardc.dialects.types import type_of


def ref_of_value(value: SSAValue) -> ShardingRef | None:
    """The sharding that stands with a value: on its operation, or on the one that it is an argument of."""
    if isinstance(value, BlockArgument):
        return _ref_of_argument(value)
    assert isinstance(value, OpResult)
    op = value.op
    for name in ("sharding", "out_sharding"):
        found = op.properties.get(name)
        if isinstance(found, ShardingAttr):
            return found.data
    listed = op.properties.get("out_shardings") or op.attributes.get(SHARDING)
    return listed.data[value.index] if isinstance(listed, ShardingPerValueAttr) else None


def _ref_of_argument(value: BlockArgument) -> ShardingRef | None:
    owner = value.block.parent_op()
    if isinstance(owner, FuncOp):
        attrs = owner.arg_attrs
        found = attrs.data[value.index].data.get(SHARDING) if attrs else None
        return found.data if isinstance(found, ShardingAttr) else None
    if isinstance(owner, ManualComputationOp):
        outer, manual = owner.in_shardings.data[value.index], owner.manual_axes.data
        dims = [replace(d, axes=tuple(a for a in d.axes if a.name not in manual)) for d in outer.dims]
        return ShardingRef(outer.mesh, tuple(dims))
    listed = owner.attributes.get(SHARDING) if isinstance(owner, WhileOp) else None
    return listed.data[value.index] if isinstance(listed, ShardingPerValueAttr) else None


def set_ref(value: SSAValue, ref: ShardingRef) -> None:
    """Write a sharding where that of the value stands."""
    if isinstance(value, OpResult):
        op = value.op
        known = op.attributes.get(SHARDING)
        given = known.data if isinstance(known, ShardingPerValueAttr) else None
        refs = list(given or (open_like(ref, result) for result in op.results))
        refs[value.index] = ref
        op.attributes[SHARDING] = ShardingPerValueAttr(tuple(refs))
        return
    assert isinstance(value, BlockArgument)
    block = value.block
    function = block.parent_op()
    if isinstance(function, FuncOp):
        entries = list(function.arg_attrs or [DictionaryAttr({}) for _ in block.args])
        entries[value.index] = DictionaryAttr({**entries[value.index].data, SHARDING: ShardingAttr(ref)})
        function.properties["arg_attrs"] = ArrayAttr(list[Attribute](entries))


def open_like(ref: ShardingRef, value: SSAValue) -> ShardingRef:
    """A sharding of a value over the mesh of another, with all dimensions open."""
    return ShardingRef(ref.mesh, (DimRef(open=True),) * type_of(value.type).rank)
