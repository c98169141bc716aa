"""Collectives in NumPy: methods of the `comm` that every per-device function is given."""

from __future__ import annotations

from shardc.analysis.collectives import axes_of, pairs_of
from shardc.backend.numpy.target import NUMPY
from shardc.backend.python.collectives import axis_name, collective, permutation
from shardc.backend.python.expressions import Expr, call
from shardc.backend.python.scope import Scope
from shardc.backend.python.shows import print_by_python
from shardc.backend.python.terms import Term
from shardc.graph import Node
from shardc.layout import size_of
from shardc.ops import spmd

_REDUCTIONS = {"sum": "comm.psum", "max": "comm.pmax", "min": "comm.pmin"}


def _comm(scope: Scope, node: Node, method: str, **keywords: str | Expr | None) -> Expr:
    """comm.method(x, axes, …)"""
    return call(f"comm.{method}", scope.expr(node.operands[0]), axis_name(scope, node), **keywords)


@NUMPY.prints(spmd.all_reduce)
@collective
def all_reduce(scope: Scope, node: Node) -> Expr:
    return call(_REDUCTIONS[str(node.attrs["kind"])], scope.expr(node.operands[0]), axis_name(scope, node))


@NUMPY.prints(spmd.all_gather)
@collective
def all_gather(scope: Scope, node: Node) -> Expr:
    return _comm(scope, node, "all_gather", axis=str(node.attrs["dim"]))


@NUMPY.prints(spmd.reduce_scatter)
@collective
def reduce_scatter(scope: Scope, node: Node) -> Expr:
    """By max or min, comm has none: reduce, then keep the own block."""
    kind, dim = str(node.attrs.get("kind", "sum")), str(node.attrs["dim"])
    if kind == "sum":
        return _comm(scope, node, "psum_scatter", scatter_dimension=dim)
    axes = axis_name(scope, node)
    reduced = call(_REDUCTIONS[kind], scope.expr(node.operands[0]), axes)
    return call("comm.block", reduced, axes, axis=dim)


@NUMPY.prints(spmd.all_to_all)
@collective
def all_to_all(scope: Scope, node: Node) -> Expr:
    split, concat = str(node.attrs["split_dim"]), str(node.attrs["concat_dim"])
    return _comm(scope, node, "all_to_all", split_axis=split, concat_axis=concat)


@NUMPY.prints(spmd.ragged_all_to_all)
@collective
def ragged_all_to_all(scope: Scope, node: Node) -> Expr:
    arrays = [scope.expr(value) for value in node.operands]
    return call("comm.ragged_all_to_all", *arrays, axis_name(scope, node))


@NUMPY.prints(spmd.collective_permute)
@collective
def collective_permute(scope: Scope, node: Node) -> Expr:
    return _comm(scope, node, "ppermute", perm=permutation(pairs_of(node), size_of(axes_of(node))))


@NUMPY.prints(spmd.collective_broadcast)
@collective
def collective_broadcast(scope: Scope, node: Node) -> Expr:
    return _comm(scope, node, "pbroadcast", source=str(node.attrs["root"]))


@NUMPY.prints(spmd.axis_index)
def axis_index(scope: Scope, node: Node) -> Term:
    return Term(call("comm.axis_index", axis_name(scope, node)), ())


@NUMPY.prints(spmd.all_slice)
def all_slice(scope: Scope, node: Node) -> Expr:
    return _comm(scope, node, "block", axis=str(node.attrs["dim"]))


@NUMPY.prints(spmd.to_partial)
def to_partial(scope: Scope, node: Node) -> Expr:
    kind = str(node.attrs.get("kind", "sum"))
    return _comm(scope, node, "partial", kind=None if kind == "sum" else f'"{kind}"')


@NUMPY.prints(spmd.as_partial, spmd.assume_equal, spmd.vary)
def same_block(scope: Scope, node: Node) -> Term:
    """as_partial, assume_equal, vary: of no meaning without types of blocks."""
    return scope.term(node.operands[0])


NUMPY.prints(spmd.print_)(print_by_python)
