"""Choices and loops whose parts are functions: cond, switch, while_loop, as in jax.lax.

The functions are those of the program, or lambdas; values are tensors, and tuples and records of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from shardc.frontend.text.emitter import Emitter, NewRegion
from shardc.frontend.text.trees import as_tensors, leaves, rebuilt, tensors_of
from shardc.frontend.text.values import (
    FunctionName,
    Operand,
    Tensor,
    Value,
    describe,
    plural,
)
from shardc.graph.types import TensorType
from shardc.ops import hlo


def cond(
    e: Emitter, pred: Tensor, true_fun: FunctionName, false_fun: FunctionName, *operands: Value
) -> Value:
    """true_fun(*operands) where pred (a bool scalar) holds, else false_fun(*operands)."""
    if pred.type != TensorType((), "bool"):
        raise e.error(f"cond: pred is {pred.type}, and should be bool[]")
    return _choice(e, hlo.if_.name, pred, (true_fun, false_fun), operands)


def switch(e: Emitter, index: Tensor, branches: tuple[FunctionName, ...], *operands: Value) -> Value:
    """branches[index](*operands), for an i32 scalar. An index that is no branch means the last one."""
    if index.type != TensorType((), "i32"):
        raise e.error(f"switch: index is {index.type}, and should be i32[]")
    if not branches:
        raise e.error("switch: there is no branch")
    return _choice(e, hlo.case.name, index, branches, operands)


def _choice(
    e: Emitter, op: str, which: Tensor, branches: Sequence[FunctionName], operands: Sequence[Value]
) -> Value:
    made: list[Value] = []
    regions = [_branch(e, branch, _arguments(e, branch, operands), made) for branch in branches]
    results = e.ops(op, which, regions=regions, weak=False)
    return rebuilt(made[0], results)


def _branch(e: Emitter, function: FunctionName, arguments: Sequence[Value], made: list[Value]) -> NewRegion:
    """The region of one branch; the values it comes to are added to `made`."""

    def body() -> list[Tensor]:
        value = as_tensors(e, function.apply(*arguments))
        if made and _types(value) != _types(made[0]):
            raise e.error(f"the branches return {_text(made[0])} and {_text(value)}")
        made.append(value)
        return tensors_of(value)

    return (), body


def while_loop(e: Emitter, cond_fun: FunctionName, body_fun: FunctionName, init_val: Value) -> Value:
    """While cond_fun(*values) holds, values = body_fun(*values). `init_val` is a value or a tuple of them."""
    starts = init_val if isinstance(init_val, tuple) else (init_val,)
    for start in starts:
        if not all(isinstance(leaf, Operand) for leaf in leaves(start)):
            raise e.error(f"while_loop: {describe(start)} is no value to start from")
    carried = tuple(_arguments(e, body_fun, starts))
    if None not in (cond_fun.parameters, body_fun.parameters) and cond_fun.parameters != body_fun.parameters:
        raise e.error(f"{cond_fun.name} and {body_fun.name} take different parameters")
    trees: tuple[Value, ...] = (carried, cond_fun, body_fun)
    operands = tensors_of(trees)
    own = _types(carried)

    def condition(*args: Tensor) -> list[Tensor]:
        values, function, _ = _items(rebuilt(trees, args))
        value = _function(function).apply(*_items(values))
        if not isinstance(value, Tensor) or value.type != TensorType((), "bool"):
            raise e.error(f"{cond_fun.name} returns {_text(value)}, and should return bool[]")
        return [value]

    def body(*args: Tensor) -> list[Tensor]:
        values, _, function = _items(rebuilt(trees, args))
        value = as_tensors(e, _function(function).apply(*_items(values)))
        if _types(value) != own:
            raise e.error(f"{body_fun.name} takes {_text(carried)} and returns {_text(value)}")
        return [*tensors_of(value), *args[len(own) :]]

    types = [operand.type for operand in operands]
    regions = [(types, condition), (types, body)]
    results = e.ops(hlo.while_.name, *operands, results=types, regions=regions, weak=False)
    last = rebuilt(carried, results)
    return last[0] if isinstance(last, tuple) and len(last) == 1 else last


def _arguments(e: Emitter, function: FunctionName, operands: Sequence[Value]) -> list[Value]:
    """The operands as the function's parameters want them."""
    if function.parameters is None:
        return [as_tensors(e, operand) for operand in operands]
    if len(operands) != len(function.parameters):
        takes = plural(len(function.parameters), "argument")
        raise e.error(f"{function.name} takes {takes}, and is given {len(operands)}")
    tensors: list[Value] = []
    for operand, type in zip(operands, function.parameters, strict=True):
        if not isinstance(operand, Operand):
            raise e.error(f"{function.name} takes {type} here, not {describe(operand)}")
        tensor = e.tensor(operand, None if isinstance(operand, Tensor) else type.dtype)
        if tensor.type != type:
            raise e.error(f"{function.name} takes {type} here, not {tensor.type}")
        tensors.append(tensor)
    return tensors


def _types(value: Value) -> list[TensorType]:
    return [tensor.type for tensor in tensors_of(value)]


def _items(value: Value) -> tuple[Value, ...]:
    assert isinstance(value, tuple)
    return value


def _function(value: Value) -> FunctionName:
    assert isinstance(value, FunctionName)
    return value


def _text(value: Value) -> str:
    return ", ".join(str(type) for type in _types(value)) or describe(value)
