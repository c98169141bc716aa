"""Operations that move or repeat elements: reshapes, broadcasts, slices, concatenation, constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec.structs import replace

from shardc.backend.python import idiom
from shardc.backend.python.expressions import (
    Expr,
    attribute,
    call,
    index,
    integers,
    list_of,
    method,
    raw,
    tuple_of,
)
from shardc.backend.python.literals import array, is_weak, scalar, typed
from shardc.backend.python.printers import ARRAYS
from shardc.backend.python.scope import Scope
from shardc.backend.python.terms import Term
from shardc.graph import Dense, Node
from shardc.ops import hlo


def ints(node: Node, key: str) -> tuple[int, ...]:
    """An attribute that is a list of integers."""
    return cast("tuple[int, ...]", node.attrs[key])


@ARRAYS.prints(hlo.constant)
def constant(scope: Scope, node: Node) -> Term:
    value, type = cast(Dense, node.attrs["value"]), scope.type(node.results[0])
    if not value.is_splat and value.data.size != 1:
        return Term(array(value, type.dtype, scope.target), type.shape)
    element = value.data.reshape(-1)[0]
    literal = scalar(element, type.dtype, scope.target)
    if not is_weak(element, type.dtype, scope.target):
        return Term(typed(literal, type.dtype, scope.target), (), free=True, literal=literal.text)
    return Term(literal, (), weak=True, literal=literal.text)


@ARRAYS.prints(hlo.reshape)
def reshape(scope: Scope, node: Node) -> Expr:
    value, shape = node.operands[0], scope.type(node.results[0]).shape
    before = scope.type(value).shape
    if _without_ones(before) == shape and len(before) > len(shape):
        return index(scope.expr(value), ["0" if size == 1 else ":" for size in _trimmed(before)])
    if _without_ones(shape) == before and len(shape) > len(before):
        return index(scope.expr(value), ["None" if size == 1 else ":" for size in _trimmed(shape)])
    return (
        method(scope.expr(value), "reshape", *map(str, shape))
        if shape
        else (method(scope.expr(value), "reshape", raw("()")))
    )


def _without_ones(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(size for size in shape if size != 1)


def _trimmed(shape: Sequence[int]) -> Sequence[int]:
    """Without what follows the last 1: x[None] rather than x[None, :, :]."""
    return shape[: len(shape) - list(reversed(shape)).index(1)]


@ARRAYS.prints(hlo.broadcast_in_dim)
def broadcast_in_dim(scope: Scope, node: Node) -> Term:
    """The operand with new dimensions of size 1 where broadcasting needs to see them."""
    value, shape = node.operands[0], scope.type(node.results[0]).shape
    term, places = scope.term(value), ints(node, "broadcast_dimensions")
    if list(places) != sorted(places):
        order = sorted(range(len(places)), key=places.__getitem__)
        expr = method(scope.expr(value), "transpose", *(str(d) for d in order))
        term = Term(expr, tuple(scope.type(value).shape[d] for d in order))
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


@ARRAYS.prints(hlo.transpose)
def transpose(scope: Scope, node: Node) -> Expr:
    order = ints(node, "permutation")
    value = scope.expr(node.operands[0])
    return attribute(value, "T") if order == (1, 0) else method(value, "transpose", *map(str, order))


@ARRAYS.prints(hlo.slice_)
def sliced(scope: Scope, node: Node) -> Expr:
    """x[2:6, ::2]"""
    shape = scope.type(node.operands[0]).shape
    bounds = zip(
        ints(node, "start_indices"), ints(node, "limit_indices"), ints(node, "strides"), shape, strict=True
    )
    items = [_range(*bound) for bound in bounds]
    while len(items) > 1 and items[-1] == ":":
        items.pop()
    return index(scope.expr(node.operands[0]), items)


def _range(start: int, limit: int, stride: int, size: int) -> str:
    text = f"{start or ''}:{limit if limit != size else ''}"
    return text if stride == 1 else f"{text}:{stride}"


@ARRAYS.prints(hlo.concatenate)
def concatenate(scope: Scope, node: Node) -> Expr:
    parts = list_of([scope.expr(value) for value in node.operands])
    return call(f"{scope.target.xp}.concatenate", parts, axis=str(node.attrs["dimension"]))


@ARRAYS.prints(hlo.reverse)
def reverse(scope: Scope, node: Node) -> Expr:
    return call(f"{scope.target.xp}.flip", scope.expr(node.operands[0]), axis=axes(ints(node, "dimensions")))


def axes(dims: Sequence[int]) -> Expr:
    """axis=1, axis=(0, 2)."""
    return raw(str(dims[0])) if len(dims) == 1 else integers(dims)


@ARRAYS.prints(hlo.iota)
def iota(scope: Scope, node: Node) -> Term:
    type = scope.type(node.results[0])
    dim = cast(int, node.attrs["iota_dimension"])
    xp, dtype = scope.target.xp, scope.target.dtype(type.dtype)
    line = call(f"{xp}.arange", str(type.shape[dim]), dtype=dtype)
    after = type.rank - dim - 1
    expr = index(line, [":", *["None"] * after]) if after else line
    return Term(expr, (type.shape[dim], *[1] * after))


def pad(scope: Scope, node: Node) -> Expr:
    """pad for what xp.pad can do."""
    low, high = ints(node, "edge_padding_low"), ints(node, "edge_padding_high")
    pairs = list(zip(low, high, strict=True))
    fill = scope.term(node.operands[1])
    value = None if fill.literal in ("0", "0.0", "False") else fill.expr
    widths = tuple_of([integers(pair) for pair in pairs])
    return call(f"{scope.target.xp}.pad", scope.expr(node.operands[0]), widths, constant_values=value)


def is_plain_pad(node: Node) -> bool:
    """Whether nothing is cut off or put between elements."""
    grows = min((*ints(node, "edge_padding_low"), *ints(node, "edge_padding_high")), default=0) >= 0
    return grows and not any(ints(node, "interior_padding"))


@ARRAYS.prints(idiom.take)
def take(scope: Scope, node: Node) -> Expr:
    """Slices along one dimension; indices are clamped. Both libraries write it alike."""
    table, places = node.operands
    ids = scope.expr(places)
    if node.attrs["column"]:
        ids = index(ids, [*[":"] * (scope.type(places).rank - 1), "0"])
    axis = str(node.attrs["axis"])
    return call(f"{scope.target.xp}.take", scope.expr(table), ids, axis=axis, mode='"clip"')
