"""Collectives in the .shard language: JAX's, and those of the compiler that JAX has no name for."""

from __future__ import annotations

from typing import cast

from shardc.backend.body import Body
from shardc.backend.context import Printer
from shardc.backend.expressions import Expr, call, list_of, raw, tuple_of
from shardc.backend.names import quoted
from shardc.backend.ops_collective import axes_of, collective
from shardc.backend.shard_text import sizes
from shardc.backend.terms import Term
from shardc.explain.diagnostics import ShardcError
from shardc.graph import Node


def axes(body: Body, node: Node) -> Expr:
    """model, or (data, model): the bare names of the emitted mesh."""
    if body.context.mesh is None:
        raise ShardcError(f"{node.name} outside of a mesh", node.loc)
    names = [raw(name) for name in body.context.mesh.names(axes_of(node))]
    return names[0] if len(names) == 1 else tuple_of(names)


def _operands(body: Body, node: Node) -> tuple[Expr, Expr]:
    return body.expr(node.operands[0]), axes(body, node)


def all_reduce(body: Body, node: Node) -> Expr:
    return call(f"p{node.attrs['kind']}", *_operands(body, node))


def all_gather(body: Body, node: Node) -> Expr:
    to = '"invarying"' if node.attrs.get("invariant") else None
    return call("all_gather", *_operands(body, node), axis=str(node.attrs["dim"]), tiled="True", to=to)


def reduce_scatter(body: Body, node: Node) -> Expr:
    name = f"p{node.attrs.get('kind', 'sum')}_scatter"
    return call(name, *_operands(body, node), scatter_dimension=str(node.attrs["dim"]), tiled="True")


def all_to_all(body: Body, node: Node) -> Expr:
    return call(
        "all_to_all",
        *_operands(body, node),
        split_axis=str(node.attrs["split_dim"]),
        concat_axis=str(node.attrs["concat_dim"]),
        tiled="True",
    )


def collective_permute(body: Body, node: Node) -> Expr:
    pairs = cast("tuple[tuple[int, int], ...]", node.attrs["pairs"])
    return call("ppermute", *_operands(body, node), list_of([sizes(pair) for pair in pairs]))


def axis_index(body: Body, node: Node) -> Expr:
    return call("axis_index", axes(body, node))


def all_slice(body: Body, node: Node) -> Expr:
    return call("block", *_operands(body, node), axis=str(node.attrs["dim"]))


def to_partial(body: Body, node: Node) -> Term:
    kind = str(node.attrs.get("kind", "sum"))
    expr = call("to_partial", *_operands(body, node), *([] if kind == "sum" else [quoted(kind)]))
    reason = node.attrs.get("shardc.reason")
    shape = body.type(node.results[0]).shape
    return Term(expr, shape, own_line=reason is not None, comment=None if reason is None else str(reason))


def as_partial(body: Body, node: Node) -> Term:
    """The same block, under a name that declares it partial where that isn't plain from its uses."""
    (value,) = node.results
    if body.declaration(value) is None:
        return body.term(node.operands[0])
    return Term(body.expr(node.operands[0]), body.type(value).shape, own_line=True)


def vary(body: Body, node: Node) -> Expr:
    return call("pcast", *_operands(body, node), to='"varying"')


TABLE: dict[str, Printer] = {
    "spmd.all_reduce": collective(all_reduce),
    "spmd.all_gather": collective(all_gather),
    "spmd.reduce_scatter": collective(reduce_scatter),
    "spmd.all_to_all": collective(all_to_all),
    "spmd.collective_permute": collective(collective_permute),
    "spmd.axis_index": axis_index,
    "spmd.all_slice": all_slice,
    "spmd.to_partial": to_partial,
    "spmd.as_partial": as_partial,
    "spmd.vary": vary,
}
