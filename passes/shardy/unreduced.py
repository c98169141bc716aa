"""Partial sums are combined where an operation does not take them: what Shardy inserts by itself.

    %1 = stablehlo.add %0, %0      (%0 is unreduced over "b", %1 is not)
->  %1 = sdy.all_reduce {"b"} %0 out_sharding=<@m, [{"a"}, {}]>
    %2 = sdy.all_reduce {"b"} %0 out_sharding=<@m, [{"a"}, {}]>
    %3 = stablehlo.add %1, %2
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.dialects.derive import op_class
from shardc.dialects.locations import locate, location_of
from shardc.dialects.sdy import ReshardOp
from shardc.dialects.sdy_attributes import AxesAttr, AxisListsAttr, ShardingAttr
from shardc.dialects.sdy_collectives import CollectiveOp
from shardc.dialects.sdy_refs import AxisRef, ShardingRef
from shardc.dialects.shardings import SHARDING
from shardc.ops import sdy
from shardc.passes.shardy.values import ref_of_value


def reduce_partial_sums(module: ModuleOp) -> None:
    """Insert an all-reduce before every use of a partial sum over axes that the user has reduced."""
    for function in module.body.block.ops:
        if isinstance(function, FuncOp):
            for op in list(function.walk()):
                if isinstance(op, ReturnOp):
                    for number, wanted in enumerate(_returned(function, len(op.operands))):
                        _reduce(op, number, _unreduced(wanted))
                        _make_partial(op, number, wanted)
                elif isinstance(op, ReshardOp) and _unreduced(op.sharding.data):
                    before = op.operands[0]
                    _make_partial(op, 0, op.sharding.data)
                    if op.operands[0] is not before:
                        Rewriter.replace_op(op, [], [op.operands[0]])
                elif op.results and not op.regions and not isinstance(op, CollectiveOp):
                    kept = _unreduced(ref_of_value(op.results[0]))
                    for number in range(len(op.operands)):
                        _reduce(op, number, kept)


def _returned(function: FuncOp, count: int) -> list[ShardingRef | None]:
    if function.res_attrs is None:
        return [None] * count
    found = (attrs.data.get(SHARDING) for attrs in function.res_attrs)
    return [attr.data if isinstance(attr, ShardingAttr) else None for attr in found]


def _unreduced(ref: ShardingRef | None) -> tuple[AxisRef, ...]:
    return () if ref is None else ref.unreduced


def _reduce(op: Operation, number: int, kept: tuple[AxisRef, ...]) -> None:
    """Let an operand be partial over no other axes than those that are kept."""
    operand = op.operands[number]
    ref = ref_of_value(operand)
    axes = tuple(axis for axis in _unreduced(ref) if axis not in kept)
    if ref is None or not axes:
        return
    if isinstance(operand, OpResult) and _makes_partial(operand.op, axes):
        op.operands[number] = operand.op.operands[0]
        return
    left = replace(ref, unreduced=tuple(axis for axis in ref.unreduced if axis in kept))
    properties = {"reduction_axes": AxesAttr(axes), "out_sharding": ShardingAttr(left)}
    op.operands[number] = _insert(op, operand, op_class(sdy.all_reduce), properties)


def _makes_partial(op: Operation, axes: tuple[AxisRef, ...]) -> bool:
    """Whether an operation makes a whole value partial over just these axes."""
    return op.name == sdy.replicated_to_unreduced.name and op.properties["axes"] == AxesAttr(axes)


def _make_partial(op: Operation, number: int, goal: ShardingRef | None) -> None:
    """Where a result is to be partial over more axes, one device keeps the value, or each its block."""
    operand = op.operands[number]
    ref = ref_of_value(operand)
    if ref is None or goal is None or all(axis in ref.unreduced for axis in goal.unreduced):
        return
    added = tuple(axis for axis in goal.unreduced if axis not in ref.unreduced)
    split = _left_by(ref, goal, added)
    if split is None:
        ref = replace(goal, unreduced=ref.unreduced)
        operand = _insert(op, operand, ReshardOp, {"sharding": ShardingAttr(ref)})
        split = [() for _ in ref.dims]
    rest = tuple(axis for axis in added if not any(axis in axes for axes in split))
    if rest:
        ref = replace(ref, unreduced=tuple(a for a in goal.unreduced if a in (*ref.unreduced, *rest)))
        properties = {"axes": AxesAttr(rest), "out_sharding": ShardingAttr(ref)}
        operand = _insert(op, operand, op_class(sdy.replicated_to_unreduced), properties)
    if any(split):
        properties = {"axes": AxisListsAttr(tuple(split)), "out_sharding": ShardingAttr(goal)}
        operand = _insert(op, operand, op_class(sdy.sharded_to_unreduced), properties)
    op.operands[number] = operand


def _left_by(
    ref: ShardingRef, goal: ShardingRef, added: tuple[AxisRef, ...]
) -> list[tuple[AxisRef, ...]] | None:
    """The axes that each dimension of `goal` has lost, if they are its last ones and among `added`."""
    found = [dim.axes[len(kept.axes) :] for dim, kept in zip(ref.dims, goal.dims, strict=True)]
    pairs = zip(ref.dims, goal.dims, found, strict=True)
    fits = all(dim.axes == (*kept.axes, *lost) and set(lost) <= set(added) for dim, kept, lost in pairs)
    return found if fits else None


def _insert(
    op: Operation, operand: SSAValue, kind: type[Operation], properties: Mapping[str, Attribute]
) -> SSAValue:
    made = kind.create(operands=[operand], result_types=[operand.type], properties=dict(properties))
    locate(made, location_of(op.location))
    Rewriter.insert_op(made, InsertPoint.before(op))
    return made.results[0]
