"""Calls as named computations, which have the body in their place, and as calls again.

    %0 = call @f(%arg0) : …
->  %0 = sdy.named_computation<"f">(%arg0) in_shardings=[…] (%arg1: tensor<8xf32>) {
      %2 = sdy.data_flow_edge %arg1 : tensor<8xf32>
      …
      sdy.return %3 : tensor<8xf32>
    } : …
    %1 = sdy.data_flow_edge %0 : tensor<8xf32>                             // sdy-import-func-calls
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    SymbolRefAttr,
    TensorType,
)
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.diagnostics import ShardcError, warn
from shardc.dialects.derive import op_class
from shardc.dialects.locations import locate, location_of
from shardc.dialects.sdy import DataFlowEdgeOp, NamedComputationOp
from shardc.dialects.sdy_attributes import ShardingAttr, ShardingPerValueAttr
from shardc.dialects.sdy_refs import DimRef, ShardingRef
from shardc.dialects.shardings import SHARDING
from shardc.dialects.types import type_of
from shardc.ops import sdy
from shardc.passes.shardy.call_graph import (
    ORIGINAL,
    FreshNames,
    called,
    callee_of,
    calls_of,
    functions_of,
    original_name,
    post_order,
)
from shardc.passes.shardy.edges import insert_edge

OPEN = DimRef((), True, None)
DEEPEST = 100
"""How deep bodies may stand in each other."""


@dataclass(frozen=True)
class ImportFuncCalls(ModulePass):
    """Put the body of a function into the place of each of its calls, as a named computation."""

    name = "sdy-import-func-calls"

    add_data_flow_edges_on_named_computations: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = functions_of(op)
        moved: dict[str, FuncOp] = {}
        copies = Counter[str]()
        depth: dict[str, int] = {}
        for function in post_order(op):
            calls = calls_of(function)
            name = function.sym_name.data
            depth[name] = 1 + max((depth[callee_of(call)] for call in calls), default=0)
            if depth[name] > DEEPEST:
                text = f"calls are nested more than {DEEPEST} deep in @{name}"
                raise ShardcError(text, location_of(function.location))
            for call in calls:
                callee = called(call, functions)
                copies[callee.sym_name.data] += 1
                if copies[callee.sym_name.data] == 2:
                    _warn_of_copies(call)
                moved[callee.sym_name.data] = callee
                made = _computation(call, callee)
                if self.add_data_flow_edges_on_named_computations:
                    _add_edges(made)
        for function in moved.values():
            function.detach()
            function.erase(safe_erase=False)


def _warn_of_copies(call: CallOp) -> None:
    text = f"function @{callee_of(call)} has multiple call ops"
    warn(f"{text}, we need to clone the function body for each call", location_of(call.location))


def _computation(call: CallOp, callee: FuncOp) -> NamedComputationOp:
    """A named computation in the place of a call."""
    body = callee.body.clone()
    _end_with(body, op_class(sdy.return_))
    properties: dict[str, Attribute] = {"name": original_name(callee)}
    inputs = shardings_of(callee.arg_attrs, callee.function_type.inputs.data)
    if inputs is not None:
        properties["in_shardings"] = inputs
    attributes = dict(call.attributes)
    given = attributes.pop(SHARDING, None)
    if given is not None:
        properties["out_shardings"] = given
    made = NamedComputationOp.create(
        operands=call.operands,
        result_types=call.result_types,
        properties=properties,
        attributes=attributes,
        regions=[body],
    )
    locate(made, location_of(call.location))
    Rewriter.replace_op(call, made)
    return made


def _end_with(body: Region, kind: type[Operation]) -> None:
    """Let the body return with an operation of another kind."""
    end = body.block.last_op
    assert end is not None
    made = kind.create(operands=end.operands)
    locate(made, location_of(end.location))
    Rewriter.replace_op(end, made)


def _add_edges(computation: NamedComputationOp) -> None:
    inputs, outputs = computation.in_shardings, computation.out_shardings
    for values, shardings in ((computation.body.block.args, inputs), (computation.results, outputs)):
        for number, value in enumerate(values):
            known = any(isinstance(use.operation, DataFlowEdgeOp) for use in value.uses)
            if isinstance(value.type, TensorType) and not known:
                ref = None if shardings is None else shardings.data[number]
                insert_edge(value, None if ref is None else ShardingAttr(ref), None)


def shardings_of(
    attrs: ArrayAttr[DictionaryAttr] | None, types: Sequence[Attribute]
) -> ShardingPerValueAttr | None:
    """The shardings of a function's arguments or results, open where one has none; None if no one has any."""
    given = [entry.data.get(SHARDING) for entry in attrs or ()]
    known = next((attr.data.mesh for attr in given if isinstance(attr, ShardingAttr)), None)
    if known is None:
        return None
    return ShardingPerValueAttr(
        tuple(
            attr.data if isinstance(attr, ShardingAttr) else ShardingRef(known, (OPEN,) * type_of(type).rank)
            for attr, type in zip(given, types, strict=True)
        )
    )


class ExportNamedComputations(ModulePass):
    """Make a private function of every named computation, and a call in its place."""

    name = "sdy-export-named-computations"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = FreshNames.of(op)
        for inner in list(op.walk(region_first=True)):
            if isinstance(inner, NamedComputationOp):
                _export(inner, op, names)


def _export(computation: NamedComputationOp, module: ModuleOp, names: FreshNames) -> None:
    inputs = _taken(computation.body.block.args, computation.in_shardings)
    outputs = _taken(computation.results, computation.out_shardings)
    types = FunctionType.from_lists(computation.body.block.arg_types, computation.result_types)
    body = computation.detach_region(computation.body)
    _end_with(body, ReturnOp)
    name = computation.function
    function = FuncOp(names.new(name.data), types, body, "private")
    function.attributes[ORIGINAL] = name
    if inputs is not None:
        function.properties["arg_attrs"] = ArrayAttr(
            [DictionaryAttr({SHARDING: ShardingAttr(ref)}) for ref in inputs.data]
        )
    locate(function, location_of(computation.location))
    Rewriter.insert_op(function, InsertPoint.at_end(module.body.block))
    call = CallOp.create(
        operands=computation.operands,
        result_types=computation.result_types,
        properties={"callee": SymbolRefAttr(function.sym_name)},
        attributes=computation.attributes,
    )
    if outputs is not None:
        call.attributes[SHARDING] = outputs
    locate(call, location_of(computation.location))
    Rewriter.replace_op(computation, call)


def _taken(values: Sequence[SSAValue], shardings: ShardingPerValueAttr | None) -> ShardingPerValueAttr | None:
    """Remove the edges behind values; their shardings, open where there is none, else those given."""
    refs: list[ShardingRef | None] = [None] * len(values)
    for number, value in enumerate(values):
        for edge in [use.operation for use in value.uses]:
            if isinstance(edge, DataFlowEdgeOp):
                refs[number] = edge.sharding.data if edge.sharding is not None else None
                edge.result.replace_all_uses_with(value)
                edge.detach()
                edge.erase()
    known = next((ref.mesh for ref in refs if ref is not None), None)
    if known is None:
        return shardings
    ranks = [type_of(value.type).rank for value in values]
    full = (ref or ShardingRef(known, (OPEN,) * rank) for ref, rank in zip(refs, ranks, strict=True))
    return ShardingPerValueAttr(tuple(full))
