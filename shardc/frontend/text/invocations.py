"""Calls: of built-in functions, of functions of the program, and of x.sum(axis=0)."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from inspect import Parameter
from typing import cast

from shardc.frontend.text import syntax as s
from shardc.frontend.text.builtins.table import BUILTINS
from shardc.frontend.text.calls import MESH_AXES, bind, convert, kind_of, signature
from shardc.frontend.text.promotion import DTYPES
from shardc.frontend.text.scope import DeviceScope, Scope
from shardc.frontend.text.values import Tensor, Value, counted, describe
from shardc.graph.types import TensorType
from shardc.layout.axes import Axis

Misfit = Callable[[TensorType], tuple[str, str | None]]
"""Of the type that a value has: why it should have another, and a hint."""


def call(scope: Scope, expr: s.Call) -> Value:
    """The value of a call. Raises ShardcError at the argument or name that is wrong."""
    function = expr.function
    if isinstance(function, s.Attribute):
        return _method(scope, expr, function)
    if not isinstance(function, s.Name):
        raise scope.e.error("this is no function", pos=expr.pos)
    name = function.id
    if name in scope.names:
        raise scope.e.error(f"{name} is a value here, not a function", pos=expr.pos)
    if name in scope.program.functions:
        return _call_function(scope, name, expr)
    if name in DTYPES:
        return _scalar(scope, name, expr)
    if name not in BUILTINS:
        known = (*BUILTINS, *scope.program.functions)
        hint = did_you_mean(name, known) or _ELSEWHERE.get(name)
        raise scope.e.error(f"unknown function {name}", hint, expr.pos)
    return _builtin(scope, name, expr, ())


def _scalar(scope: Scope, dtype: str, expr: s.Call) -> Tensor:
    """i32(0): a number as a scalar of that dtype."""
    value = scope.value(expr.args[0]) if len(expr.args) == 1 and not expr.keywords else None
    if not isinstance(value, bool | int | float):
        hint = f"astype(x, {dtype}) converts"
        raise scope.e.error(f"{dtype}(…) takes one number known while compiling", hint, expr.pos)
    return as_type(scope, value, TensorType((), dtype), f"{dtype}(…)", expr.pos)


_ELSEWHERE = {
    "range": "range(N) stands in loops and lists: for i in range(N) carrying x:",
    "len": "x.shape[0] is the size of the first dimension",
    "print": "programs print nothing; --run --outputs saves the results",
}


def _method(scope: Scope, expr: s.Call, function: s.Attribute) -> Value:
    """x.sum(axis=0) is sum(x, axis=0)."""
    module = function.value
    if isinstance(module, s.Attribute | s.Name) and _root(module) in ("jnp", "np", "jax", "lax", "numpy"):
        if _root(module) not in scope.names:
            raise scope.e.error(
                f"functions have no module in front: write {function.name}(…)", pos=module.pos
            )
    value = scope.value(module)
    if not isinstance(value, Tensor):
        raise scope.e.error(f"{describe(value)} has no function {function.name}", pos=function.pos)
    if function.name not in BUILTINS:
        raise scope.e.error(
            f"unknown function {function.name}", did_you_mean(function.name, tuple(BUILTINS)), function.pos
        )
    return _builtin(scope, function.name, expr, (value,))


def _root(expr: s.Expr) -> str:
    while isinstance(expr, s.Attribute):
        expr = expr.value
    return expr.id if isinstance(expr, s.Name) else ""


def _builtin(scope: Scope, name: str, expr: s.Call, first: tuple[Tensor, ...]) -> Value:
    """Bind the arguments, evaluate each as its parameter wants it, and build."""
    function = BUILTINS[name]
    pos = expr.function.pos
    keywords: dict[str, object] = {}
    for keyword in expr.keywords:
        if keyword.name in keywords:
            raise scope.e.error(f"{name}: {keyword.name} is given twice", pos=keyword.pos)
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


def _argument(scope: Scope, name: str, parameter: Parameter, given: object) -> object:
    """One argument: axes unevaluated, everything else as a value of the parameter's kind."""
    if isinstance(given, Tensor):
        return convert(scope.e, name, parameter, given)
    expr = cast(s.Expr, given)
    if kind_of(parameter) == MESH_AXES:
        return mesh_axes(scope, name, expr)
    value = scope.value(expr)
    with scope.e.at(expr.pos):
        return convert(scope.e, name, parameter, value)


def mesh_axes(scope: Scope, name: str, expr: s.Expr) -> tuple[Axis, ...]:
    """An axis_name argument: axes of the mesh that this per-device code is manual over."""
    if scope.manual is None:
        raise scope.e.error(
            f"{name} is per-device code, and this function is not",
            "put @shard_map above the function; outside, the compiler finds the communication",
            expr.pos,
        )
    mesh, manual = scope.manual
    axes: list[Axis] = []
    for item in expr.items if isinstance(expr, s.Sequence) else (expr,):
        if not isinstance(item, s.Name):
            raise scope.e.error(
                f"{name}: axis_name is a bare axis name or a tuple of them",
                f"without quotes: {item.value}" if isinstance(item, s.String) else None,
                item.pos,
            )
        if item.id not in mesh.sizes:
            known = tuple(mesh.sizes)
            hint = did_you_mean(item.id, known) or f"the axes of {mesh.name} are {', '.join(known)}"
            raise scope.e.error(f"mesh {mesh.name} has no axis {item.id}", hint, item.pos)
        if item.id not in manual:
            raise scope.e.error(
                f"axis {item.id} is not manual in this function",
                f"@shard_map(axes=({', '.join((*manual, item.id))})) makes it so",
                item.pos,
            )
        if any(axis.name == item.id for axis in axes):
            raise scope.e.error(f"axis {item.id} stands twice", pos=item.pos)
        axes.append(mesh.axis(item.id))
    if not axes:
        raise scope.e.error(f"{name} over no axis", pos=expr.pos)
    return tuple(axes)


def _call_function(scope: Scope, name: str, expr: s.Call) -> Value:
    """A call of a function of the program."""
    e, callee = scope.e, scope.program.signature(name)
    e_pos = expr.function.pos
    if callee.manual is not None:
        _check_per_device(scope, name, callee.manual, e_pos)
    if scope.manual is not None:
        check_shardings(scope, scope.manual, name, e_pos)
    scope.program.named.update(callee.axes)
    if len(expr.args) > len(callee.names):
        raise e.error(
            f"{name} takes {counted(len(callee.names), 'argument')}, and is given {len(expr.args)}", pos=e_pos
        )
    given = dict(zip(callee.names, expr.args, strict=False))
    for keyword in expr.keywords:
        if keyword.name not in callee.names:
            hint = did_you_mean(keyword.name, callee.names)
            raise e.error(f"{name} has no parameter {keyword.name}", hint, keyword.pos)
        if keyword.name in given:
            raise e.error(f"{name}: {keyword.name} is given twice", pos=keyword.pos)
        given[keyword.name] = keyword.value
    missing = [parameter for parameter in callee.names if parameter not in given]
    if missing:
        raise e.error(f"{name} is called without {', '.join(missing)}", pos=e_pos)
    operands = [
        as_type(
            scope,
            scope.value(given[parameter]),
            type,
            f"argument {parameter} of {name}",
            given[parameter].pos,
        )
        for parameter, type in zip(callee.names, callee.parameters, strict=True)
    ]
    with e.at(e_pos):
        results = e.ops("func.call", *operands, results=callee.results, weak=False, callee=name)
    return results[0] if len(results) == 1 else tuple(results)


def check_shardings(scope: Scope, manual: DeviceScope, name: str, pos: s.Pos) -> None:
    """An error if the shardings in a callee name axes that this per-device code is manual over already."""
    callee, (mesh, axes) = scope.program.signature(name), manual
    free = [axis for axis in mesh.sizes if axis not in axes]
    taken = [axis for axis in axes if axis in callee.axes]
    if not taken and (free or not callee.annotated):
        return
    if callee.mapped:
        own = f"@per_device above {name} makes it a function of blocks, its types those of blocks"
        leaves = f"@shard_map(axes=({', '.join(free)}{',' * (len(free) == 1)})) above {name} leaves "
        raise scope.e.error(
            f"{name} is written per device of {', '.join(taken or axes)}, and so is this place already",
            f"{leaves}{', '.join(taken)} to its callers" if free else own,
            pos,
        )
    raise scope.e.error(
        f"{name} is called from per-device code, and its types carry shardings"
        if callee.annotated
        else f"{name} is called from per-device code, and shardings in it are over {', '.join(taken)}",
        "a function for both kinds of code has plain types",
        pos,
    )


def _check_per_device(scope: Scope, name: str, callee: DeviceScope, pos: s.Pos) -> None:
    """An error unless this place is per-device code over all axes that the callee may use."""
    if scope.manual is None:
        raise scope.e.error(
            f"{name} is per-device code, and this function is not", "call it in a @shard_map function", pos
        )
    mesh, axes = scope.manual
    missing = [axis for axis in callee[1] if mesh != callee[0] or axis not in axes]
    if missing:
        raise scope.e.error(
            f"{name} is per-device code over {', '.join(callee[1])}, and this place over {', '.join(axes)}",
            f"@per_device(axes=…) above {name} names fewer axes" if mesh == callee[0] else None,
            pos,
        )


def as_type(
    scope: Scope, value: Value, type: TensorType, what: str, pos: s.Pos, why: Misfit | None = None
) -> Tensor:
    """A value as a tensor of exactly this type: numbers and weak dtypes adapt, nothing else does.

    `why` says of a type of another shape why it should be this one, and what would help.
    """
    e = scope.e
    with e.at(pos):
        if isinstance(value, bool | int | float):
            if type.shape == () and (type.dtype[0] not in "iub" or not isinstance(value, float)):
                return e.splat(value, type)
            raise e.error(f"{what} is the number {value}, and should be {type}")
        if not isinstance(value, Tensor):
            raise e.error(f"{what} is {describe(value)}, and should be {type}")
        if value.shape == type.shape and (value.dtype == type.dtype or _adapts(value, type.dtype)):
            return e.cast(value, type.dtype)
        reason, hint = "", f"astype(x, {type.dtype}) converts"
        if value.shape != type.shape:
            reason, hint = why(value.type) if why else ("", None)
        raise e.error(f"{what} is {value.type}, and should be {type}{reason}", hint)


def _adapts(value: Tensor, dtype: str) -> bool:
    """Whether a weak dtype may become this one: i32 any number, f32 any float."""
    if not value.weak:
        return False
    return dtype in ("f64", "f32", "bf16", "f16") or (value.dtype == "i32" and dtype != "bool")


def did_you_mean(word: str, known: tuple[str, ...]) -> str | None:
    """A hint, if a known word is close."""
    matches = get_close_matches(word, known, 1)
    return f"did you mean {matches[0]}?" if matches else None
