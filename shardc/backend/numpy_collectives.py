"""Collectives in NumPy: methods of the `comm` that every per-device function is given."""

from __future__ import annotations

from shardc.backend.body import Body
from shardc.backend.context import Printer
from shardc.backend.expressions import Expr, call
from shardc.backend.ops_collective import axes_of, axis_name, collective, pairs_of, permutation
from shardc.backend.terms import Term
from shardc.graph import Node
from shardc.layout import size_of

_REDUCTIONS = {"sum": "comm.psum", "max": "comm.pmax", "min": "comm.pmin"}


def _comm(body: Body, node: Node, method: str, **keywords: str | Expr | None) -> Expr:
    """comm.method(x, axes, …)"""
    return call(f"comm.{method}", body.expr(node.operands[0]), axis_name(body, node), **keywords)


def all_reduce(body: Body, node: Node) -> Expr:
    return call(_REDUCTIONS[str(node.attrs["kind"])], body.expr(node.operands[0]), axis_name(body, node))


def all_gather(body: Body, node: Node) -> Expr:
    return _comm(body, node, "all_gather", axis=str(node.attrs["dim"]))


def reduce_scatter(body: Body, node: Node) -> Expr:
    """By max or min, comm has none: reduce, then keep the own block."""
    kind, dim = str(node.attrs.get("kind", "sum")), str(node.attrs["dim"])
    if kind == "sum":
        return _comm(body, node, "psum_scatter", scatter_dimension=dim)
    axes = axis_name(body, node)
    reduced = call(_REDUCTIONS[kind], body.expr(node.operands[0]), axes)
    return call("comm.block", reduced, axes, axis=dim)


def all_to_all(body: Body, node: Node) -> Expr:
    split, concat = str(node.attrs["split_dim"]), str(node.attrs["concat_dim"])
    return _comm(body, node, "all_to_all", split_axis=split, concat_axis=concat)


def collective_permute(body: Body, node: Node) -> Expr:
    return _comm(body, node, "ppermute", perm=permutation(pairs_of(node), size_of(axes_of(node))))


def axis_index(body: Body, node: Node) -> Term:
    return Term(call("comm.axis_index", axis_name(body, node)), ())


def all_slice(body: Body, node: Node) -> Expr:
    return _comm(body, node, "block", axis=str(node.attrs["dim"]))


def to_partial(body: Body, node: Node) -> Expr:
    kind = str(node.attrs.get("kind", "sum"))
    return _comm(body, node, "partial", kind=None if kind == "sum" else f'"{kind}"')


def same_block(body: Body, node: Node) -> Term:
    """vary, as_partial: of no meaning without types of blocks."""
    return body.term(node.operands[0])


TABLE: dict[str, Printer] = {
    "spmd.all_reduce": collective(all_reduce),
    "spmd.all_gather": collective(all_gather),
    "spmd.reduce_scatter": collective(reduce_scatter),
    "spmd.all_to_all": collective(all_to_all),
    "spmd.collective_permute": collective(collective_permute),
    "spmd.axis_index": axis_index,
    "spmd.all_slice": all_slice,
    "spmd.to_partial": to_partial,
    "spmd.as_partial": same_block,
    "spmd.vary": same_block,
}
