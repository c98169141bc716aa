"""Choices and loops whose parts are functions of the program: cond, switch, while_loop, as in jax.lax."""

from __future__ import annotations

from collections.abc import Sequence

from shardc.frontend.text.emitter import Emitter, Region
from shardc.frontend.text.values import FunctionName, Operand, Tensor, Value, counted, describe
from shardc.graph.types import TensorType

Results = Tensor | tuple[Tensor, ...]


def cond(
    e: Emitter, pred: Tensor, true_fun: FunctionName, false_fun: FunctionName, *operands: Operand
) -> Results:
    """true_fun(*operands) where pred (a bool scalar) holds, else false_fun(*operands)."""
    if pred.type != TensorType((), "bool"):
        raise e.error(f"cond: pred is {pred.type}, and should be bool[]")
    return _choice(e, "stablehlo.if", pred, (true_fun, false_fun), operands)


def switch(e: Emitter, index: Tensor, branches: tuple[FunctionName, ...], *operands: Operand) -> Results:
    """branches[index](*operands), for an i32 scalar. An index that is no branch means the last one."""
    if index.type != TensorType((), "i32"):
        raise e.error(f"switch: index is {index.type}, and should be i32[]")
    if not branches:
        raise e.error("switch: there is no branch")
    return _choice(e, "stablehlo.case", index, branches, operands)


def _choice(
    e: Emitter, op: str, which: Tensor, branches: Sequence[FunctionName], operands: Sequence[Operand]
) -> Results:
    regions = [_branch(branch, _arguments(e, branch, operands)) for branch in branches]
    return _returned(e.ops(op, which, regions=regions, weak=False))


def _branch(function: FunctionName, arguments: Sequence[Tensor]) -> Region:
    def body() -> list[Tensor]:
        return function.inline(*arguments)

    return (), body


def while_loop(e: Emitter, cond_fun: FunctionName, body_fun: FunctionName, init_val: Value) -> Results:
    """While cond_fun(*values) holds, values = body_fun(*values). `init_val` is a value or a tuple of them."""
    starts: list[Operand] = []
    for start in init_val if isinstance(init_val, tuple) else (init_val,):
        if not isinstance(start, Tensor | bool | int | float):
            raise e.error(f"while_loop: {describe(start)} is no value to start from")
        starts.append(start)
    operands = _arguments(e, body_fun, starts)
    types = [operand.type for operand in operands]
    if tuple(types) != cond_fun.parameters:
        raise e.error(f"{cond_fun.name} and {body_fun.name} take different parameters")
    regions = [(types, cond_fun.inline), (types, body_fun.inline)]
    return _returned(e.ops("stablehlo.while", *operands, results=types, regions=regions, weak=False))


def _arguments(e: Emitter, function: FunctionName, operands: Sequence[Operand]) -> list[Tensor]:
    """The operands as the function's parameters want them."""
    if len(operands) != len(function.parameters):
        takes = counted(len(function.parameters), "argument")
        raise e.error(f"{function.name} takes {takes}, and is given {len(operands)}")
    tensors: list[Tensor] = []
    for operand, type in zip(operands, function.parameters, strict=True):
        tensor = e.tensor(operand, None if isinstance(operand, Tensor) else type.dtype)
        if tensor.type != type:
            raise e.error(f"{function.name} takes {type} here, not {tensor.type}")
        tensors.append(tensor)
    return tensors


def _returned(results: Sequence[Tensor]) -> Results:
    return results[0] if len(results) == 1 else tuple(results)
