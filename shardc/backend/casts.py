"""lax.pcast: what JAX wants where values of different varying types meet."""

from __future__ import annotations

from shardc.backend.body import Body
from shardc.backend.expressions import Expr, call, raw, tuple_of
from shardc.backend.names import quoted


def cast_to(body: Body, expr: Expr, axes: frozenset[str], value: int) -> Expr:
    """The expression, made to vary over `axes` where the value itself does not."""
    missing = axes - body.context.varying.get(value, frozenset())
    if not missing or body.context.mesh is None:
        return expr
    names = [raw(quoted(axis)) for axis, _ in body.context.mesh.axes if axis in missing]
    return call("lax.pcast", expr, names[0] if len(names) == 1 else tuple_of(names), to='"varying"')
