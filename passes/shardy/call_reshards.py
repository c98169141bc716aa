"""What calls take and give is resharded where the function has it sharded otherwise.

Shardy's pipeline cuts the shardings of functions back to what divides the dimensions; then

    %1 = call @f(%0) {… [{"b"}, {}]}            (@f takes [{"a"}, {}] and returns [{}, {}])
->  %1 = sdy.reshard %0 <@m, [{"a"}, {}]>       (right behind %0)
    %2 = call @f(%1) {… [{}, {}]}
    %3 = sdy.reshard %2 <@m, [{"b"}, {}]>
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.dialects.locations import locate, location_of
from shardc.dialects.sdy import ReshardOp
from shardc.dialects.sdy_attributes import ShardingAttr, ShardingPerValueAttr
from shardc.dialects.sdy_refs import ShardingRef
from shardc.dialects.shardings import SHARDING, Meshes, ref_of, sharding_of
from shardc.dialects.types import type_of
from shardc.dialects.verify import module_meshes
from shardc.passes.shardy.calls import callee_of, calls_of, given, with_shardings
from shardc.passes.shardy.values import ref_of_value
from shardc.propagation.export import divisible

Refs = list["ShardingRef | None"]


def divide_functions(module: ModuleOp) -> None:
    """Cut the shardings of private functions' arguments and results back to what divides them.

    Calls whose results are sharded as the function's follow it.
    """
    meshes = module_meshes(module)
    changed: dict[str, tuple[Refs, Refs]] = {}
    for op in module.body.block.ops:
        if isinstance(op, FuncOp) and op.sym_visibility and op.sym_visibility.data != "public":
            before = _refs(op.res_attrs)
            for name, attrs, types in (
                ("arg_attrs", op.arg_attrs, op.function_type.inputs),
                ("res_attrs", op.res_attrs, op.function_type.outputs),
            ):
                known = [ref for ref in _refs(attrs) if ref is not None]
                if attrs is not None and known and len(known) == len(attrs):
                    cut = [_divisible(ref, type, meshes) for ref, type in zip(known, types, strict=True)]
                    op.properties[name] = with_shardings(attrs, tuple(cut))
            changed[op.sym_name.data] = (before, _refs(op.res_attrs))
    for call in [op for op in module.walk() if isinstance(op, CallOp)]:
        before, after = changed.get(callee_of(call), ([], []))
        known = tuple(ref for ref in after if ref is not None)
        if given(call) == tuple(before) and len(known) == len(after):
            call.attributes[SHARDING] = ShardingPerValueAttr(known)


def _divisible(ref: ShardingRef, type: Attribute, meshes: Meshes) -> ShardingRef:
    sharding = sharding_of(ref, meshes)
    return ref if sharding.mesh.is_maximal else ref_of(divisible(sharding, type_of(type).shape))


def _refs(attrs: ArrayAttr[DictionaryAttr] | None) -> Refs:
    found = (entry.data.get(SHARDING) for entry in attrs or ())
    return [attr.data if isinstance(attr, ShardingAttr) else None for attr in found]


def reshard_calls(module: ModuleOp) -> None:
    """Reshard the operands and results of calls."""
    functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}
    for function in functions.values():
        for call in calls_of(function):
            callee = functions[callee_of(call)]
            for number, wanted in enumerate(_refs(callee.arg_attrs)):
                operand = call.operands[number]
                if wanted is not None and not _alike(wanted, ref_of_value(operand)):
                    _reshard(operand, wanted, (call, number))
            _reshard_results(call, _refs(callee.res_attrs))


def _reshard_results(call: CallOp, made: Sequence[ShardingRef | None]) -> None:
    own = given(call)
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
