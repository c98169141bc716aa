"""Calls: of built-in functions, of functions of the program, and of x.sum(axis=0)."""

from __future__ import annotations

from inspect import Parameter
from typing import NamedTuple, cast

from msgspec.structs import replace

from shardc.diagnostics import did_you_mean
from shardc.frontend.text import syntax as s
from shardc.frontend.text.builtins.table import BUILTINS
from shardc.frontend.text.builtins.updates import update
from shardc.frontend.text.fitting import as_type
from shardc.frontend.text.matching import matched
from shardc.frontend.text.mesh_axes import mesh_axes
from shardc.frontend.text.modules import from_module
from shardc.frontend.text.parameters import (
    MESH_AXES,
    NAMED_AXES,
    bind,
    check_keyword,
    convert,
    kind_of,
    signature,
)
from shardc.frontend.text.promotion import DTYPES, SPELLED
from shardc.frontend.text.records import construct, record_of
from shardc.frontend.text.scope import Scope
from shardc.frontend.text.turns import spread
from shardc.frontend.text.values import (
    Chosen,
    FunctionName,
    Number,
    Operand,
    Tensor,
    Value,
    describe,
)
from shardc.graph.types import TensorType


def call(scope: Scope, expr: s.Call) -> Value:
    """The value of a call. Raises ShardcError at the argument or name that is wrong."""
    function = expr.function
    expr = replace(expr, args=spread(scope, expr.args))
    if found := record_of(scope, function):
        return construct(scope, *found, expr)
    if isinstance(function, s.Attribute):
        imported = scope.imported(function)
        if imported is None:
            return _method(scope, expr, function)
        expr = replace(expr, function=imported)
        function = imported
    if not isinstance(function, s.Name):
        made = scope.value(function)
        if not isinstance(made, FunctionName):
            raise scope.e.error(f"{describe(made)} is called, and is no function", pos=expr.pos)
        return _call_value(scope, made.name, made, expr)
    name = function.id
    if name in scope.names:
        return _call_value(scope, name, scope.names[name], expr)
    if name in scope.program.functions:
        return _call_function(scope, name, expr)
    if name in SPELLED:
        return _scalar(scope, SPELLED[name], expr)
    if name in scope.lost:
        return scope.value(function)  # which says where it was lost
    if name not in BUILTINS:
        known = (*BUILTINS, *scope.program.functions, *scope.program.records, *DTYPES)
        hint = _ELSEWHERE.get(name) or scope.program.elsewhere(name) or did_you_mean(name, known)
        raise scope.e.error(f"unknown function {name}", hint, expr.pos)
    return _builtin(scope, name, expr, ())


def _call_value(scope: Scope, name: str, value: Value, expr: s.Call) -> Value:
    """A call of what a name holds: a lambda, or a function that was given as an argument."""
    if not isinstance(value, FunctionName):
        raise scope.e.error(f"{name} is a value here, not a function", pos=expr.pos)
    if expr.keywords and not value.named:
        raise scope.e.error(f"{name} takes its arguments without names", pos=expr.keywords[0].pos)
    args = [scope.value(arg) for arg in expr.args]
    named: dict[str, Value] = {}
    for keyword in expr.keywords:
        if keyword.name in named:
            raise scope.e.error(f"{name}: {keyword.name} is given twice", pos=keyword.pos)
        named[keyword.name] = scope.value(keyword.value)
    with scope.e.calling(name, expr.pos):
        return value.apply(*args, **named)


def _scalar(scope: Scope, dtype: str, expr: s.Call) -> Tensor:
    """i32(0): a number as a scalar of that dtype."""
    value = scope.value(expr.args[0]) if len(expr.args) == 1 and not expr.keywords else None
    if not isinstance(value, Number):
        hint = f"astype(x, {dtype}) converts"
        raise scope.e.error(f"{dtype}(…) takes one number known while compiling", hint, expr.pos)
    return as_type(scope, value, TensorType((), dtype), f"{dtype}(…)", expr.pos)


_ELSEWHERE = {
    "range": "range(N) stands in loops and lists: for i in range(N) carrying x:",
    "len": "x.shape[0] is the size of the first dimension",
    "dynamic_index_in_dim": "x[i] is a part along the first dimension; take(x, i, axis) along another",
    "dynamic_slice_in_dim": "x[i : i + 4] has a size known while compiling; dynamic_slice(x, starts, sizes)",
    "print": "print(x) is a statement of its own",
    "breakpoint": "breakpoint(x) is a statement of its own",
}


def _method(scope: Scope, expr: s.Call, function: s.Attribute) -> Value:
    """x.sum(axis=0) is sum(x, axis=0), and jnp.sum(x, axis=0) too."""
    name = from_module(scope, function)
    if name is not None:
        return _builtin(scope, name, expr, ())
    value = scope.value(function.value)
    if isinstance(value, Chosen):
        return _update(scope, value, expr, function)
    if not isinstance(value, Tensor):
        raise scope.e.error(f"{describe(value)} has no function {function.name}", pos=function.pos)
    if function.name not in BUILTINS:
        raise scope.e.error(
            f"unknown function {function.name}", did_you_mean(function.name, BUILTINS), function.pos
        )
    return _builtin(scope, function.name, expr, (value,))


def _update(scope: Scope, chosen: Chosen, expr: s.Call, function: s.Attribute) -> Tensor:
    """x.at[i].set(v)"""
    if len(expr.args) != (function.name != "get") or expr.keywords:
        hint = f"x.at[i].{function.name}(value)"
        raise scope.e.error(f"{function.name} takes the value to be written", hint, function.pos)
    value = scope.value(expr.args[0]) if expr.args else 0
    if not isinstance(value, Operand):
        raise scope.e.error(f"{describe(value)} cannot be written into a tensor", pos=expr.args[0].pos)
    with scope.e.at(function.pos):
        return update(scope.e, chosen.tensor, chosen.subscripts, function.name, value)


def _builtin(scope: Scope, name: str, expr: s.Call, first: tuple[Tensor, ...]) -> Value:
    """Bind the arguments, evaluate each as its parameter wants it, and build."""
    function = BUILTINS[name]
    pos = expr.function.pos
    keywords: dict[str, object] = {}
    for keyword in expr.keywords:
        if keyword.name in keywords:
            raise scope.e.error(f"{name}: {keyword.name} is given twice", pos=keyword.pos)
        with scope.e.at(keyword.pos):
            check_keyword(scope.e, name, function, keyword.name)
        keywords[keyword.name] = keyword.value
    with scope.e.at(pos):
        bound = bind(scope.e, name, function, (*first, *expr.args), keywords)
    for parameter in signature(function).parameters.values():
        if parameter.name not in bound.arguments:
            continue
        given: object = bound.arguments[parameter.name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            items = cast(tuple[object, ...], given)
            bound.arguments[parameter.name] = tuple(_argument(scope, name, parameter, item) for item in items)
        else:
            bound.arguments[parameter.name] = _argument(scope, name, parameter, given)
    with scope.e.at(pos):
        return function(scope.e, *bound.args, **bound.kwargs)


def builtin_value(scope: Scope, name: str) -> FunctionName:
    """A built-in function as a value: associative_scan(add, x)."""
    function = BUILTINS[name]

    def apply(*args: Value, **named: Value) -> Value:
        bound = bind(scope.e, name, function, args, dict[str, object](named))
        for parameter in signature(function).parameters.values():
            given: object = bound.arguments.get(parameter.name)
            if parameter.name not in bound.arguments:
                continue
            if kind_of(parameter) in (MESH_AXES, NAMED_AXES):
                raise scope.e.error(f"{name} names axes of the mesh", f"lambda x: {name}(x, axis)")
            if parameter.kind is parameter.VAR_POSITIONAL:
                items = cast(tuple[Value, ...], given)
                converted: object = tuple(convert(scope.e, name, parameter, item) for item in items)
            else:
                converted = convert(scope.e, name, parameter, cast(Value, given))
            bound.arguments[parameter.name] = converted
        return function(scope.e, *bound.args, **bound.kwargs)

    return FunctionName(name, None, apply, named=True)


def _argument(scope: Scope, name: str, parameter: Parameter, given: object) -> object:
    """One argument: axes unevaluated, everything else as a value of the parameter's kind."""
    if isinstance(given, Tensor):
        return convert(scope.e, name, parameter, given)
    expr = cast(s.Expr, given)
    kind = kind_of(parameter)
    if kind in (MESH_AXES, NAMED_AXES):
        return mesh_axes(scope, name, expr, outside=kind == NAMED_AXES)
    value = scope.value(expr)
    with scope.e.at(expr.pos):
        return convert(scope.e, name, parameter, value)


def _call_function(scope: Scope, name: str, expr: s.Call) -> Value:
    """A call of a function of the program."""
    function, owner = scope.program.functions[name], scope.program.owner(name)
    given = _arguments(scope, function, expr)
    values = [
        (scope if parameter.name in given.written else owner.scope()).value(given.all[parameter.name])
        for parameter in function.parameters
    ]
    places = [given.all[parameter.name].pos for parameter in function.parameters]
    return owner.call(scope, function, values, places, expr.function.pos)


class _Given(NamedTuple):
    """The arguments of a call by parameter: those written, and all with the defaults."""

    written: dict[str, s.Expr]
    all: dict[str, s.Expr]


def _arguments(scope: Scope, function: s.Function, expr: s.Call) -> _Given:
    """Which argument is which parameter's. Raises ShardcError."""
    named = [(keyword.name, keyword.value, keyword.pos) for keyword in expr.keywords]
    given = matched(scope.e, function, expr.args, named, expr.function.pos)
    defaults = {p.name: p.default for p in function.parameters if p.default is not None}
    return _Given(given, {**defaults, **given})
