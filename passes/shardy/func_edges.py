"""Data-flow edges of functions as operations: what flows into an argument, and out of a call.

    func.func private @f(%arg0: …) {               func.func private @f(%arg0: …) {
      %0 = stablehlo.tanh %arg0            ->        %0 = sdy.func_data_flow_edge %arg0
                                                     %1 = stablehlo.tanh %0

    %1 = call @f(%0)                       ->      %1 = call @f(%0)
                                                   %2 = sdy.func_data_flow_edge %1

The argument's edge has the operands of all calls as sources, a call's the value that the function returns.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.diagnostics import ShardcError
from shardc.dialects.arrays import is_tensor
from shardc.dialects.locations import locate, location_of
from shardc.dialects.sdy import FuncDataFlowEdgeOp
from shardc.dialects.sdy_attributes import ShardingAttr, ShardingPerValueAttr
from shardc.dialects.sdy_refs import DimRef, ShardingRef
from shardc.dialects.shardings import SHARDING
from shardc.dialects.types import type_of
from shardc.passes.shardy.call_graph import calls_of, functions_of, main_of
from shardc.passes.shardy.values import ref_of_value


def add_func_edges(module: ModuleOp) -> None:
    """Put an edge behind every argument of a function that is not main, and behind every result of a call.

    ShardcError if there are several functions and none is main.
    """
    main = main_of(module)
    if main is None:
        raise ShardcError("the module has several functions, and none is called main")
    functions = functions_of(module)
    for function in functions.values():
        if function is not main and function.body.blocks:
            _add(function.body.block.args, InsertPoint.at_start(function.body.block), function)
    for function in functions.values():
        for call in calls_of(function):
            _add(call.results, InsertPoint.after(call), call)


def _add(values: Sequence[SSAValue], point: InsertPoint, at: Operation) -> None:
    for value in reversed(values) if isinstance(at, CallOp) else values:
        if not is_tensor(value.type):
            continue
        ref = ref_of_value(value)
        attributes = {} if ref is None else {SHARDING: ShardingPerValueAttr((ref,))}
        made = FuncDataFlowEdgeOp.create(operands=[value], result_types=[value.type], attributes=attributes)
        locate(made, location_of(at.location))
        uses = [(use.operation, use.index) for use in value.uses]
        Rewriter.insert_op(made, point)
        for user, number in uses:
            if user is not made:
                user.operands[number] = made.result


def sink_func_edges(module: ModuleOp) -> None:
    """Give the shardings of edges to the arguments and calls that they stand behind, and remove the edges."""
    for function in functions_of(module).values():
        for edge in [op for op in function.walk() if isinstance(op, FuncDataFlowEdgeOp)]:
            given = edge.attributes.get(SHARDING)
            old = ref_of_value(edge.input)
            if isinstance(given, ShardingPerValueAttr):
                _set(edge.input, given.data[0])
            elif old is not None:
                dims = tuple(DimRef((), True, None) for _ in old.dims)
                _set(edge.input, ShardingRef(old.mesh, dims))
            edge.result.replace_all_uses_with(edge.input)
            edge.detach()
            edge.erase()


def _set(value: SSAValue, ref: ShardingRef) -> None:
    """Write a sharding where that of the value stands."""
    if isinstance(value, OpResult):
        op = value.op
        known = op.attributes.get(SHARDING)
        old = known.data if isinstance(known, ShardingPerValueAttr) else _open(ref, op.results)
        op.attributes[SHARDING] = ShardingPerValueAttr((*old[: value.index], ref, *old[value.index + 1 :]))
        return
    assert isinstance(value, BlockArgument)
    block = value.block
    function = block.parent_op()
    if isinstance(function, FuncOp):
        entries = list(function.arg_attrs or [DictionaryAttr({}) for _ in block.args])
        entries[value.index] = DictionaryAttr({**entries[value.index].data, SHARDING: ShardingAttr(ref)})
        function.properties["arg_attrs"] = ArrayAttr(list[Attribute](entries))


def _open(like: ShardingRef, values: Sequence[SSAValue[Attribute]]) -> tuple[ShardingRef, ...]:
    ranks = [type_of(value.type).rank for value in values]
    return tuple(ShardingRef(like.mesh, (DimRef((), True, None),) * rank) for rank in ranks)
