"""Results of a function that are one value, and parameters that are in every call -> one of each.

    %1:3 = func.call @solve(%l, %b)            %1:2 = func.call @solve(%l, %b)
    use(%1#0, %1#1, %1#2)              ->      use(%1#0, %1#1, %1#1)
    func.func @solve(…) {                      func.func @solve(…) {
      return %t, %mask, %mask                    return %t, %mask

What a backward pass needs is returned by the function that makes it, as often as there are operations whose
derivatives read it. Parameters that have names in the source stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.dialects.locations import location_of

_NUMBERED = re.compile(r"arg\d+", re.ASCII)


def merge_equal_results(module: ModuleOp) -> bool:
    """Whether there were any."""
    functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}
    calls: dict[str, list[CallOp]] = {}
    for op in module.walk():
        if isinstance(op, CallOp):
            calls.setdefault(op.callee.string_value(), []).append(op)
    changed = [
        _merged(functions[name], of)
        for name, of in calls.items()
        if name in functions and not {"arg_attrs", "res_attrs"} & functions[name].properties.keys()
    ]
    return any(changed)


def _merged(function: FuncOp, calls: Sequence[CallOp]) -> bool:
    block = function.body.block
    end, args = block.last_op, block.args
    assert isinstance(end, ReturnOp)
    results = _firsts(end.operands)
    rows = [[call.operands[i] for call in calls] for i in range(len(args))]
    given = [
        i if _is_named(args[i]) else next(j for j in range(i + 1) if rows[j] == rows[i])
        for i in range(len(args))
    ]
    if not (_repeats(results) or _repeats(given)):
        return False
    for call in calls:
        _call_of_fewer(call, given, results)
    for i, first in reversed([*enumerate(given)]):
        if first != i:
            args[i].replace_all_uses_with(args[first])
            block.erase_arg(args[i])
    kept = [value for i, value in enumerate(end.operands) if results[i] == i]
    Rewriter.replace_op(end, ReturnOp(*kept), [])
    types = [arg.type for arg in block.args], [value.type for value in kept]
    function.properties["function_type"] = FunctionType.from_lists(*types)
    return True


def _firsts(values: Sequence[SSAValue]) -> list[int]:
    """For each value the place of the first that is the same."""
    return [next(j for j, other in enumerate(values) if other is value) for value in values]


def _repeats(firsts: Iterable[int]) -> bool:
    return any(first != i for i, first in enumerate(firsts))


def _is_named(arg: BlockArgument) -> bool:
    """Whether its name is of the source, not of MLIR's text."""
    name = location_of(arg.location).name or arg.name_hint
    return name is not None and not _NUMBERED.fullmatch(name)


def _call_of_fewer(call: CallOp, given: Sequence[int], results: Sequence[int]) -> None:
    """A call of the function that has fewer parameters and results, in the place of one."""
    operands = [value for i, value in enumerate(call.operands) if given[i] == i]
    kept = [result for i, result in enumerate(call.results) if results[i] == i]
    new = CallOp(call.callee, operands, [result.type for result in kept])
    new.attributes.update(call.attributes)
    new.location = call.location
    Rewriter.insert_op(new, InsertPoint.before(call))
    found = dict(zip(kept, new.results, strict=True))
    for old, made in found.items():
        made.name_hint = old.name_hint
    for result, first in zip(call.results, results, strict=True):
        result.replace_all_uses_with(found[call.results[first]])
    call.detach()
    call.erase()
