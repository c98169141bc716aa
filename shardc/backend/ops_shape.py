"""Operations that move or repeat elements: reshapes, broadcasts, slices, concatenation, constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from shardc.backend.body import Body
from shardc.backend.context import Printer
from shardc.backend.expressions import Expr, attribute, call, index, integers, list_of, method, raw, tuple_of
from shardc.backend.literals import array, is_weak, scalar, typed
from shardc.backend.terms import Term
from shardc.graph import Dense, Node


def ints(node: Node, key: str) -> tuple[int, ...]:
    """An attribute that is a list of integers."""
    return cast("tuple[int, ...]", node.attrs[key])


def constant(body: Body, node: Node) -> Term:
    value, type = cast(Dense, node.attrs["value"]), body.type(node.results[0])
    if not value.is_splat and value.data.size != 1:
        return Term(array(value, type.dtype, body.target), type.shape)
    element = value.data.reshape(-1)[0]
    literal = scalar(element, type.dtype, body.target)
    if not is_weak(element, type.dtype, body.target):
        return Term(typed(literal, type.dtype, body.target), (), free=True, literal=literal.text)
    return Term(literal, (), weak=True, literal=literal.text)


def reshape(body: Body, node: Node) -> Expr:
    value, shape = node.operands[0], body.type(node.results[0]).shape
    before = body.type(value).shape
    if _without_ones(before) == shape and len(before) > len(shape):
        return index(body.expr(value), ["0" if size == 1 else ":" for size in _trimmed(before)])
    if _without_ones(shape) == before and len(shape) > len(before):
        return index(body.expr(value), ["None" if size == 1 else ":" for size in _trimmed(shape)])
    return (
        method(body.expr(value), "reshape", *map(str, shape))
        if shape
        else (method(body.expr(value), "reshape", raw("()")))
    )


def _without_ones(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(size for size in shape if size != 1)


def _trimmed(shape: Sequence[int]) -> Sequence[int]:
    """Without what follows the last 1: x[None] rather than x[None, :, :]."""
    return shape[: len(shape) - list(reversed(shape)).index(1)]


def broadcast_in_dim(body: Body, node: Node) -> Term:
    """The operand with new dimensions of size 1 where broadcasting needs to see them."""
    value, shape = node.operands[0], body.type(node.results[0]).shape
    term, places = body.term(value), ints(node, "broadcast_dimensions")
    if list(places) != sorted(places):
        order = sorted(range(len(places)), key=places.__getitem__)
        expr = method(body.expr(value), "transpose", *(str(d) for d in order))
        term = Term(expr, tuple(body.type(value).shape[d] for d in order))
        places = tuple(sorted(places))
    places = places[len(places) - len(term.shape) :]
    if not places:
        return replace(term, own_line=False, comment=None)
    thin = dict(zip(places, term.shape, strict=True))
    seen = range(places[0], len(shape))
    new = tuple(thin.get(dim, 1) for dim in seen)
    if len(seen) == len(places):
        return Term(term.expr, new, free=term.free)
    expr = index(term.expr, [":" if dim in thin else "None" for dim in seen])
    return Term(expr, new, free=term.free)


def transpose(body: Body, node: Node) -> Expr:
    order = ints(node, "permutation")
    value = body.expr(node.operands[0])
    return attribute(value, "T") if order == (1, 0) else method(value, "transpose", *map(str, order))


def slice_(body: Body, node: Node) -> Expr:
    shape = body.type(node.operands[0]).shape
    bounds = zip(
        ints(node, "start_indices"), ints(node, "limit_indices"), ints(node, "strides"), shape, strict=True
    )
    items = [_range(*bound) for bound in bounds]
    while len(items) > 1 and items[-1] == ":":
        items.pop()
    return index(body.expr(node.operands[0]), items)


def _range(start: int, limit: int, stride: int, size: int) -> str:
    text = f"{start or ''}:{limit if limit != size else ''}"
    return text if stride == 1 else f"{text}:{stride}"


def concatenate(body: Body, node: Node) -> Expr:
    parts = list_of([body.expr(value) for value in node.operands])
    return call(f"{body.target.xp}.concatenate", parts, axis=str(node.attrs["dimension"]))


def reverse(body: Body, node: Node) -> Expr:
    return call(f"{body.target.xp}.flip", body.expr(node.operands[0]), axis=axes(ints(node, "dimensions")))


def axes(dims: Sequence[int]) -> Expr:
    """axis=1, axis=(0, 2)."""
    return raw(str(dims[0])) if len(dims) == 1 else integers(dims)


def iota(body: Body, node: Node) -> Term:
    type = body.type(node.results[0])
    dim = cast(int, node.attrs["iota_dimension"])
    xp, dtype = body.target.xp, body.target.dtype(type.dtype)
    line = call(f"{xp}.arange", str(type.shape[dim]), dtype=dtype)
    after = type.rank - dim - 1
    expr = index(line, [":", *["None"] * after]) if after else line
    return Term(expr, (type.shape[dim], *[1] * after))


def pad(body: Body, node: Node) -> Expr:
    """pad for what xp.pad can do."""
    low, high = ints(node, "edge_padding_low"), ints(node, "edge_padding_high")
    pairs = list(zip(low, high, strict=True))
    fill = body.term(node.operands[1])
    value = None if fill.literal in ("0", "0.0", "False") else fill.expr
    widths = tuple_of([integers(pair) for pair in pairs])
    return call(f"{body.target.xp}.pad", body.expr(node.operands[0]), widths, constant_values=value)


def is_plain_pad(node: Node) -> bool:
    """Whether nothing is cut off or put between elements."""
    grows = min((*ints(node, "edge_padding_low"), *ints(node, "edge_padding_high")), default=0) >= 0
    return grows and not any(ints(node, "interior_padding"))


def take(body: Body, node: Node) -> Expr:
    """idiom.take: slices along one dimension; indices are clamped. Both libraries write it alike."""
    table, places = node.operands
    ids = body.expr(places)
    if node.attrs["column"]:
        ids = index(ids, [*[":"] * (body.type(places).rank - 1), "0"])
    axis = str(node.attrs["axis"])
    return call(f"{body.target.xp}.take", body.expr(table), ids, axis=axis, mode='"clip"')


TABLE: dict[str, Printer] = {
    "stablehlo.constant": constant,
    "stablehlo.reshape": reshape,
    "stablehlo.broadcast_in_dim": broadcast_in_dim,
    "stablehlo.transpose": transpose,
    "stablehlo.slice": slice_,
    "stablehlo.concatenate": concatenate,
    "stablehlo.reverse": reverse,
    "stablehlo.iota": iota,
    "idiom.take": take,
}
