"""Collectives in JAX, as jax.lax writes them inside shard_map."""

from __future__ import annotations

from typing import cast

from shardc.analysis.collectives import axes_of
from shardc.analysis.shown import heading
from shardc.backend.jax.casts import cast_to
from shardc.backend.jax.target import JAX
from shardc.backend.python import idiom
from shardc.backend.python.collectives import axis_name, collective, comment, in_mesh_order, permutation
from shardc.backend.python.expressions import Expr, binary, call, list_of, raw, tuple_of
from shardc.backend.python.literals import element
from shardc.backend.python.names import quoted
from shardc.backend.python.scope import Scope
from shardc.backend.python.shows import devices_of, is_shown_here
from shardc.backend.python.terms import Several, Term
from shardc.graph import Node, identity
from shardc.layout import size_of
from shardc.ops import spmd

_REDUCTIONS = {"sum": "psum", "max": "pmax", "min": "pmin"}


def _operand(scope: Scope, node: Node) -> Expr:
    """The operand of a collective; JAX wants it to vary over all of the collective's axes or none."""
    value, mesh = node.operands[0], scope.emission.mesh
    axes = frozenset(mesh.names(axes_of(node))) if mesh else frozenset[str]()
    varies = scope.emission.varying.get(value, frozenset[str]())
    mixed = axes & varies and axes - varies
    return cast_to(scope, scope.expr(value), axes if mixed else frozenset(), value)


@JAX.prints(spmd.all_reduce)
@collective
def all_reduce(scope: Scope, node: Node) -> Expr:
    function = _REDUCTIONS[str(node.attrs["kind"])]
    return call(f"lax.{function}", _operand(scope, node), axis_name(scope, node))


@JAX.prints(spmd.all_gather)
@collective
def all_gather(scope: Scope, node: Node) -> Expr:
    return call(
        "lax.all_gather",
        _operand(scope, node),
        axis_name(scope, node),
        axis=str(node.attrs["dim"]),
        tiled="True",
        to='"invarying"' if node.attrs.get("invariant") else None,
    )


@JAX.prints(spmd.reduce_scatter)
@collective
def reduce_scatter(scope: Scope, node: Node) -> Expr:
    """By max or min, JAX has none: reduce, then keep the own block."""
    kind = str(node.attrs.get("kind", "sum"))
    operand, axes = _operand(scope, node), axis_name(scope, node)
    if kind != "sum":
        return _own_block(scope, node, call(f"lax.{_REDUCTIONS[kind]}", operand, axes))
    dim = str(node.attrs["dim"])
    return call("lax.psum_scatter", operand, axes, scatter_dimension=dim, tiled="True")


@JAX.prints(spmd.all_to_all)
@collective
def all_to_all(scope: Scope, node: Node) -> Expr:
    return _exchange(scope, node, _operand(scope, node), 0)


@JAX.prints(idiom.exchanged)
def exchanged(scope: Scope, node: Node) -> Several:
    """Of a stack, which is taken apart by its first dimension."""
    parts = cast("tuple[Node, ...]", node.attrs["parts"])
    stack = call("jnp.stack", list_of([_operand(scope, part) for part in parts]))
    return Several(_exchange(scope, parts[0], stack, 1), comment(scope, *parts))


def _exchange(scope: Scope, node: Node, operand: Expr, before: int) -> Expr:
    """An all-to-all of what has so many dimensions before those of the node's operand."""
    split, concat = (str(cast(int, node.attrs[name]) + before) for name in ("split_dim", "concat_dim"))
    over = axis_name(scope, node)
    return call("lax.all_to_all", operand, over, split_axis=split, concat_axis=concat, tiled="True")


@JAX.prints(spmd.ragged_all_to_all)
@collective
def ragged_all_to_all(scope: Scope, node: Node) -> Expr:
    """JAX wants all operands to vary alike."""
    varies = scope.emission.varying.get(node.results[0], frozenset[str]())
    arrays = [cast_to(scope, scope.expr(value), varies, value) for value in node.operands]
    return call("lax.ragged_all_to_all", *arrays, axis_name=axis_name(scope, node))


@JAX.prints(spmd.collective_permute)
@collective
def collective_permute(scope: Scope, node: Node) -> Expr:
    names, pairs = in_mesh_order(scope, node)
    over = raw(quoted(names[0])) if len(names) == 1 else tuple_of([raw(quoted(name)) for name in names])
    size = size_of(axes_of(node))
    return call("lax.ppermute", _operand(scope, node), over, permutation(pairs, size))


@JAX.prints(spmd.axis_index)
def axis_index(scope: Scope, node: Node) -> Term:
    return Term(call("lax.axis_index", axis_name(scope, node)), ())


@JAX.prints(spmd.all_slice)
def all_slice(scope: Scope, node: Node) -> Expr:
    return _own_block(scope, node, scope.expr(node.operands[0]))


def _own_block(scope: Scope, node: Node, value: Expr) -> Expr:
    """The block that belongs to the device."""
    dim = cast(int, node.attrs["dim"])
    size = scope.type(node.results[0]).shape[dim]
    position = call("lax.axis_index", axis_name(scope, node))
    start = position if size == 1 else binary("*", position, raw(str(size)))
    return call("lax.dynamic_slice_in_dim", value, start, str(size), axis=str(dim))


@JAX.prints(spmd.to_partial)
def to_partial(scope: Scope, node: Node) -> Term:
    """Position 0 keeps the value; the others hold what changes nothing."""
    dtype = scope.type(node.results[0]).dtype
    first = binary("==", call("lax.axis_index", axis_name(scope, node)), raw("0"))
    neutral = element(identity(str(node.attrs.get("kind", "sum")), dtype), dtype, scope.target)
    value = scope.expr(node.operands[0])
    return Term(call("jnp.where", first, value, neutral), scope.type(node.results[0]).shape)


@JAX.prints(spmd.vary)
def vary(scope: Scope, node: Node) -> Term | Expr:
    value = node.operands[0]
    varies = scope.emission.varying.get(node.results[0], frozenset[str]())
    cast_value = cast_to(scope, scope.expr(value), varies, value)
    return cast_value if cast_value != scope.expr(value) else scope.term(value)


@JAX.prints(spmd.as_partial, spmd.assume_equal)
def same_block(scope: Scope, node: Node) -> Term:
    """Of no meaning to JAX's types; where equality is assumed, shard_map does not check it."""
    return scope.term(node.operands[0])


@JAX.prints(spmd.collective_broadcast)
@collective
def collective_broadcast(scope: Scope, node: Node) -> Expr:
    """A sum in which only the root's block counts: what JAX documents as equal to `lax.pbroadcast`."""
    dtype, axes = scope.type(node.results[0]).dtype, axis_name(scope, node)
    here = binary("==", call("lax.axis_index", axes), raw(str(node.attrs["root"])))
    kind = "max" if dtype == "bool" else "sum"
    target = scope.emission.target
    kept = call("jnp.where", here, _operand(scope, node), element(identity(kind, dtype), dtype, target))
    return call(f"lax.{_REDUCTIONS[kind]}", kept, axes)


@JAX.prints(spmd.print_)
def print_(scope: Scope, node: Node) -> None:
    """jax.debug.print, on the one device whose block is shown."""
    emission, (value,) = scope.emission, node.operands
    text = heading(emission.graph, node, devices_of(scope))
    plain = text.replace("{", "(").replace("}", ")")  # a brace is a place of jax.debug.print
    place = ":\n{}" if emission.graph.type(value).rank else ": {}"
    shown = call("jax.debug.print", raw(quoted(plain + place)), scope.variable(value))
    condition = is_shown_here(scope, node, "lax.axis_index")
    if condition is not None:
        body = Expr(f"lambda: {shown.head}", shown.items, shown.tail, reads=shown.reads)
        shown = call("lax.cond", condition, body, "lambda: None")
    emission.writer.statement("", shown)
    scope.done(node.operands)
