"""JAX's approximate top-k as the exact one, whose recall is 1.

%1:2 = stablehlo.custom_call @ApproxTopK(%x, %iota, %init, %none) {called_computations = [@gt],
           mhlo.backend_config = {reduction_dim = 1 : i64, top_k = 3 : i64, …}}
->
%1:2 = chlo.top_k(%x, k = 3)

The least are the greatest of the negated; another dimension than the last is transposed to it.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from shardc.dialects.build import IRBuilder
from shardc.dialects.convert import python_of
from shardc.dialects.locations import location_of
from shardc.dialects.stablehlo.calls import CustomCallOp
from shardc.dialects.types import type_of
from shardc.frontend.mlir_marks import APPROXIMATE
from shardc.ops import chlo, hlo


def read_approximate(module: ModuleOp) -> None:
    """Replace every approximate top-k of a module, in place. ShardcError for one that keeps more than k."""
    functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}
    calls = [op for op in module.walk() if isinstance(op, CustomCallOp) and _is_approximate(op)]
    for call in calls:
        _rewrite(call, functions, IRBuilder(module))
    kept = {_comparator(op) for op in module.walk() if isinstance(op, CustomCallOp)}
    for name in ({_comparator(call) for call in calls} & functions.keys()) - kept:
        functions[name].detach()
        functions[name].erase()


def _is_approximate(call: CustomCallOp) -> bool:
    return call.call_target_name.data == APPROXIMATE


def _comparator(call: CustomCallOp) -> str:
    called: Any = call.called_computations
    return called.data[0].string_value() if called is not None and called.data else ""


def _rewrite(call: CustomCallOp, functions: dict[str, FuncOp], builder: IRBuilder) -> None:
    loc = location_of(call.location)
    options: dict[str, Any] = dict(python_of(call.options)) if call.options else {}  # pyright: ignore
    places = call.operands[1].owner
    if not options.get("aggregate_to_topk", True) or len(call.operands) != 4:
        return  # it stays a custom call, for which there is no way to run it
    if not isinstance(places, Operation) or places.name != hlo.iota.name:
        return
    dim, rank = int(options["reduction_dim"]), type_of(call.operands[0].type).rank
    order = [*(d for d in range(rank) if d != dim), dim]
    is_least = _is_least(functions, _comparator(call))
    builder.before(call)
    with builder.at(loc):
        value = call.operands[0]
        if dim != rank - 1:
            value = builder.one(hlo.transpose.name, value, permutation=tuple(order))
        if is_least:
            value = builder.one(hlo.negate.name, value)
        values, numbers = builder.op(chlo.top_k.name, value, k=int(options["top_k"]))
        if is_least:
            values = builder.one(hlo.negate.name, values)
        found: list[SSAValue] = [values, numbers]
        if dim != rank - 1:
            back = tuple(order.index(d) for d in range(rank))
            found = [builder.one(hlo.transpose.name, v, permutation=back) for v in found]
    for old, new in zip(call.results, found, strict=True):
        old.replace_all_uses_with(new)
    call.detach()
    call.erase()


def _is_least(functions: dict[str, FuncOp], comparator: str) -> bool:
    """Whether a comparator puts the lesser first."""
    body = functions[comparator].body.block if comparator in functions else None
    first = body.first_op if body is not None else None
    direction = str(first.properties.get("comparison_direction", "")) if first is not None else ""
    return "LT" in direction
