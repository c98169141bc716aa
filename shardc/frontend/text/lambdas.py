"""Small functions as values: lambda x: x + 1."""

from __future__ import annotations

from shardc.frontend.text import syntax as s
from shardc.frontend.text.reads import names_in
from shardc.frontend.text.scope import Scope
from shardc.frontend.text.values import LAMBDA, FunctionName, Value, plural


def function_value(scope: Scope, expr: s.Lambda) -> FunctionName:
    """The function that a lambda is; its body is built where it is called."""
    parameters = [parameter.name for parameter in expr.parameters]
    for i, parameter in enumerate(expr.parameters):
        scope.program.check_free(parameter.name, parameter.pos)
        if parameter.name in parameters[:i]:
            raise scope.e.error(f"two parameters {parameter.name}", pos=parameter.pos)

    used = [name for name in dict.fromkeys(names_in(expr.body)) if name not in parameters]
    used = [name for name in used if name in scope.names]

    def over(captured: tuple[Value, ...]) -> FunctionName:
        def apply(*args: Value) -> Value:
            if len(args) != len(parameters):
                takes = plural(len(parameters), "argument")
                raise scope.e.error(f"{LAMBDA} takes {takes}, and is given {len(args)}")
            inner = scope.inner()
            for name, value in zip((*used, *parameters), (*captured, *args), strict=True):
                inner.bind(name, value)
            return inner.value(expr.body)

        return FunctionName(LAMBDA, None, apply, captured, over)

    return over(tuple(scope.names[name] for name in used))
