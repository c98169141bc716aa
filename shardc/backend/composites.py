"""Composites by their own names: jax.nn.softmax(x, axis=-1). In NumPy, those with a short expression."""

from __future__ import annotations

from typing import cast

from shardc.backend.body import Body
from shardc.backend.context import Printer
from shardc.backend.expressions import Expr, binary, call, raw
from shardc.backend.literals import element
from shardc.backend.ops_shape import axes, ints
from shardc.backend.terms import Term
from shardc.graph import Node


def _unary(function: str) -> Printer:
    def printer(body: Body, node: Node) -> Term:
        term = body.term(node.operands[0])
        value = body.expr(node.operands[0]) if term.weak else term.expr
        return Term(call(function, value), body.type(node.operands[0]).shape if term.weak else term.shape)

    return printer


def _gelu(body: Body, node: Node) -> Expr:
    exact = "False" if node.attrs["variant"] == 1 else None
    return call("jax.nn.gelu", body.expr(node.operands[0]), approximate=exact)


def _along(function: str) -> Printer:
    def printer(body: Body, node: Node) -> Expr:
        rank, dims = body.type(node.operands[0]).rank, ints(node, "dimensions")
        axis = None if dims == (rank - 1,) and function.startswith("jax.nn") else axes(dims)
        return call(function, body.expr(node.operands[0]), axis=axis or raw("-1"))

    return printer


def _mean(xp: str) -> Printer:
    def printer(body: Body, node: Node) -> Expr:
        dims, value = ints(node, "dimensions"), node.operands[0]
        keepdims = cast(bool, node.attrs["keepdims"])
        whole = len(dims) == body.type(value).rank and not keepdims
        axis = None if whole else axes(dims)
        return call(f"{xp}.mean", body.expr(value), axis=axis, keepdims="True" if keepdims else None)

    return printer


def _relu(body: Body, node: Node) -> Term:
    """np.maximum(x, 0)"""
    term = body.term(node.operands[0])
    type = body.type(node.operands[0])
    value = body.expr(node.operands[0]) if term.weak else term.expr
    zero = element(type.numpy.type(0), type.dtype, body.target)
    return Term(call("np.maximum", value, zero), type.shape if term.weak else term.shape)


def _silu(body: Body, node: Node) -> Expr:
    value = body.variable(node.operands[0])
    return binary("*", value, call("ops.logistic", value))


JAX: dict[str, Printer] = {
    "group.relu": _unary("jax.nn.relu"),
    "group.silu": _unary("jax.nn.silu"),
    "group.gelu": _gelu,
    "group.softplus": _unary("jax.nn.softplus"),
    "group.softmax": _along("jax.nn.softmax"),
    "group.log_softmax": _along("jax.nn.log_softmax"),
    "group.mean": _mean("jnp"),
}

NUMPY: dict[str, Printer] = {
    "group.relu": _relu,
    "group.silu": _silu,
    "group.mean": _mean("np"),
}
