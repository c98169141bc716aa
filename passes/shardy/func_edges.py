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

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.diagnostics import ShardcError
from shardc.dialects.arrays import is_tensor
from shardc.dialects.locations import locate, location_of
from shardc.dialects.sdy import FuncDataFlowEdgeOp
from shardc.dialects.sdy_attributes import ShardingPerValueAttr
from shardc.dialects.shardings import SHARDING
from shardc.passes.shardy.call_graph import calls_of, functions_of, main_of
from shardc.passes.shardy.values import open_like, ref_of_value, set_ref


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
    for value in values:
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
                set_ref(edge.input, given.data[0])
            elif old is not None:
                set_ref(edge.input, open_like(old, edge.input))
            edge.result.replace_all_uses_with(edge.input)
            edge.detach()
            edge.erase()
