"""Collectives in JAX, as jax.lax writes them inside shard_map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from shardc.backend.body import Body
from shardc.backend.context import Printer
from shardc.backend.expressions import Expr, binary, call, raw
from shardc.backend.literals import scalar
from shardc.backend.ops_collective import axes_of, collective
from shardc.backend.terms import Term
from shardc.explain.diagnostics import ShardcError
from shardc.graph import Node, identity

_REDUCTIONS = {"sum": "psum", "max": "pmax", "min": "pmin"}


def axis_name(body: Body, node: Node) -> Expr:
    """The axes of a node as JAX takes them."""
    if body.context.mesh is None:
        raise ShardcError(f"{node.name} outside of a mesh", node.loc)
    return body.context.mesh.text(axes_of(node))


def all_reduce(body: Body, node: Node) -> Expr:
    function = _REDUCTIONS[str(node.attrs["kind"])]
    return call(f"lax.{function}", body.expr(node.operands[0]), axis_name(body, node))


def all_gather(body: Body, node: Node) -> Expr:
    return call(
        "lax.all_gather",
        body.expr(node.operands[0]),
        axis_name(body, node),
        axis=str(node.attrs["dim"]),
        tiled="True",
        to='"invarying"' if node.attrs.get("invariant") else None,
    )


def reduce_scatter(body: Body, node: Node) -> Expr:
    if node.attrs.get("kind", "sum") != "sum":
        raise ShardcError(f"JAX has no reduce-scatter by {node.attrs['kind']}", node.loc)
    return call(
        "lax.psum_scatter",
        body.expr(node.operands[0]),
        axis_name(body, node),
        scatter_dimension=str(node.attrs["dim"]),
        tiled="True",
    )


def all_to_all(body: Body, node: Node) -> Expr:
    return call(
        "lax.all_to_all",
        body.expr(node.operands[0]),
        axis_name(body, node),
        split_axis=str(node.attrs["split_dim"]),
        concat_axis=str(node.attrs["concat_dim"]),
        tiled="True",
    )


def collective_permute(body: Body, node: Node) -> Expr:
    pairs = cast("Sequence[tuple[int, int]]", node.attrs["pairs"])
    return call(
        "lax.ppermute", body.expr(node.operands[0]), axis_name(body, node), permutation(pairs, axes_of(node))
    )


def permutation(pairs: Sequence[tuple[int, int]], axes: Sequence[object]) -> Expr:
    """[(0, 1), (1, 2)], or how a long shift by a constant is counted."""
    return raw("[" + ", ".join(f"({source}, {target})" for source, target in pairs) + "]")


def axis_index(body: Body, node: Node) -> Term:
    return Term(call("lax.axis_index", axis_name(body, node)), ())


def all_slice(body: Body, node: Node) -> Expr:
    """The device's own block."""
    dim = cast(int, node.attrs["dim"])
    size = body.type(node.results[0]).shape[dim]
    start = binary("*", call("lax.axis_index", axis_name(body, node)), raw(str(size)))
    return call("lax.dynamic_slice_in_dim", body.expr(node.operands[0]), start, str(size), axis=str(dim))


def to_partial(body: Body, node: Node) -> Term:
    """Position 0 keeps the value; the others hold what changes nothing."""
    dtype = body.type(node.results[0]).dtype
    first = binary("==", call("lax.axis_index", axis_name(body, node)), raw("0"))
    neutral = scalar(identity(str(node.attrs.get("kind", "sum")), dtype), dtype, body.target)
    value = body.expr(node.operands[0])
    return Term(call("jnp.where", first, value, neutral), body.type(node.results[0]).shape)


def vary(body: Body, node: Node) -> Expr:
    return call("lax.pcast", body.expr(node.operands[0]), axis_name(body, node), to='"varying"')


TABLE: dict[str, Printer] = {
    "spmd.all_reduce": collective(all_reduce),
    "spmd.all_gather": collective(all_gather),
    "spmd.reduce_scatter": collective(reduce_scatter),
    "spmd.all_to_all": collective(all_to_all),
    "spmd.collective_permute": collective(collective_permute),
    "spmd.axis_index": axis_index,
    "spmd.all_slice": all_slice,
    "spmd.to_partial": to_partial,
    "spmd.vary": vary,
}
