"""Collectives in the .shard language: JAX's, and those of the compiler that JAX has no name for."""

from __future__ import annotations

from shardc.analysis.collectives import axes_of
from shardc.backend.python.collectives import collective, in_mesh_order
from shardc.backend.python.expressions import Expr, call, list_of, raw, tuple_of
from shardc.backend.python.names import quoted
from shardc.backend.python.scope import Scope
from shardc.backend.python.terms import Term
from shardc.backend.shard.target import SHARD
from shardc.backend.shard.text import sizes
from shardc.diagnostics import ShardcError
from shardc.graph import Node
from shardc.graph.marks import REASON
from shardc.ops import spmd


def axes(scope: Scope, node: Node) -> Expr:
    """model, or (data, model): the bare names of the emitted mesh."""
    if scope.emission.mesh is None:
        raise ShardcError(f"{node.name} outside of a mesh", node.loc)
    names = [raw(name) for name in scope.emission.mesh.names(axes_of(node))]
    return names[0] if len(names) == 1 else tuple_of(names)


def _operands(scope: Scope, node: Node) -> tuple[Expr, Expr]:
    return scope.expr(node.operands[0]), axes(scope, node)


@SHARD.prints(spmd.all_reduce)
@collective
def all_reduce(scope: Scope, node: Node) -> Expr:
    return call(f"p{node.attrs['kind']}", *_operands(scope, node))


@SHARD.prints(spmd.all_gather)
@collective
def all_gather(scope: Scope, node: Node) -> Expr:
    to = '"invarying"' if node.attrs.get("invariant") else None
    return call("all_gather", *_operands(scope, node), axis=str(node.attrs["dim"]), tiled="True", to=to)


@SHARD.prints(spmd.reduce_scatter)
@collective
def reduce_scatter(scope: Scope, node: Node) -> Expr:
    name = f"p{node.attrs.get('kind', 'sum')}_scatter"
    return call(name, *_operands(scope, node), scatter_dimension=str(node.attrs["dim"]), tiled="True")


@SHARD.prints(spmd.all_to_all)
@collective
def all_to_all(scope: Scope, node: Node) -> Expr:
    return call(
        "all_to_all",
        *_operands(scope, node),
        split_axis=str(node.attrs["split_dim"]),
        concat_axis=str(node.attrs["concat_dim"]),
        tiled="True",
    )


@SHARD.prints(spmd.ragged_all_to_all)
@collective
def ragged_all_to_all(scope: Scope, node: Node) -> Expr:
    arrays = [scope.expr(value) for value in node.operands]
    return call("ragged_all_to_all", *arrays, axes(scope, node))


@SHARD.prints(spmd.collective_permute)
@collective
def collective_permute(scope: Scope, node: Node) -> Expr:
    names, pairs = in_mesh_order(scope, node)
    over = raw(names[0]) if len(names) == 1 else tuple_of([raw(name) for name in names])
    return call("ppermute", scope.expr(node.operands[0]), over, list_of([sizes(pair) for pair in pairs]))


@SHARD.prints(spmd.collective_broadcast)
@collective
def collective_broadcast(scope: Scope, node: Node) -> Expr:
    return call("pbroadcast", *_operands(scope, node), str(node.attrs["root"]))


@SHARD.prints(spmd.axis_index)
def axis_index(scope: Scope, node: Node) -> Expr:
    return call("axis_index", axes(scope, node))


@SHARD.prints(spmd.all_slice)
def all_slice(scope: Scope, node: Node) -> Expr:
    return call("block", *_operands(scope, node), axis=str(node.attrs["dim"]))


@SHARD.prints(spmd.to_partial)
def to_partial(scope: Scope, node: Node) -> Term:
    kind = str(node.attrs.get("kind", "sum"))
    expr = call("to_partial", *_operands(scope, node), *([] if kind == "sum" else [quoted(kind)]))
    reason = node.attrs.get(REASON)
    shape = scope.type(node.results[0]).shape
    return Term(expr, shape, own_line=reason is not None, comment=None if reason is None else str(reason))


@SHARD.prints(spmd.as_partial)
def as_partial(scope: Scope, node: Node) -> Term:
    """The same block, under a name that declares it partial where that isn't plain from its uses."""
    (value,) = node.results
    if scope.declaration(value) is None:
        return scope.term(node.operands[0])
    return Term(scope.expr(node.operands[0]), scope.type(value).shape, own_line=True)


@SHARD.prints(spmd.assume_equal)
def assume_equal(scope: Scope, node: Node) -> Term:
    """The same block: the decorator says check=False."""
    return scope.term(node.operands[0])


@SHARD.prints(spmd.vary)
def vary(scope: Scope, node: Node) -> Expr:
    return call("pcast", *_operands(scope, node), to='"varying"')


@SHARD.prints(spmd.print_)
def print_(scope: Scope, node: Node) -> None:
    """The statement, on a line of its own."""
    label, device = str(node.attrs["label"]), str(node.attrs["device"])
    quote = "'" if '"' in label else '"'
    function = "breakpoint" if node.attrs.get("stop") else "print"
    of = None if device == "0" else device
    shown = call(function, raw(f"{quote}{label}{quote}"), scope.variable(node.operands[0]), device=of)
    scope.writer.statement("", shown)
    scope.done(node.operands)
