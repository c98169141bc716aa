"""Partial sums across the borders of functions: carried from side to side, and checked.

    func.func @f(%arg0: tensor<8xf32>)            called with %0, which is unreduced over "x"
->  func.func @f(%arg0: tensor<8xf32> {… [{?}], unreduced={"x"}})

Shardy's propagation leaves `unreduced` where it stands, so newer Shardys carry it before, and make sure
afterwards that no operation drops it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Dialect, Operation, SSAValue
from xdsl.traits import IsTerminator

from shardc.diagnostics import ShardcError
from shardc.dialects.locations import location_of
from shardc.dialects.sdy import SDY
from shardc.dialects.sdy_attributes import ShardingAttr
from shardc.dialects.sdy_refs import AxisRef, ShardingRef
from shardc.dialects.shardings import SHARDING
from shardc.ops import sdy
from shardc.passes.shardy.call_graph import called, calls_of, functions_of
from shardc.passes.shardy.call_shardings import set_results
from shardc.passes.shardy.values import open_like, ref_of_value, set_ref


def carry_unreduced(module: ModuleOp) -> None:
    """What a function returns partial its calls return partial; partial operands are partial arguments."""
    functions = functions_of(module)
    for function in functions.values():
        end = function.body.block.last_op
        if isinstance(end, ReturnOp) and any(_unreduced(ref_of_value(value)) for value in end.operands):
            found = zip(_results(function), end.operands, strict=True)
            set_results(function, [_carried(ref_of_value(value), ref, value) for ref, value in found])
    calls = [call for function in functions.values() for call in calls_of(function)]
    for call in calls:
        arguments = called(call, functions).body.block.args
        for operand, argument in zip(call.operands, arguments, strict=True):
            _carry(ref_of_value(operand), argument)
    for call in calls:
        for ref, result in zip(_results(called(call, functions)), call.results, strict=True):
            _carry(ref, result)


def _carry(given: ShardingRef | None, value: SSAValue) -> None:
    ref = _carried(given, ref_of_value(value), value)
    if ref is not None and _unreduced(given):
        set_ref(value, ref)


def _carried(given: ShardingRef | None, known: ShardingRef | None, value: SSAValue) -> ShardingRef | None:
    """What is known of a value that is partial as it is given; axes it is partial over split nothing."""
    if given is None or not given.unreduced:
        return known
    ref = known or open_like(given, value)
    names = {axis.name for axis in given.unreduced}
    return replace(
        ref,
        dims=tuple(replace(dim, axes=_without(dim.axes, names)) for dim in ref.dims),
        replicated=_without(ref.replicated, names),
        unreduced=given.unreduced,
        kind=given.kind,
    )


def _without(axes: Sequence[AxisRef], names: set[str]) -> tuple[AxisRef, ...]:
    return tuple(axis for axis in axes if axis.name not in names)


def _unreduced(ref: ShardingRef | None) -> tuple[AxisRef, ...]:
    return () if ref is None else ref.unreduced


def _results(function: FuncOp) -> list[ShardingRef | None]:
    count = len(function.function_type.outputs.data)
    if function.res_attrs is None:
        return [None] * count
    found = (entry.data.get(SHARDING) for entry in function.res_attrs)
    return [attr.data if isinstance(attr, ShardingAttr) else None for attr in found]


def check_unreduced(module: ModuleOp) -> None:
    """ShardcError where a partial sum is dropped: by an operation, or at the border of a function.

    The operations of `sdy` say themselves what becomes of it.
    """
    functions = functions_of(module)
    for function in functions.values():
        for op in function.walk():
            if isinstance(op, CallOp):
                _check_call(op, called(op, functions))
            elif isinstance(op, ReturnOp):
                _check_same(
                    op, _axes(map(ref_of_value, op.operands)), _axes(_results(function)), _NOT_REDUCED
                )
            elif not op.has_trait(IsTerminator) and Dialect.split_name(op.name)[0] != SDY.name:
                _check_kept(op)


_NOT_REDUCED = (
    f" without a blessed operation (e.g., {sdy.reshard.name}). "
    "This is an invalid transition from unreduced to reduced."
)
"""In Shardy's words, as -verify-diagnostics compares them."""


def _check_call(call: CallOp, function: FuncOp) -> None:
    for n, (operand, argument) in enumerate(zip(call.operands, function.body.block.args, strict=True)):
        given, taken = _unreduced(ref_of_value(operand)), _unreduced(ref_of_value(argument))
        _check_same(call, given, taken, f" at call argument {n}.")
    for n, (result, ref) in enumerate(zip(call.results, _results(function), strict=True)):
        _check_same(call, _unreduced(ref), _unreduced(ref_of_value(result)), f" at call result {n}.")


def _check_same(op: Operation, given: Sequence[AxisRef], taken: Sequence[AxisRef], where: str) -> None:
    if tuple(given) != tuple(taken):
        names = sorted({axis.name for axis in given} ^ {axis.name for axis in taken})
        raise ShardcError(
            f"'{op.name}' op has unreduced axes mismatch for '{', '.join(names)}'{where}",
            location_of(op.location),
        )


def _check_kept(op: Operation) -> None:
    kept = _axes(map(ref_of_value, op.results))
    for axis in _axes(map(ref_of_value, op.operands)):
        if axis not in kept:
            raise ShardcError(
                f"'{op.name}' op dropped unreduced axis '{axis.name}'{_NOT_REDUCED}",
                location_of(op.location),
                f"an {sdy.all_reduce.name} before it makes the sum whole",
            )


def _axes(refs: Iterable[ShardingRef | None]) -> list[AxisRef]:
    return [axis for ref in refs for axis in _unreduced(ref)]
