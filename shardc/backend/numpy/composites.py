"""Composites that have a short expression in NumPy."""

from __future__ import annotations

from shardc.backend.numpy.target import NUMPY
from shardc.backend.python import group
from shardc.backend.python.expressions import Expr, binary, call
from shardc.backend.python.literals import element
from shardc.backend.python.scope import Scope
from shardc.backend.python.terms import Term
from shardc.graph import Node


@NUMPY.prints(group.relu)
def _relu(scope: Scope, node: Node) -> Term:
    """np.maximum(x, 0)"""
    term = scope.term(node.operands[0])
    type = scope.type(node.operands[0])
    value = scope.expr(node.operands[0]) if term.weak else term.expr
    zero = element(type.numpy.type(0), type.dtype, scope.target)
    return Term(call("np.maximum", value, zero), type.shape if term.weak else term.shape)


@NUMPY.prints(group.silu)
def _silu(scope: Scope, node: Node) -> Expr:
    value = scope.variable(node.operands[0])
    return binary("*", value, call("ops.logistic", value))
