"""jax.ShapeDtypeStruct of a value."""

from __future__ import annotations

from shardc.backend.python.expressions import Expr, call, integers
from shardc.backend.python.scope import Scope


def struct(scope: Scope, value: int) -> Expr:
    """It cannot say in all versions of JAX what varies; a cast around the call does."""
    type = scope.type(value)
    return call("jax.ShapeDtypeStruct", integers(type.shape), scope.target.dtype(type.dtype))
