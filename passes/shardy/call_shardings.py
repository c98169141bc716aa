"""What functions and their calls say about results, made to agree.

    %0 = call @f(%arg0) {… [{"b"}, {}]}              (@f returns [{"a"}, {}])
->  %0 = call @f(%arg0) {… [{"a"}, {}]}
    %1 = sdy.reshard %0 <@m, [{"b"}, {}]>                                    // sdy-insert-func-call-reshards
"""

from __future__ import annotations

from msgspec.structs import replace
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.diagnostics import ShardcError
from shardc.dialects.locations import locate, location_of
from shardc.dialects.sdy import ReshardOp
from shardc.dialects.sdy_attributes import ShardingAttr, ShardingPerValueAttr
from shardc.dialects.sdy_refs import ShardingRef
from shardc.dialects.shardings import SHARDING
from shardc.passes.shardy.call_graph import called, calls_of, functions_of, main_of
from shardc.passes.shardy.named_calls import shardings_of
from shardc.passes.shardy.values import ref_of_value


def give_calls_result_shardings(module: ModuleOp) -> None:
    """A call that says nothing about its results says what its function says."""
    functions = functions_of(module)
    for call in _calls(functions):
        found = _results(called(call, functions))
        if found is not None and SHARDING not in call.attributes:
            call.attributes[SHARDING] = found


def give_functions_result_shardings(module: ModuleOp) -> None:
    """The results of all functions but main are sharded as the values that they return.

    ShardcError if there are several functions and none is main.
    """
    main = main_of(module)
    if main is None:
        raise ShardcError("the module has several functions, and none is called main")
    for function in functions_of(module).values():
        if function is not main and function.body.blocks:
            end = function.body.block.last_op
            assert end is not None
            set_results(function, [ref_of_value(value) for value in end.operands])


def set_results(function: FuncOp, refs: list[ShardingRef | None]) -> None:
    """Write the shardings of a function's results, and remove those that are None."""
    known = function.res_attrs or [DictionaryAttr({}) for _ in refs]
    entries: list[DictionaryAttr] = []
    for entry, ref in zip(known, refs, strict=True):
        data = {key: value for key, value in entry.data.items() if key != SHARDING}
        entries.append(DictionaryAttr(data if ref is None else {**data, SHARDING: ShardingAttr(ref)}))
    function.properties.pop("res_attrs", None)
    if any(entry.data for entry in entries):
        function.properties["res_attrs"] = ArrayAttr(list[Attribute](entries))


def reshard_call_results(module: ModuleOp) -> None:
    """Let calls have the shardings of their functions' results, and reshard to what they had."""
    functions = functions_of(module)
    for call in _calls(functions):
        made = _results(called(call, functions))
        given = call.attributes.get(SHARDING)
        wanted = given if isinstance(given, ShardingPerValueAttr) else None
        like = made or wanted
        if like is None:
            continue
        closed = [_closed(ref) for ref in like.data]
        found = list(made.data) if made else closed
        call.attributes[SHARDING] = ShardingPerValueAttr(tuple(found))
        for result, ref, old in zip(call.results, found, wanted.data if wanted else closed, strict=True):
            if [dim.axes for dim in ref.dims] != [dim.axes for dim in old.dims]:
                _reshard(call, result, old)


def _closed(ref: ShardingRef) -> ShardingRef:
    dims = tuple(replace(dim, axes=(), open=False, priority=None) for dim in ref.dims)
    return ShardingRef(ref.mesh, dims)


def _reshard(call: CallOp, result: SSAValue, wanted: ShardingRef) -> None:
    made = ReshardOp.create(
        operands=[result], result_types=[result.type], properties={"sharding": ShardingAttr(wanted)}
    )
    locate(made, location_of(call.location))
    uses = [(use.operation, use.index) for use in result.uses]
    Rewriter.insert_op(made, InsertPoint.after(call))
    for user, number in uses:
        if user is not made:
            user.operands[number] = made.result


def _results(function: FuncOp) -> ShardingPerValueAttr | None:
    return shardings_of(function.res_attrs, function.function_type.outputs.data)


def _calls(functions: dict[str, FuncOp]) -> list[CallOp]:
    return [call for function in functions.values() for call in calls_of(function)]
