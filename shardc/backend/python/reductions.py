"""Reductions that have a name: sum, max, min, prod, all, any, mean."""

from __future__ import annotations

from typing import cast

from msgspec.structs import replace

from shardc.backend.python import group, idiom
from shardc.backend.python.expressions import Expr, binary, call, method
from shardc.backend.python.literals import scalar
from shardc.backend.python.printers import ARRAYS
from shardc.backend.python.scope import Scope
from shardc.backend.python.shapes import axes, ints
from shardc.backend.python.terms import Term, short
from shardc.graph import Node, identity, is_integer, is_narrow
from shardc.ops import combiner

_FUNCTIONS = {"sum": "sum", "max": "max", "min": "min", "prod": "prod", "and": "all", "or": "any"}
_SYMBOLS = {"sum": "+", "prod": "*", "and": "&", "or": "|"}


def is_named(scope: Scope, node: Node) -> bool:
    """Whether the reduction is of one array, by a combination that has a function."""
    return len(node.results) == 1 and combiner(node.regions[0], scope.graph) in _FUNCTIONS


def reduction(scope: Scope, node: Node, keepdims: bool = False) -> Term:
    """jnp.sum(x, axis=1), combined with the start value unless that is neutral.

    NumPy and JAX would sum small integers in wider ones, NumPy narrow floats in themselves.
    """
    kind = cast(str, combiner(node.regions[0], scope.graph))
    value, start = node.operands
    type, dims = scope.type(value), ints(node, "dimensions")
    xp = scope.target.xp
    adds = kind in ("sum", "prod")
    narrow = adds and xp == "np" and is_narrow(type.dtype)
    widens = adds and is_integer(type.dtype) and not keeps(scope, type.dtype)
    empty = kind in ("max", "min") and any(type.shape[d] == 0 for d in dims)
    operand, initial = scope.expr(value), scope.expr(start) if empty else None

    def written(keepdims: bool) -> Expr:
        expr = call(
            f"{xp}.{_FUNCTIONS[kind]}",
            operand,
            axis=None if len(dims) == type.rank and not keepdims else axes(dims),
            dtype=scope.target.dtype("f32" if narrow else type.dtype) if widens or narrow else None,
            keepdims="True" if keepdims else None,
            initial=initial,
        )
        return method(expr, "astype", scope.target.dtype(type.dtype)) if narrow else expr

    expr = written(keepdims)
    if keepdims and dims:
        expr = replace(expr, thinner=(written(False), dims))
    if not empty and not is_neutral(scope, kind, start):
        expr = _combined(xp, kind, expr, scope.term(start).expr)
    shape = (1 if d in dims else n for d, n in enumerate(type.shape) if keepdims or d not in dims)
    return Term(expr, tuple(shape))


def keeps(scope: Scope, dtype: str) -> bool:
    """Whether a sum of integers has their dtype by itself: in JAX those of the default one."""
    return scope.target.xp == "jnp" and dtype == scope.emission.default_integer


def is_neutral(scope: Scope, kind: str, start: int) -> bool:
    """Whether the start value is a literal that changes nothing."""
    term, dtype = scope.term(start), scope.type(start).dtype
    if kind in ("and", "or"):
        return term.literal == str(kind == "and")
    return term.literal == scalar(identity(kind, dtype), dtype, scope.target).text


def _combined(xp: str, kind: str, expr: Expr, start: Expr) -> Expr:
    if kind in _SYMBOLS:
        return binary(_SYMBOLS[kind], start, expr)
    return call(f"{xp}.{kind}imum", start, expr)


@ARRAYS.prints(idiom.keepdims)
def keepdims(scope: Scope, node: Node) -> Term:
    """The reduced dimensions stay, of size 1."""
    return reduction(scope, node, keepdims=True)


@ARRAYS.prints(group.mean)
def statistic(scope: Scope, node: Node) -> Expr:
    """jnp.mean(x, axis=1, keepdims=True), and others of its form by the node's name"""
    return along(scope, node, short(node))


def along(scope: Scope, node: Node, function: str) -> Expr:
    """A function of the array module along the dimensions of a node."""
    dims, value = ints(node, "dimensions"), node.operands[0]
    keepdims = cast(bool, node.attrs["keepdims"])
    whole = len(dims) == scope.type(value).rank and not keepdims
    axis = None if whole else axes(dims)
    return call(
        f"{scope.target.xp}.{function}",
        scope.expr(value),
        axis=axis,
        keepdims="True" if keepdims else None,
    )
