"""lax.pcast: what JAX wants where values of different varying types meet."""

from __future__ import annotations

from shardc.backend.python.expressions import Expr, call, raw, tuple_of
from shardc.backend.python.names import quoted
from shardc.backend.python.scope import Scope


def cast_to(scope: Scope, expr: Expr, axes: frozenset[str], value: int) -> Expr:
    """The expression, made to vary over `axes` where the value itself does not."""
    missing = axes - scope.emission.varying.get(value, frozenset())
    if not missing or scope.emission.mesh is None:
        return expr
    names = [raw(quoted(axis)) for axis, _ in scope.emission.mesh.axes if axis in missing]
    return call("lax.pcast", expr, names[0] if len(names) == 1 else tuple_of(names), to='"varying"')
