"""Gather and scatter in JAX."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from shardc.backend.jax.target import JAX
from shardc.backend.python import idiom
from shardc.backend.python.expressions import Expr, attribute, call, index, integers, method
from shardc.backend.python.library_elements import Entry
from shardc.backend.python.library_indexing import PUT_BY
from shardc.backend.python.ranges import splat
from shardc.backend.python.regions import scalar_function
from shardc.backend.python.scope import Scope
from shardc.backend.python.shapes import ints
from shardc.diagnostics import ShardcError
from shardc.graph import GatherDims, Node, ScatterDims, walk
from shardc.ops import combiner, hlo, spmd


def indices_last(scope: Scope, value: int, vector_dim: int) -> Expr:
    """The indices with their vectors in the last dimension, as JAX wants them."""
    expr, rank = scope.expr(value), scope.type(value).rank
    if vector_dim == rank:
        return index(expr, ["...", "None"])
    return expr if vector_dim == rank - 1 else call("jnp.moveaxis", expr, str(vector_dim), "-1")


def _without_vector(batching: tuple[int, ...], vector_dim: int) -> Expr | None:
    """The batching dimensions of indices, where their vectors have gone to the last one; None for none."""
    return integers(tuple(dim - (dim > vector_dim) for dim in batching)) if batching else None


@JAX.prints(hlo.gather)
def gather(scope: Scope, node: Node) -> Expr:
    dims = cast(GatherDims, node.attrs["dimension_numbers"])
    value, places = node.operands
    numbers = call(
        "lax.GatherDimensionNumbers",
        offset_dims=integers(dims.offset_dims),
        collapsed_slice_dims=integers(dims.collapsed_slice_dims),
        start_index_map=integers(dims.start_index_map),
        operand_batching_dims=integers(dims.operand_batching_dims) if dims.operand_batching_dims else None,
        start_indices_batching_dims=_without_vector(dims.start_indices_batching_dims, dims.index_vector_dim),
    )
    return call(
        "lax.gather",
        scope.expr(value),
        indices_last(scope, places, dims.index_vector_dim),
        numbers,
        slice_sizes=integers(ints(node, "slice_sizes")),
        mode='"clip"',
    )


_SCATTERS = {
    "set": "lax.scatter",
    "sum": "lax.scatter_add",
    "prod": "lax.scatter_mul",
    "max": "lax.scatter_max",
    "min": "lax.scatter_min",
    "or": "lax.scatter_max",
    "and": "lax.scatter_min",
}


@JAX.prints(hlo.scatter)
def scatter(scope: Scope, node: Node) -> Expr:
    kind = combiner(node.regions[0], scope.graph)
    applied = None if kind in _SCATTERS else _applied(scope, node)
    if len(node.results) != 1 or (kind not in _SCATTERS and applied is None):
        raise ShardcError("JAX has no scatter that combines by such a function", node.loc)
    dims = cast(ScatterDims, node.attrs["scatter_dimension_numbers"])
    _, places, updates = node.operands
    numbers = call(
        "lax.ScatterDimensionNumbers",
        update_window_dims=integers(dims.update_window_dims),
        inserted_window_dims=integers(dims.inserted_window_dims),
        scatter_dims_to_operand_dims=integers(dims.scatter_dims_to_operand_dims),
        operand_batching_dims=integers(dims.input_batching_dims) if dims.input_batching_dims else None,
        scatter_indices_batching_dims=_without_vector(
            dims.scatter_indices_batching_dims, dims.index_vector_dim
        ),
    )
    table = _table(scope, node, prod(scope.type(places).shape) == len(dims.scatter_dims_to_operand_dims))
    at = indices_last(scope, places, dims.index_vector_dim)
    if applied is not None:
        shape = integers(scope.type(updates).shape)
        return call("lax.scatter_apply", table, at, applied, numbers, update_shape=shape, mode='"drop"')
    return call(_SCATTERS[str(kind)], table, at, scope.expr(updates), numbers, mode='"drop"')


def _applied(scope: Scope, node: Node) -> str | None:
    """The function that a scatter applies to elements, whatever the updates are; None of others."""
    region = node.regions[0]
    update = region.args[-1]
    reads = {value for each in walk(region) for value in each.operands}
    if len(node.results) != 1 or update in reads or update in region.results:
        return None
    return f"lambda x: {scalar_function(scope, node, 0, 'applied', ('x', 'unused'))}(x, x)"


def _table(scope: Scope, node: Node, at_one_place: bool) -> Expr:
    """What is scattered into; a block that was cut from a whole array for one place is kept apart from it.

    XLA reads the old elements of one place by a dynamic slice, and makes one of that and the block's, without
    the limits of either: where another device has the place, its elements would stand in this block. It puts
    what zeros are added to in their place, and that may be such a block.
    """
    value, known = node.operands[0], scope.emission.made
    user = scope.uses.user.get(node.results[0])
    cut = value in known and known[value].name == spmd.all_slice.name
    inside = node.name == idiom.put_slices.name
    added = not inside and user is not None and user.name == hlo.add.name and splat(value, known) == 0
    table = scope.expr(value)
    return call("lax.optimization_barrier", table) if at_one_place and (cut or added) else table


@JAX.prints(idiom.put)
def put(scope: Scope, node: Node) -> Expr:
    """x.at[:, ids].add(v), where negative indices count from the end, or there are none."""
    _, ids, updates = node.operands
    axis, combined = cast(int, node.attrs["axis"]), PUT_BY[str(node.attrs["kind"])]
    is_column = node.attrs["column"]
    if is_column and (scope.type(ids).shape, scope.term(ids).shape) == ((1,), ()):
        places = scope.term(ids).expr
    elif is_column:
        places = index(scope.index(ids), [*[":"] * (scope.type(ids).rank - 1), "0"])
    else:
        places = scope.index(ids)
    one = _table(scope, node, prod(scope.type(ids).shape) == 1)
    at = index(attribute(one, "at"), [*[":"] * axis, places])
    wraps = None if node.attrs["wraps"] else "False"
    return method(at, combined, _updates(scope, updates), wrap_negative_indices=wraps)


def _updates(scope: Scope, value: int) -> Expr:
    """What is combined with elements: a number stands for as many as there are."""
    term = scope.term(value)
    return term.expr if term.weak else scope.expr(value)


def _brackets(scope: Scope, node: Node, ids: Sequence[int]) -> list[Expr | str]:
    """What stands in the brackets of y[jnp.arange(4)[:, None], j]."""
    rank = cast(int, node.attrs["rank"])
    entries: list[Expr | str] = []
    for kind, number, size in cast("tuple[Entry, ...]", node.attrs["at"]):
        if kind == "numbers":
            numbers = call("jnp.arange", str(size))
            after = [":", *["None"] * (rank - 1 - number)]
            entries.append(index(numbers, after) if number + 1 < rank else numbers)
        else:
            entries.append(_one_index(scope, ids[number], rank) if kind == "index" else ":")
    while entries[-1] == ":":
        entries.pop()
    return entries


def _one_index(scope: Scope, value: int, rank: int) -> Expr:
    """Of so many dimensions, or with one more of size 1."""
    expr = scope.index(value)
    return index(expr, [*[":"] * rank, "0"]) if scope.type(value).rank > rank else expr


@JAX.prints(idiom.elements)
def elements(scope: Scope, node: Node) -> Expr:
    """y[jnp.arange(4), j]"""
    table, *ids = node.operands
    if node.attrs["wraps"]:
        return index(scope.expr(table), _brackets(scope, node, ids))
    at = index(attribute(scope.expr(table), "at"), _brackets(scope, node, ids))
    return method(at, "get", mode='"clip"', wrap_negative_indices="False")


@JAX.prints(idiom.put_elements)
def put_elements(scope: Scope, node: Node) -> Expr:
    """y.at[jnp.arange(4), j].add(v)"""
    table, updates, *ids = node.operands
    scope.variable(table)
    at = index(attribute(scope.expr(table), "at"), _brackets(scope, node, ids))
    wraps = None if node.attrs["wraps"] else "False"
    return method(at, PUT_BY[str(node.attrs["kind"])], _updates(scope, updates), wrap_negative_indices=wraps)


@JAX.prints(idiom.put_slices)
def put_slices(scope: Scope, node: Node) -> Expr:
    """x.at[:, 2:4].set(v)"""
    _, updates = node.operands
    ends = cast("tuple[tuple[int, int, int], ...]", node.attrs["at"])
    entries = [
        f"{start or ''}:{start + size if start + size < whole else ''}" if size else str(start)
        for start, size, whole in ends
    ]
    while entries[-1] == ":":
        entries.pop()
    at = index(attribute(_table(scope, node, True), "at"), entries)
    return method(at, PUT_BY[str(node.attrs["kind"])], _updates(scope, updates))
