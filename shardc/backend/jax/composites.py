"""Composites by JAX's names for them: jax.nn.softmax(x, axis=-1)."""

from __future__ import annotations

from shardc.backend.jax.target import JAX
from shardc.backend.python import group
from shardc.backend.python.expressions import Expr, call, raw
from shardc.backend.python.printers import Printer
from shardc.backend.python.scope import Scope
from shardc.backend.python.shapes import axes, ints
from shardc.backend.python.terms import Term
from shardc.graph import Node


def _unary(function: str) -> Printer:
    def printer(scope: Scope, node: Node) -> Term:
        term = scope.term(node.operands[0])
        value = scope.expr(node.operands[0]) if term.weak else term.expr
        return Term(call(function, value), scope.type(node.operands[0]).shape if term.weak else term.shape)

    return printer


@JAX.prints(group.gelu)
def _gelu(scope: Scope, node: Node) -> Expr:
    exact = "False" if node.attrs["variant"] == 1 else None
    return call("jax.nn.gelu", scope.expr(node.operands[0]), approximate=exact)


def _along(function: str) -> Printer:
    def printer(scope: Scope, node: Node) -> Expr:
        rank, dims = scope.type(node.operands[0]).rank, ints(node, "dimensions")
        axis = None if dims == (rank - 1,) else axes(dims)
        return call(function, scope.expr(node.operands[0]), axis=axis or raw("-1"))

    return printer


JAX.prints(group.relu)(_unary("jax.nn.relu"))
JAX.prints(group.silu)(_unary("jax.nn.silu"))
JAX.prints(group.softplus)(_unary("jax.nn.softplus"))
JAX.prints(group.softmax)(_along("jax.nn.softmax"))
JAX.prints(group.log_softmax)(_along("jax.nn.log_softmax"))
