"""The value of an expression: operations are emitted as it is walked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from shardc.diagnostics import did_you_mean, listed
from shardc.frontend.text import static
from shardc.frontend.text import syntax as s
from shardc.frontend.text.builtins.complex_numbers import imag, real
from shardc.frontend.text.builtins.indexing import Range, Subscript, bounds
from shardc.frontend.text.builtins.operators import BINARY, UNARY
from shardc.frontend.text.builtins.places import index
from shardc.frontend.text.builtins.shapes import transpose
from shardc.frontend.text.builtins.table import BUILTINS
from shardc.frontend.text.calls import builtin_value, call
from shardc.frontend.text.choices import choice
from shardc.frontend.text.comprehensions import comprehension
from shardc.frontend.text.gradients import DERIVATIVES
from shardc.frontend.text.lambdas import function_value
from shardc.frontend.text.scope import CONSTANTS, Scope
from shardc.frontend.text.trees import leaves
from shardc.frontend.text.turns import items, spread
from shardc.frontend.text.values import (
    At,
    Chosen,
    Dots,
    Dtype,
    Fields,
    FunctionName,
    Number,
    Operand,
    RecordValue,
    Tensor,
    Value,
    describe,
)
from shardc.graph.types import TensorType


def evaluate(scope: Scope, expr: s.Expr) -> Value:
    """The value of an expression. Raises ShardcError at the place in it that is wrong."""
    return _EVALUATE[type(expr)](scope, expr)


def _name(scope: Scope, expr: s.Name) -> Value:
    name = expr.id
    if name in scope.lost:
        raise scope.e.error(
            f"{name} is assigned in the loop on line {scope.lost[name].line}, which does not carry it",
            f"add it to the loop's carrying, or use another name: … carrying x, {name}:",
            expr.pos,
        )
    if name in scope.names:
        return scope.names[name]
    if name in scope.program.known:
        return scope.program.known[name]
    if name in scope.program.functions:
        return scope.program.function_value(scope, name, expr.pos)
    if name in CONSTANTS:
        return CONSTANTS[name]
    known = (*scope.names, *scope.program.known, *scope.program.functions, *CONSTANTS)
    if any(name in mesh.sizes for mesh in scope.program.meshes.values()):
        raise scope.e.error(
            f"{name} is a mesh axis, and no value", "axes stand in types and in collectives", expr.pos
        )
    if name in BUILTINS:
        return builtin_value(scope, name)
    if name in scope.program.modules:
        hint = f"one of what it declares is {name}.…"
        raise scope.e.error(f"{name} is the file {scope.program.modules[name]}, and no value", hint, expr.pos)
    hint = did_you_mean(name, known, scope.program.elsewhere(name))
    raise scope.e.error(f"unknown name {name}", hint, expr.pos)


def _number(scope: Scope, expr: s.Number) -> Value:
    return expr.value


def _string(scope: Scope, expr: s.String) -> Value:
    return expr.value


def _dots(scope: Scope, expr: s.Dots) -> Value:
    return Dots()


def _sequence(scope: Scope, expr: s.Sequence) -> Value:
    return tuple(evaluate(scope, item) for item in spread(scope, expr.items))


def _starred(scope: Scope, expr: s.Starred) -> Value:
    hint = "it stands among the items of a tuple, and the arguments of a call: (*x.shape, 3)"
    raise scope.e.error("* has no place here", hint, expr.pos)


def _evaluated(scope: Scope, expr: s.Evaluated) -> Value:
    return cast(Value, expr.value)


def _record(scope: Scope, expr: s.Record) -> Value:
    return Fields(tuple((entry.name, evaluate(scope, entry.value)) for entry in expr.entries))


# ---- operators


def _unary(scope: Scope, expr: s.Unary) -> Value:
    operand = evaluate(scope, expr.operand)
    with scope.e.at(expr.pos):
        if isinstance(operand, Tensor):
            return UNARY[expr.op](scope.e, operand)
        if isinstance(operand, Number):
            try:
                return static.unary(expr.op, operand)
            except static.StaticError as error:
                raise scope.e.error(str(error)) from None
        raise scope.e.error(f"{expr.op} takes a tensor or a number, not {describe(operand)}")


def _binary(scope: Scope, expr: s.Binary) -> Value:
    """Left operands are walked in a loop, so chains may be long."""
    chain = [expr]
    while isinstance(chain[-1].left, s.Binary):
        chain.append(chain[-1].left)
    value = _operand(scope, chain[-1].left)
    for node in reversed(chain):
        right = _operand(scope, node.right)
        with scope.e.at(node.op_pos):
            value = _apply(scope, node.op, value, right)
    return value


def _operand(scope: Scope, expr: s.Expr) -> Value:
    """The value of an operand, which is no function."""
    value = evaluate(scope, expr)
    if isinstance(value, FunctionName) and isinstance(expr, s.Name):
        raise scope.e.error(f"{expr.id} is a function; call it: {expr.id}(…)", pos=expr.pos)
    return value


def _apply(scope: Scope, op: str, left: Value, right: Value) -> Value:
    if op in ("==", "!=") and _comparable(left) and _comparable(right):
        return (left == right) is (op == "==")
    if op == "+" and isinstance(left, tuple) and isinstance(right, tuple):
        return left + right
    for operand in (left, right):
        if not isinstance(operand, Operand):
            raise scope.e.error(f"{op} takes tensors and numbers, not {describe(operand)}")
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        return BINARY[op](scope.e, cast(Operand, left), cast(Operand, right))
    try:
        return static.binary(op, cast(Number, left), cast(Number, right))
    except static.StaticError as error:
        raise scope.e.error(str(error)) from None


def _comparable(value: Value) -> bool:
    """Whether a value is a text, a dtype, None, or a tuple of them and numbers."""
    if isinstance(value, tuple):
        return not any(isinstance(leaf, Tensor) for leaf in leaves(value))
    return isinstance(value, str | Dtype | None)


# ---- attributes and subscripts


def _attribute(scope: Scope, expr: s.Attribute) -> Value:
    imported = scope.imported(expr)
    if imported is not None:
        return evaluate(scope, imported)
    value = evaluate(scope, expr.value)
    if isinstance(value, Tensor) and expr.name in _ATTRIBUTES:
        with scope.e.at(expr.pos):
            return _ATTRIBUTES[expr.name](scope.e, value)
    hint = None
    if isinstance(value, RecordValue):
        fields = dict(value.fields)
        if expr.name in fields:
            return fields[expr.name]
        hint = listed(expr.name, fields, "its fields are")
        raise scope.e.error(f"{value.name} has no field {expr.name}", hint, expr.pos)
    if isinstance(value, Tensor):
        is_function = expr.name in BUILTINS and expr.name not in DERIVATIVES
        hint = f"call it: {expr.name}(x)" if is_function else listed(expr.name, _ATTRIBUTES, "tensors have")
    raise scope.e.error(f"{describe(value)} has no attribute {expr.name}", hint, expr.pos)


_ATTRIBUTES: dict[str, Callable[[Any, Tensor], Value]] = {
    "T": lambda e, x: transpose(e, x),
    "shape": lambda e, x: x.shape,
    "ndim": lambda e, x: x.rank,
    "size": lambda e, x: x.type.size,
    "dtype": lambda e, x: Dtype(x.dtype),
    "at": lambda e, x: At(x),
    "real": real,
    "imag": imag,
}


def _index(scope: Scope, expr: s.Index) -> Value:
    value = evaluate(scope, expr.value)
    subscripts = tuple(_subscript(scope, item) for item in expr.subscripts)
    with scope.e.at(expr.pos):
        match value:
            case Tensor():
                return index(scope.e, value, subscripts)
            case At():
                return Chosen(value.tensor, subscripts)
            case Dtype():
                sizes = tuple(item for item in subscripts if isinstance(item, int))
                if len(sizes) == len(subscripts):
                    return TensorType(sizes, value.name)
                raise scope.e.error("the sizes of a type are whole numbers")
            case tuple() | RecordValue():
                return _item(scope, items(scope, value, expr.pos), subscripts)
            case _:
                raise scope.e.error(f"{describe(value)} takes no subscript")


def _item(scope: Scope, value: tuple[Value, ...], subscripts: tuple[Subscript, ...]) -> Value:
    match subscripts:
        case (int() as number,) if -len(value) <= number < len(value):
            return value[number]
        case (int() as number,):
            raise scope.e.error(f"index {number} is out of range for a tuple of {len(value)}")
        case (Range() as part,):
            return value[bounds(scope.e, part)]
        case _:
            raise scope.e.error("a tuple takes one whole number as subscript")


def _subscript(scope: Scope, item: s.Expr | s.Slice) -> Subscript:
    if isinstance(item, s.Slice):
        parts = (
            None if part is None else evaluate(scope, part) for part in (item.start, item.stop, item.step)
        )
        return Range(*parts)
    return evaluate(scope, item)


_EVALUATE: dict[type, Callable[[Scope, Any], Value]] = {
    s.Name: _name,
    s.Number: _number,
    s.String: _string,
    s.Dots: _dots,
    s.Sequence: _sequence,
    s.Starred: _starred,
    s.Evaluated: _evaluated,
    s.Comprehension: comprehension,
    s.Record: _record,
    s.Unary: _unary,
    s.Binary: _binary,
    s.Attribute: _attribute,
    s.Index: _index,
    s.Choice: choice,
    s.Lambda: function_value,
    s.Call: call,
}
