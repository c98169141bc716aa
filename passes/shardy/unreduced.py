"""Partial sums are combined where an operation does not take them: what Shardy inserts by itself.

    %1 = stablehlo.add %0, %0      (%0 is unreduced over "b", %1 is not)
->  %1 = sdy.all_reduce {"b"} %0 out_sharding=<@m, [{"a"}, {}]>
    %2 = sdy.all_reduce {"b"} %0 out_sharding=<@m, [{"a"}, {}]>
    %3 = stablehlo.add %1, %2
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.dialects.derive import op_class
from shardc.dialects.locations import locate, location_of
from shardc.dialects.sdy_attributes import AxesAttr, ShardingAttr
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
                    wanted = _returned(function, len(op.operands))
                    _reduce(op, wanted)
                    _make_partial(op, wanted)
                elif op.results and not op.regions and not isinstance(op, CollectiveOp):
                    kept = _unreduced(ref_of_value(op.results[0]))
                    _reduce(op, [kept] * len(op.operands))


def _returned(function: FuncOp, count: int) -> list[tuple[AxisRef, ...]]:
    if function.res_attrs is None:
        return [()] * count
    found = (attrs.data.get(SHARDING) for attrs in function.res_attrs)
    return [_unreduced(attr.data if isinstance(attr, ShardingAttr) else None) for attr in found]


def _unreduced(ref: ShardingRef | None) -> tuple[AxisRef, ...]:
    return () if ref is None else ref.unreduced


def _reduce(op: Operation, kept: list[tuple[AxisRef, ...]]) -> None:
    for number, (operand, keep) in enumerate(zip(op.operands, kept, strict=True)):
        ref = ref_of_value(operand)
        axes = tuple(axis for axis in _unreduced(ref) if axis not in keep)
        if ref is None or not axes:
            continue
        left = replace(ref, unreduced=tuple(axis for axis in ref.unreduced if axis in keep))
        made = op_class(sdy.all_reduce).create(
            operands=[operand],
            result_types=[operand.type],
            properties={"reduction_axes": AxesAttr(axes), "out_sharding": ShardingAttr(left)},
        )
        locate(made, location_of(op.location))
        Rewriter.insert_op(made, InsertPoint.before(op))
        op.operands[number] = made.results[0]


def _make_partial(op: Operation, wanted: list[tuple[AxisRef, ...]]) -> None:
    """Where the result is to be a partial sum over more axes, one device keeps the value."""
    for number, (operand, axes) in enumerate(zip(op.operands, wanted, strict=True)):
        ref = ref_of_value(operand)
        added = () if ref is None else tuple(axis for axis in axes if axis not in ref.unreduced)
        if ref is None or not added or any(axis in dim.axes for dim in ref.dims for axis in added):
            continue
        made = op_class(sdy.replicated_to_unreduced).create(
            operands=[operand],
            result_types=[operand.type],
            properties={"axes": AxesAttr(added), "out_sharding": ShardingAttr(replace(ref, unreduced=axes))},
        )
        locate(made, location_of(op.location))
        Rewriter.insert_op(made, InsertPoint.before(op))
        op.operands[number] = made.results[0]
