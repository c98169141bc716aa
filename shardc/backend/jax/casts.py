"""lax.pcast: what JAX wants where values of different varying types meet."""

from __future__ import annotations

from shardc.backend.python.expressions import Expr, call, raw, tuple_of
from shardc.backend.python.names import quoted
from shardc.backend.python.scope import Scope


def cast_to(scope: Scope, expr: Expr, axes: frozenset[str], value: int) -> Expr:
    """The expression, made to vary over `axes` where the value itself does not."""
    return cast_over(scope, expr, axes - scope.emission.varying.get(value, frozenset()))


def axes_missing(scope: Scope, value: int, like: int) -> frozenset[str]:
    """The axes over which another value varies, and this one does not."""
    varying = scope.emission.varying
    return varying.get(like, frozenset[str]()) - varying.get(value, frozenset[str]())


def cast_over(scope: Scope, expr: Expr, axes: frozenset[str]) -> Expr:
    """An expression that JAX takes for the same over `axes`, made to vary over them."""
    if not axes or scope.emission.mesh is None:
        return expr
    names = [raw(quoted(axis)) for axis, _ in scope.emission.mesh.axes if axis in axes]
    return call("lax.pcast", expr, names[0] if len(names) == 1 else tuple_of(names), to='"varying"')
