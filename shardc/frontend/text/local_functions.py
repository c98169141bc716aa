"""Functions inside functions: values that may use all names around them, as a lambda does."""

from __future__ import annotations

from shardc.frontend.text import syntax as s
from shardc.frontend.text.generic import Bound
from shardc.frontend.text.matching import filled
from shardc.frontend.text.reads import free_names
from shardc.frontend.text.scope import Scope
from shardc.frontend.text.syntax import Pos
from shardc.frontend.text.values import FunctionName, Value


def define(scope: Scope, function: s.Function) -> None:
    """Give the function's name its value; the body is built where it is called."""
    above = (*([function.decorator] if function.decorator else ()), *function.rules)
    if above:
        hint = "functions inside others are built where they are called; put it beside this one"
        raise scope.e.error(f"@{above[0].name} above a function inside another one", hint, above[0].pos)
    scope.program.built.bodies.check_names(function)
    scope.assign(function.name, _value(scope, function), function.pos)


def _value(scope: Scope, function: s.Function) -> FunctionName:
    e, program, home = scope.e, scope.program, scope.inner()
    sizes, rests = dict(program.types.bound), dict(program.types.rests)
    used = [name for name in dict.fromkeys(free_names(function)) if name in scope.names]

    def itself(*args: Value, **named: Value) -> Value:
        raise e.error(f"functions cannot be recursive: {function.name} -> {function.name}")

    def over(captured: tuple[Value, ...]) -> FunctionName:
        def apply(*args: Value, **named: Value) -> Value:
            inner = home.inner()
            for name, value in zip(used, captured, strict=True):
                inner.bind(name, value)
            values = filled(e, function, args, named, inner.value)
            inner.bind(function.name, FunctionName(function.name, None, itself, named=True))
            pos = Pos(e.loc.line, e.loc.col, e.loc.file)
            outer = Bound(dict(sizes), dict(rests))
            return program.built.inlined(inner, function, values, [pos] * len(values), pos, outer)

        return FunctionName(function.name, None, apply, captured, over, named=True)

    return over(tuple(scope.names[name] for name in used))
