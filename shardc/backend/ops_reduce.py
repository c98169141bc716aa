"""Reductions that have a name: sum, max, min, prod, all, any."""

from __future__ import annotations

from typing import cast

from shardc.backend.body import Body
from shardc.backend.expressions import Expr, binary, call, method
from shardc.backend.literals import scalar
from shardc.backend.ops_shape import axes, ints
from shardc.backend.terms import Term
from shardc.graph import Node, combiner, identity, is_integer

_FUNCTIONS = {"sum": "sum", "max": "max", "min": "min", "prod": "prod", "and": "all", "or": "any"}
_SYMBOLS = {"sum": "+", "prod": "*", "and": "&", "or": "|"}


def is_named(body: Body, node: Node) -> bool:
    """Whether the reduction is of one array, by a combination that has a function."""
    return len(node.results) == 1 and combiner(node.regions[0], body.graph) in _FUNCTIONS


def reduction(body: Body, node: Node, keepdims: bool = False) -> Term:
    """jnp.sum(x, axis=1), combined with the start value unless that is neutral.

    NumPy and JAX would sum small integers in wider ones, NumPy 16-bit floats in themselves.
    """
    kind = cast(str, combiner(node.regions[0], body.graph))
    value, start = node.operands
    type, dims = body.type(value), ints(node, "dimensions")
    xp = body.target.xp
    adds = kind in ("sum", "prod")
    narrow = adds and xp == "np" and type.dtype in ("bf16", "f16")
    widens = adds and is_integer(type.dtype)
    empty = kind in ("max", "min") and any(type.shape[d] == 0 for d in dims)
    expr = call(
        f"{xp}.{_FUNCTIONS[kind]}",
        body.expr(value),
        axis=None if len(dims) == type.rank and not keepdims else axes(dims),
        dtype=body.target.dtype("f32" if narrow else type.dtype) if widens or narrow else None,
        keepdims="True" if keepdims else None,
        initial=body.expr(start) if empty else None,
    )
    if narrow:
        expr = method(expr, "astype", body.target.dtype(type.dtype))
    if not empty and not _is_neutral(body, kind, start):
        expr = _combined(xp, kind, expr, body.term(start).expr)
    shape = (1 if d in dims else n for d, n in enumerate(type.shape) if keepdims or d not in dims)
    return Term(expr, tuple(shape))


def _is_neutral(body: Body, kind: str, start: int) -> bool:
    """Whether the start value is a literal that changes nothing."""
    term, dtype = body.term(start), body.type(start).dtype
    if kind in ("and", "or"):
        return term.literal == str(kind == "and")
    return term.literal == scalar(identity(kind, dtype), dtype, body.target).text


def _combined(xp: str, kind: str, expr: Expr, start: Expr) -> Expr:
    if kind in _SYMBOLS:
        return binary(_SYMBOLS[kind], start, expr)
    return call(f"{xp}.{kind}imum", start, expr)


def keepdims(body: Body, node: Node) -> Term:
    """idiom.keepdims: the reduced dimensions stay, of size 1."""
    return reduction(body, node, keepdims=True)
