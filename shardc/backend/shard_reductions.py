"""Contractions, reductions and composites such as softmax in the .shard language.

Each printer writes what the reader makes the same operation of again; where it could not, as for another
dtype or an attribute that the language does not state, it leaves the node to `op("…")`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import cast

from shardc.backend.body import Body
from shardc.backend.context import Printed, Printer
from shardc.backend.expressions import Expr, binary, call, raw
from shardc.backend.ops_dot import is_matmul, subscripts
from shardc.backend.ops_shape import ints
from shardc.backend.shard_elementwise import Accepts, is_any, is_number
from shardc.backend.shard_raw import operation
from shardc.backend.shard_text import axis, number, sizes
from shardc.backend.terms import Several
from shardc.graph import DotDims, Node, combiner, identity
from shardc.graph.program import own_attrs


def dot_general(body: Body, node: Node) -> Printed:
    dims = cast(DotDims, node.attrs["dot_dimension_numbers"])
    types = [body.type(value) for value in node.operands]
    dtypes = {type.dtype for type in (*types, body.type(node.results[0]))}
    precision = cast("tuple[str, ...]", node.attrs.get("precision_config", ()))
    in_order = list(dims.lhs_batching) == sorted(dims.lhs_batching)
    if len(dtypes) > 1 or "bool" in dtypes or set(precision) - {"DEFAULT"} or not in_order:
        return operation(body, node)
    left, right = (body.expr(value) for value in node.operands)
    ranks = [type.rank for type in types]
    if is_matmul(dims, *ranks):
        return binary("@", left, right)
    return call("einsum", raw(f'"{subscripts(node, *ranks)}"'), left, right)


_REDUCTIONS: dict[str, tuple[str, Accepts]] = {
    "sum": ("sum", lambda dtype: dtype in _WIDE),
    "prod": ("prod", lambda dtype: dtype in _WIDE),
    "max": ("max", is_number),
    "min": ("min", is_number),
    "and": ("all", is_any),
    "or": ("any", is_any),
}
_WIDE = ("f64", "f32", "i64", "i32", "u64", "u32")


def is_named(body: Body, node: Node) -> bool:
    """Whether the reduction is of one array, from where the language starts it."""
    if len(node.results) != 1:
        return False
    kind = combiner(node.regions[0], body.graph) or ""
    type, dims = body.type(node.operands[0]), ints(node, "dimensions")
    if kind not in _REDUCTIONS or not _REDUCTIONS[kind][1](type.dtype):
        return False
    if not dims or list(dims) != sorted(dims) or any(type.shape[d] == 0 for d in dims):
        return False
    neutral = str(kind == "and") if kind in ("and", "or") else _neutral(kind, type.dtype)
    return body.term(node.operands[1]).literal == neutral


def _neutral(kind: str, dtype: str) -> str:
    return number(identity(kind, dtype), dtype).text


def reduction(body: Body, node: Node, keepdims: bool = False) -> Printed:
    """sum(x, axis=1)"""
    if not is_named(body, node):
        if not keepdims:
            return operation(body, node)
        reduced = operation(body, node)
        assert isinstance(reduced, Expr)
        return call("reshape", reduced, sizes(body.type(node.results[0]).shape))
    value, dims = node.operands[0], ints(node, "dimensions")
    name = _REDUCTIONS[combiner(node.regions[0], body.graph) or ""][0]
    whole = len(dims) == body.type(value).rank and not keepdims
    return call(
        name,
        body.expr(value),
        axis=None if whole else axis(dims),
        keepdims="True" if keepdims else None,
    )


def argument(kind: str) -> Printer:
    """argmax(x, axis=1)"""

    def printer(body: Body, node: Node) -> Expr:
        found = call(f"arg{kind}", body.expr(node.operands[0]), axis=str(node.attrs["axis"]))
        dtype = body.type(node.results[0]).dtype
        return found if dtype == "i32" else call("astype", found, dtype)

    return printer


def top_k(body: Body, node: Node) -> Printed:
    if body.type(node.results[1]).dtype != "i32" or set(own_attrs(node)) != {"k"}:
        return operation(body, node)
    return Several(call("top_k", body.expr(node.operands[0]), str(node.attrs["k"])))


def along(name: str, keywords: Sequence[str] = ()) -> Printer:
    """softmax(x, axis=-1)"""

    def printer(body: Body, node: Node) -> Expr:
        dims, value = ints(node, "dimensions"), node.operands[0]
        given = {key: "True" for key in keywords if node.attrs[key]}
        return call(name, body.expr(value), axis=axis(dims), **given)

    return printer


def gelu(body: Body, node: Node) -> Expr:
    exact = "False" if node.attrs["variant"] == 1 else None
    return call("gelu", body.expr(node.operands[0]), approximate=exact)


def composite(name: str) -> Printer:
    """relu(x)"""

    def printer(body: Body, node: Node) -> Expr:
        return call(name, body.expr(node.operands[0]))

    return printer


TABLE: dict[str, Printer] = {
    "stablehlo.dot_general": dot_general,
    "stablehlo.reduce": reduction,
    "chlo.top_k": top_k,
    "idiom.keepdims": partial(reduction, keepdims=True),
    "idiom.argmax": argument("max"),
    "idiom.argmin": argument("min"),
    "group.relu": composite("relu"),
    "group.silu": composite("silu"),
    "group.softplus": composite("softplus"),
    "group.gelu": gelu,
    "group.softmax": along("softmax"),
    "group.log_softmax": along("log_softmax"),
    "group.mean": along("mean", ["keepdims"]),
}
