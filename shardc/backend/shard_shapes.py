"""Operations that move or repeat elements in the .shard language, and constants.

Each printer writes what the reader makes the same operation of again; where it could not, as for another
dtype or an attribute that the language does not state, it leaves the node to `op("…")`.
"""

from __future__ import annotations

from typing import cast

from shardc.backend.body import Body
from shardc.backend.context import Printed, Printer
from shardc.backend.expressions import Expr, attribute, call, index, keyword, raw, tuple_of
from shardc.backend.ops_shape import ints, is_plain_pad
from shardc.backend.shard_raw import operation
from shardc.backend.shard_text import array, axis, check_dtype, number, sizes
from shardc.backend.terms import Term
from shardc.graph import Dense, Node


def constant(body: Body, node: Node) -> Term:
    value, type = cast(Dense, node.attrs["value"]), body.type(node.results[0])
    check_dtype(type.dtype, node.loc)
    if not value.is_splat and value.data.size != 1:
        return Term(array(value, type.dtype), type.shape)
    literal = number(value.data.reshape(-1)[0], type.dtype)
    return Term(literal, (), weak=True, literal=literal.text)


def reshape(body: Body, node: Node) -> Expr:
    """x[:, None] and x[0] where only ones come and go."""
    (value,) = node.operands
    before, after = body.type(value).shape, body.type(node.results[0]).shape
    wide, thin = (after, before) if len(after) > len(before) else (before, after)
    if len(wide) > len(thin) and tuple(n for n in wide if n != 1) == thin:
        trimmed = wide[: len(wide) - wide[::-1].index(1)]
        return index(body.expr(value), [":" if n != 1 else "None" if wide is after else "0" for n in trimmed])
    return call("reshape", body.expr(value), sizes(after))


def broadcast_in_dim(body: Body, node: Node) -> Printed:
    """The operand with the dimensions of size 1 that broadcasting needs to see."""
    (value,), shape = node.operands, body.type(node.results[0]).shape
    term, places = body.term(value), ints(node, "broadcast_dimensions")
    if term.weak:
        return term
    if list(places) != sorted(places):
        return operation(body, node)
    thin = dict(zip(places, body.type(value).shape, strict=True))
    expr, dims = body.expr(value), range(min(places, default=len(shape)), len(shape))
    if len(dims) > len(places):
        expr = index(expr, [":" if dim in thin else "None" for dim in dims])
    return Term(expr, tuple(thin.get(dim, 1) for dim in dims), free=term.free)


def transpose(body: Body, node: Node) -> Expr:
    order, value = ints(node, "permutation"), body.expr(node.operands[0])
    return attribute(value, "T") if order == (1, 0) else call("transpose", value, sizes(order))


def slice_(body: Body, node: Node) -> Printed:
    """x[2:6, ::2]"""
    shape, result = body.type(node.operands[0]).shape, body.type(node.results[0])
    if result.size == 0:
        return operation(body, node)
    keys = ("start_indices", "limit_indices", "strides")
    bounds = zip(*(ints(node, key) for key in keys), shape, strict=True)
    items = [_range(*bound) for bound in bounds]
    while len(items) > 1 and items[-1] == ":":
        items.pop()
    return index(body.expr(node.operands[0]), items)


def _range(start: int, limit: int, stride: int, size: int) -> str:
    text = f"{start or ''}:{limit if limit != size else ''}"
    return text if stride == 1 else f"{text}:{stride}"


def concatenate(body: Body, node: Node) -> Printed:
    if len(node.operands) == 1:
        return operation(body, node)
    parts = tuple_of([body.expr(value) for value in node.operands])
    return call("concatenate", parts, axis=str(node.attrs["dimension"]))


def reverse(body: Body, node: Node) -> Printed:
    dims = ints(node, "dimensions")
    if not dims or list(dims) != sorted(dims):
        return operation(body, node)
    return call("flip", body.expr(node.operands[0]), axis=axis(dims))


def iota(body: Body, node: Node) -> Expr:
    type = body.type(node.results[0])
    check_dtype(type.dtype, node.loc)
    if type.rank == 1 and type.size:
        dtype = keyword("dtype", type.dtype)
        return call("arange", raw(str(type.size)), *([dtype] if type.dtype != "i32" else []))
    return call("iota", type.dtype, sizes(type.shape), str(node.attrs["iota_dimension"]))


def pad(body: Body, node: Node) -> Printed:
    fill = body.term(node.operands[1])
    if not fill.weak or not is_plain_pad(node) or not body.type(node.operands[0]).rank:
        return operation(body, node)
    pairs = zip(ints(node, "edge_padding_low"), ints(node, "edge_padding_high"), strict=True)
    widths = tuple_of([sizes(pair) for pair in pairs])
    value = None if fill.literal in ("0", "0.0", "False") else fill.expr
    return call("pad", body.expr(node.operands[0]), widths, constant_values=value)


TABLE: dict[str, Printer] = {
    "stablehlo.constant": constant,
    "stablehlo.reshape": reshape,
    "stablehlo.broadcast_in_dim": broadcast_in_dim,
    "stablehlo.transpose": transpose,
    "stablehlo.slice": slice_,
    "stablehlo.concatenate": concatenate,
    "stablehlo.reverse": reverse,
    "stablehlo.iota": iota,
    "stablehlo.pad": pad,
}
