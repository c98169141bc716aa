"""Operations that move or repeat elements in the .shard language, and constants.

Each printer writes what the reader makes the same operation of again; where it could not, as for another
dtype or an attribute that the language does not state, it leaves the node to `op("…")`.
"""

from __future__ import annotations

from typing import cast

from shardc.backend.python.expressions import Expr, attribute, call, index, keyword, raw, tuple_of
from shardc.backend.python.printers import Printed
from shardc.backend.python.scope import Scope
from shardc.backend.python.shapes import ints, is_plain_pad, sliced
from shardc.backend.python.terms import Term
from shardc.backend.shard.raw import operation
from shardc.backend.shard.target import SHARD
from shardc.backend.shard.text import array, axis, number, sizes
from shardc.graph import Dense, Node
from shardc.ops import hlo


@SHARD.prints(hlo.constant)
def constant(scope: Scope, node: Node) -> Term:
    value, type = cast(Dense, node.attrs["value"]), scope.type(node.results[0])
    if not value.is_splat and value.data.size != 1:
        return Term(array(value, type.dtype), type.shape)
    literal = number(value.data.reshape(-1)[0], type.dtype)
    return Term(literal, (), weak=True, literal=literal.text)


@SHARD.prints(hlo.reshape)
def reshape(scope: Scope, node: Node) -> Expr:
    """x[:, None] and x[0] where only ones come and go."""
    (value,) = node.operands
    before, after = scope.type(value).shape, scope.type(node.results[0]).shape
    wide, thin = (after, before) if len(after) > len(before) else (before, after)
    if len(wide) > len(thin) and tuple(n for n in wide if n != 1) == thin:
        trimmed = wide[: len(wide) - wide[::-1].index(1)]
        return index(
            scope.expr(value), [":" if n != 1 else "None" if wide is after else "0" for n in trimmed]
        )
    return call("reshape", scope.expr(value), sizes(after))


@SHARD.prints(hlo.broadcast_in_dim)
def broadcast_in_dim(scope: Scope, node: Node) -> Printed:
    """The operand with the dimensions of size 1 that broadcasting needs to see."""
    (value,), shape = node.operands, scope.type(node.results[0]).shape
    term, places = scope.term(value), ints(node, "broadcast_dimensions")
    if term.weak:
        return term
    if list(places) != sorted(places):
        return operation(scope, node)
    thin = dict(zip(places, scope.type(value).shape, strict=True))
    expr, dims = scope.expr(value), range(min(places, default=len(shape)), len(shape))
    if len(dims) > len(places):
        expr = index(expr, [":" if dim in thin else "None" for dim in dims])
    return Term(expr, tuple(thin.get(dim, 1) for dim in dims), free=term.free)


@SHARD.prints(hlo.transpose)
def transpose(scope: Scope, node: Node) -> Expr:
    order, value = ints(node, "permutation"), scope.expr(node.operands[0])
    return attribute(value, "T") if order == (1, 0) else call("transpose", value, sizes(order))


@SHARD.prints(hlo.slice_)
def slice_(scope: Scope, node: Node) -> Printed:
    """x[2:6, ::2]"""
    return operation(scope, node) if scope.type(node.results[0]).size == 0 else sliced(scope, node)


@SHARD.prints(hlo.concatenate)
def concatenate(scope: Scope, node: Node) -> Printed:
    if len(node.operands) == 1:
        return operation(scope, node)
    parts = tuple_of([scope.expr(value) for value in node.operands])
    return call("concatenate", parts, axis=str(node.attrs["dimension"]))


@SHARD.prints(hlo.reverse)
def reverse(scope: Scope, node: Node) -> Printed:
    dims = ints(node, "dimensions")
    if not dims or list(dims) != sorted(dims):
        return operation(scope, node)
    return call("flip", scope.expr(node.operands[0]), axis=axis(dims))


@SHARD.prints(hlo.iota)
def iota(scope: Scope, node: Node) -> Expr:
    type = scope.type(node.results[0])
    if type.rank == 1 and type.size:
        dtype = keyword("dtype", type.dtype)
        return call("arange", raw(str(type.size)), *([dtype] if type.dtype != "i32" else []))
    return call("iota", type.dtype, sizes(type.shape), str(node.attrs["iota_dimension"]))


@SHARD.prints(hlo.pad)
def pad(scope: Scope, node: Node) -> Printed:
    fill = scope.term(node.operands[1])
    if not fill.weak or not is_plain_pad(node) or not scope.type(node.operands[0]).rank:
        return operation(scope, node)
    pairs = zip(ints(node, "edge_padding_low"), ints(node, "edge_padding_high"), strict=True)
    widths = tuple_of([sizes(pair) for pair in pairs])
    value = None if fill.literal in ("0", "0.0", "False") else fill.expr
    return call("pad", scope.expr(node.operands[0]), widths, constant_values=value)
