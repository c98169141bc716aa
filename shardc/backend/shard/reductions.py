"""Contractions, reductions and composites such as softmax in the .shard language.

Each printer writes what the reader makes the same operation of again; where it could not, as for another
dtype or an attribute that the language does not state, it leaves the node to `op("…")`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import cast

from msgspec.structs import replace

from shardc.backend.python import group, idiom
from shardc.backend.python.expressions import Expr, binary, call, raw
from shardc.backend.python.printers import Printed, Printer
from shardc.backend.python.products import is_matmul, subscripts
from shardc.backend.python.scope import Scope
from shardc.backend.python.shapes import ints
from shardc.backend.python.terms import Several, Term
from shardc.backend.shard.raw import operation
from shardc.backend.shard.spelling import Accepts, is_any, is_number
from shardc.backend.shard.target import SHARD
from shardc.backend.shard.text import axis, number, sizes
from shardc.graph import DotDims, Node, TensorType, identity
from shardc.graph.program import own_attrs
from shardc.ops import chlo, combiner, hlo


@SHARD.prints(hlo.dot_general)
def dot_general(scope: Scope, node: Node) -> Printed:
    dims = cast(DotDims, node.attrs["dot_dimension_numbers"])
    types = [scope.type(value) for value in node.operands]
    dtypes = {type.dtype for type in (*types, scope.type(node.results[0]))}
    precision = cast("tuple[str, ...]", node.attrs.get("precision_config", ()))
    in_order = list(dims.lhs_batching) == sorted(dims.lhs_batching)
    if len(dtypes) > 1 or "bool" in dtypes or set(precision) - {"DEFAULT"} or not in_order:
        return operation(scope, node)
    left, right = (scope.expr(value) for value in node.operands)
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
_WIDE = ("c128", "c64", "f64", "f32", "i64", "i32", "u64", "u32")


def is_named(scope: Scope, node: Node) -> bool:
    """Whether the reduction is of one array, from where the language starts it."""
    if len(node.results) != 1:
        return False
    kind = combiner(node.regions[0], scope.graph) or ""
    type, dims = scope.type(node.operands[0]), ints(node, "dimensions")
    if kind not in _REDUCTIONS or not _REDUCTIONS[kind][1](type.dtype):
        return False
    if not dims or list(dims) != sorted(dims) or any(type.shape[d] == 0 for d in dims):
        return False
    neutral = str(kind == "and") if kind in ("and", "or") else _neutral(kind, type.dtype)
    return scope.term(node.operands[1]).literal == neutral


def _neutral(kind: str, dtype: str) -> str:
    return number(identity(kind, dtype), dtype).text


@SHARD.prints(hlo.reduce)
def reduction(scope: Scope, node: Node, keepdims: bool = False) -> Printed:
    """sum(x, axis=1)"""
    if not is_named(scope, node):
        if not keepdims:
            return operation(scope, node)
        of, dims = scope.type(node.operands[0]), ints(node, "dimensions")
        left = tuple(size for dim, size in enumerate(of.shape) if dim not in dims)
        reduced = operation(scope, replace(node, name=hlo.reduce.name), [TensorType(left, of.dtype)])
        assert isinstance(reduced, Expr)
        thin = tuple(1 if dim in dims else size for dim, size in enumerate(of.shape))
        return Term(call("reshape", reduced, sizes(thin)), thin)
    value, dims = node.operands[0], ints(node, "dimensions")
    name = _REDUCTIONS[combiner(node.regions[0], scope.graph) or ""][0]
    whole = len(dims) == scope.type(value).rank and not keepdims
    return call(
        name,
        scope.expr(value),
        axis=None if whole else axis(dims),
        keepdims="True" if keepdims else None,
    )


def argument(kind: str) -> Printer:
    """argmax(x, axis=1)"""

    def printer(scope: Scope, node: Node) -> Expr:
        found = call(f"arg{kind}", scope.expr(node.operands[0]), axis=str(node.attrs["axis"]))
        dtype = scope.type(node.results[0]).dtype
        return found if dtype == "i32" else call("astype", found, dtype)

    return printer


@SHARD.prints(chlo.top_k)
def top_k(scope: Scope, node: Node) -> Printed:
    if scope.type(node.results[1]).dtype != "i32" or set(own_attrs(node)) != {"k"}:
        return operation(scope, node)
    return Several(call("top_k", scope.expr(node.operands[0]), str(node.attrs["k"])))


def along(name: str, keywords: Sequence[str] = ()) -> Printer:
    """softmax(x, axis=-1)"""

    def printer(scope: Scope, node: Node) -> Expr:
        dims, value = ints(node, "dimensions"), node.operands[0]
        given = {key: "True" for key in keywords if node.attrs[key]}
        return call(name, scope.expr(value), axis=axis(dims), **given)

    return printer


@SHARD.prints(group.gelu)
def gelu(scope: Scope, node: Node) -> Expr:
    exact = "False" if node.attrs["variant"] == 1 else None
    return call("gelu", scope.expr(node.operands[0]), approximate=exact)


def composite(name: str) -> Printer:
    """relu(x)"""

    def printer(scope: Scope, node: Node) -> Expr:
        return call(name, scope.expr(node.operands[0]))

    return printer


SHARD.prints(idiom.keepdims)(partial(reduction, keepdims=True))
SHARD.prints(idiom.argmax)(argument("max"))
SHARD.prints(idiom.argmin)(argument("min"))
SHARD.prints(group.relu)(composite("relu"))
SHARD.prints(group.silu)(composite("silu"))
SHARD.prints(group.softplus)(composite("softplus"))
SHARD.prints(group.softmax)(along("softmax"))
SHARD.prints(group.log_softmax)(along("log_softmax"))
SHARD.prints(group.mean)(along("mean", ["keepdims"]))
