"""Windowed reductions that are cumulative sums and the like, in both targets."""

from __future__ import annotations

from typing import cast

from shardc.backend.python.expressions import Expr, call
from shardc.backend.python.literals import scalar
from shardc.backend.python.reductions import keeps
from shardc.backend.python.scope import Scope
from shardc.graph import Node, identity, is_float
from shardc.ops import combiner, op_of
from shardc.ops.rule_builder import pairs
from shardc.ops.windows.geometry import cumulative_dims

_JAX = {"sum": "jnp.cumsum", "prod": "jnp.cumprod", "max": "lax.cummax", "min": "lax.cummin"}
_BACKWARD = {"sum": "lax.cumsum", "prod": "lax.cumprod", "max": "lax.cummax", "min": "lax.cummin"}
_NUMPY = {
    "sum": "np.cumsum",
    "prod": "np.cumprod",
    "max": "np.maximum.accumulate",
    "min": "np.minimum.accumulate",
}


def running(scope: Scope, node: Node) -> tuple[int, bool] | None:
    """The dimension along which a reduce_window accumulates, and whether from the last element on; None if it
    doesn't.
    """
    kind = combiner(node.regions[0], scope.graph)
    if len(node.results) != 1 or kind not in _JAX or not _starts_neutral(scope, node, kind):
        return None
    op = op_of(scope.graph, node)
    dims, padding = cumulative_dims(op), pairs(op, "padding", op.operands[0].rank)
    return (dims[0], padding[dims[0]][1] > 0) if len(dims) == 1 else None


def backward(scope: Scope, node: Node, dim: int) -> Expr:
    """lax.cumsum(x, axis=1, reverse=True)"""
    kind = cast(str, combiner(node.regions[0], scope.graph))
    return call(_BACKWARD[kind], scope.expr(node.operands[0]), axis=str(dim), reverse="True")


def _starts_neutral(scope: Scope, node: Node, kind: str) -> bool:
    term, dtype = scope.term(node.operands[1]), scope.type(node.operands[0]).dtype
    return term.literal == scalar(identity(kind, dtype), dtype, scope.target).text


def cumulative(scope: Scope, node: Node, dim: int) -> Expr:
    """jnp.cumsum(x, axis=1); both libraries would widen small integers."""
    kind = cast(str, combiner(node.regions[0], scope.graph))
    dtype = scope.target.dtype(scope.type(node.operands[0]).dtype) if kind in ("sum", "prod") else None
    if scope.target.xp == "jnp":
        of = scope.type(node.operands[0]).dtype
        said = None if is_float(of) or keeps(scope, of) else dtype
        return call(_JAX[kind], scope.expr(node.operands[0]), axis=str(dim), dtype=said)
    return call(_NUMPY[kind], scope.expr(node.operands[0]), axis=str(dim), dtype=dtype)
