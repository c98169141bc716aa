"""What calls take and give is resharded where the function has it sharded otherwise.

The export cuts the shardings of functions back to what divides the dimensions; then

    %1 = call @f(%0) {… [{"b"}, {}]}            (@f takes [{"a"}, {}] and returns [{}, {}])
->  %1 = sdy.reshard %0 <@m, [{"a"}, {}]>       (right behind %0)
    %2 = call @f(%1) {… [{}, {}]}
    %3 = sdy.reshard %2 <@m, [{"b"}, {}]>
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.dialects.func import CallOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.dialects.locations import locate, location_of
from shardc.dialects.sdy import ReshardOp
from shardc.dialects.sdy_attributes import ShardingAttr, ShardingPerValueAttr
from shardc.dialects.sdy_refs import ShardingRef
from shardc.dialects.shardings import SHARDING
from shardc.passes.shardy.call_graph import called, calls_of, functions_of
from shardc.passes.shardy.values import ref_of_value

Refs = list["ShardingRef | None"]


def _refs(attrs: ArrayAttr[DictionaryAttr] | None) -> Refs:
    found = (entry.data.get(SHARDING) for entry in attrs or ())
    return [attr.data if isinstance(attr, ShardingAttr) else None for attr in found]


def reshard_calls(module: ModuleOp) -> None:
    """Reshard the operands and results of calls."""
    functions = functions_of(module)
    for function in functions.values():
        for call in calls_of(function):
            callee = called(call, functions)
            for number, wanted in enumerate(_refs(callee.arg_attrs)):
                operand = call.operands[number]
                if wanted is not None and not _alike(wanted, ref_of_value(operand)):
                    _reshard(operand, wanted, (call, number))
            _reshard_results(call, _refs(callee.res_attrs))


def _reshard_results(call: CallOp, made: Sequence[ShardingRef | None]) -> None:
    given = call.attributes.get(SHARDING)
    own = given.data if isinstance(given, ShardingPerValueAttr) else None
    known = tuple(ref for ref in made if ref is not None)
    if own is None or len(known) < len(own) or own == known:
        return
    call.attributes[SHARDING] = ShardingPerValueAttr(known)
    for result, wanted, found in zip(call.results, own, known, strict=True):
        if wanted != found:
            _reshard(result, wanted, None)


def _alike(wanted: ShardingRef, found: ShardingRef | None) -> bool:
    if found is None:
        return not any(dim.axes for dim in wanted.dims) and not wanted.unreduced
    return wanted == found


def _reshard(value: SSAValue, wanted: ShardingRef, use: tuple[Operation, int] | None) -> None:
    """Put a reshard behind a value, for one use or for all."""
    made = ReshardOp.create(
        operands=[value], result_types=[value.type], properties={"sharding": ShardingAttr(wanted)}
    )
    owner = value.owner
    if isinstance(owner, Block):
        assert owner.first_op is not None  # blocks end in terminators
        Rewriter.insert_op(made, InsertPoint.before(owner.first_op))
    else:
        locate(made, location_of(owner.location))
        Rewriter.insert_op(made, InsertPoint.after(owner))
    uses = [(other.operation, other.index) for other in value.uses] if use is None else [use]
    for user, number in uses:
        if user is not made:
            user.operands[number] = made.result
