"""Operations over whole dimensions: reduce, sort, top_k."""

from __future__ import annotations

from shardc.graph.infer.call import Call, Rule, Types, types_text
from shardc.graph.types import TensorType


def _reduce(call: Call) -> Types:
    count = len(call.operands) // 2
    if not count or len(call.operands) % 2:
        raise call.error(f"takes inputs and as many initial values, got {len(call.operands)} operands")
    inputs, inits = call.operands[:count], call.operands[count:]
    dims = call.dimensions("dimensions", inputs[0].rank)
    for index, (operand, init) in enumerate(zip(inputs, inits, strict=True)):
        if operand.shape != inputs[0].shape:
            raise call.error(f"needs inputs of one shape, got {types_text(inputs)}")
        if init.shape or init.dtype not in (operand.dtype, call.result_dtype(operand.dtype, index)):
            raise call.error(f"needs an initial value {operand.with_shape(())} for {operand}, got {init}")
    kept = tuple(size for dim, size in enumerate(inputs[0].shape) if dim not in dims)
    results = tuple(TensorType(kept, init.dtype) for init in inits)
    call.check_region(0, tuple(result.with_shape(()) for result in results))
    return results


def _sort(call: Call) -> Types:
    if not call.operands:
        raise call.error("needs at least one operand")
    first = call.operands[0]
    call.dimension("dimension", first.rank, max(first.rank - 1, 0))
    if any(type.shape != first.shape for type in call.operands):
        raise call.error(f"needs operands of one shape, got {types_text(call.operands)}")
    call.check_region(0, (TensorType((), "bool"),))
    return call.operands


def _top_k(call: Call) -> Types:
    operand, k = call.one(), call.integer("k")
    if operand.rank < 1 or not 0 <= k <= operand.shape[-1]:
        raise call.error(f"cannot take {k} of the last dimension of {operand}")
    values = operand.with_shape((*operand.shape[:-1], k))
    return (values, values.with_dtype("i32"))


REDUCTION: dict[str, Rule] = {
    "stablehlo.reduce": _reduce,
    "stablehlo.sort": _sort,
    "chlo.top_k": _top_k,
}
