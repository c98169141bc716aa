"""Collectives in JAX, as jax.lax writes them inside shard_map."""

from __future__ import annotations

from typing import cast

import numpy as np

from shardc.backend.body import Body
from shardc.backend.casts import cast_to
from shardc.backend.context import Printer
from shardc.backend.expressions import Expr, binary, call, raw, tuple_of
from shardc.backend.literals import element
from shardc.backend.names import quoted
from shardc.backend.ops_collective import axes_of, axis_name, collective, pairs_of, permutation
from shardc.backend.terms import Term
from shardc.graph import Node, identity
from shardc.layout import size_of

_REDUCTIONS = {"sum": "psum", "max": "pmax", "min": "pmin"}


def _operand(body: Body, node: Node) -> Expr:
    """The operand; JAX wants it to vary over all of the collective's axes or none."""
    value, mesh = node.operands[0], body.context.mesh
    axes = frozenset(mesh.names(axes_of(node))) if mesh else frozenset[str]()
    varies = body.context.varying.get(value, frozenset[str]())
    mixed = axes & varies and axes - varies
    return cast_to(body, body.expr(value), axes if mixed else frozenset(), value)


def all_reduce(body: Body, node: Node) -> Expr:
    function = _REDUCTIONS[str(node.attrs["kind"])]
    return call(f"lax.{function}", _operand(body, node), axis_name(body, node))


def all_gather(body: Body, node: Node) -> Expr:
    return call(
        "lax.all_gather",
        _operand(body, node),
        axis_name(body, node),
        axis=str(node.attrs["dim"]),
        tiled="True",
        to='"invarying"' if node.attrs.get("invariant") else None,
    )


def reduce_scatter(body: Body, node: Node) -> Expr:
    """By max or min, JAX has none: reduce, then keep the own block."""
    kind = str(node.attrs.get("kind", "sum"))
    operand, axes = _operand(body, node), axis_name(body, node)
    if kind != "sum":
        return _own_block(body, node, call(f"lax.{_REDUCTIONS[kind]}", operand, axes))
    dim = str(node.attrs["dim"])
    return call("lax.psum_scatter", operand, axes, scatter_dimension=dim, tiled="True")


def all_to_all(body: Body, node: Node) -> Expr:
    return call(
        "lax.all_to_all",
        _operand(body, node),
        axis_name(body, node),
        split_axis=str(node.attrs["split_dim"]),
        concat_axis=str(node.attrs["concat_dim"]),
        tiled="True",
    )


def collective_permute(body: Body, node: Node) -> Expr:
    """JAX counts positions in the order of the mesh, whatever the order of the axes' names."""
    mesh, axes = body.context.mesh, axes_of(node)
    size, pairs = size_of(axes), pairs_of(node)
    names = mesh.names(axes) if mesh else ()
    sizes = {name: n for name, n in mesh.axes if name in names} if mesh else {}
    over = axis_name(body, node)
    if list(sizes) != list(names):
        grid = np.arange(size).reshape(list(sizes.values()))
        places = grid.transpose([list(sizes).index(name) for name in names]).ravel().tolist()
        pairs = tuple(sorted((places[source], places[target]) for source, target in pairs))
        over = tuple_of([raw(quoted(name)) for name in sizes])
    return call("lax.ppermute", _operand(body, node), over, permutation(pairs, size))


def axis_index(body: Body, node: Node) -> Term:
    return Term(call("lax.axis_index", axis_name(body, node)), ())


def all_slice(body: Body, node: Node) -> Expr:
    return _own_block(body, node, body.expr(node.operands[0]))


def _own_block(body: Body, node: Node, value: Expr) -> Expr:
    """The block that belongs to the device."""
    dim = cast(int, node.attrs["dim"])
    size = body.type(node.results[0]).shape[dim]
    start = binary("*", call("lax.axis_index", axis_name(body, node)), raw(str(size)))
    return call("lax.dynamic_slice_in_dim", value, start, str(size), axis=str(dim))


def to_partial(body: Body, node: Node) -> Term:
    """Position 0 keeps the value; the others hold what changes nothing."""
    dtype = body.type(node.results[0]).dtype
    first = binary("==", call("lax.axis_index", axis_name(body, node)), raw("0"))
    neutral = element(identity(str(node.attrs.get("kind", "sum")), dtype), dtype, body.target)
    value = body.expr(node.operands[0])
    return Term(call("jnp.where", first, value, neutral), body.type(node.results[0]).shape)


def vary(body: Body, node: Node) -> Term | Expr:
    value = node.operands[0]
    varies = body.context.varying.get(node.results[0], frozenset[str]())
    cast_value = cast_to(body, body.expr(value), varies, value)
    return cast_value if cast_value != body.expr(value) else body.term(value)


def as_partial(body: Body, node: Node) -> Term:
    """Of no meaning to JAX's types."""
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
    "spmd.as_partial": as_partial,
    "spmd.vary": vary,
}
