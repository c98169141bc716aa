"""Dynamic slices, gather and scatter in JAX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from shardc.backend.jax.target import JAX
from shardc.backend.python import idiom
from shardc.backend.python.expressions import Expr, attribute, call, index, integers, method, tuple_of
from shardc.backend.python.library_indexing import PUT_BY
from shardc.backend.python.scope import Scope
from shardc.backend.python.shapes import ints
from shardc.diagnostics import ShardcError
from shardc.graph import GatherDims, Node, ScatterDims
from shardc.ops import combiner, hlo


def _one_dim(sizes: tuple[int, ...], shape: tuple[int, ...]) -> int | None:
    """The dimension that a dynamic slice cuts, if it is one and the others are whole."""
    cut = [d for d, (size, full) in enumerate(zip(sizes, shape, strict=True)) if size != full]
    return cut[0] if len(cut) == 1 else None


def _starts(scope: Scope, starts: Sequence[int]) -> list[Expr]:
    """The starts of a slice, of one integer type: a literal has another where 64 bits are the default."""
    literals = [scope.term(start).weak for start in starts]
    same = all(scope.type(start).dtype == scope.emission.default_integer for start in starts)
    plain = same or all(literals) or not any(literals)
    return [scope.index(start) if plain else scope.expr(start) for start in starts]


@JAX.prints(hlo.dynamic_slice)
def dynamic_slice(scope: Scope, node: Node) -> Expr:
    value, *starts = node.operands
    sizes, shape = ints(node, "slice_sizes"), scope.type(value).shape
    dim = _one_dim(sizes, shape)
    if dim is not None:
        start = scope.index(starts[dim])
        return call("lax.dynamic_slice_in_dim", scope.expr(value), start, str(sizes[dim]), axis=str(dim))
    places = tuple_of(_starts(scope, starts))
    return call("lax.dynamic_slice", scope.expr(value), places, integers(sizes))


@JAX.prints(hlo.dynamic_update_slice)
def dynamic_update_slice(scope: Scope, node: Node) -> Expr:
    value, update, *starts = node.operands
    scope.variable(value)
    dim = _one_dim(scope.type(update).shape, scope.type(value).shape)
    if dim is not None:
        function = "lax.dynamic_update_slice_in_dim"
        return call(function, scope.expr(value), scope.expr(update), scope.index(starts[dim]), axis=str(dim))
    places = tuple_of(_starts(scope, starts))
    return call("lax.dynamic_update_slice", scope.expr(value), scope.expr(update), places)


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
    if len(node.results) != 1 or kind not in _SCATTERS:
        raise ShardcError("JAX has no scatter that combines by such a function", node.loc)
    dims = cast(ScatterDims, node.attrs["scatter_dimension_numbers"])
    value, places, updates = node.operands
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
    return call(
        _SCATTERS[kind],
        scope.expr(value),
        indices_last(scope, places, dims.index_vector_dim),
        scope.expr(updates),
        numbers,
        mode='"drop"',
    )


@JAX.prints(idiom.layer)
def layer(scope: Scope, node: Node) -> Expr:
    """ws[i] along the first dimension; the index is clamped unless it is a loop's counter."""
    stack, place = node.operands
    if node.attrs["counter"]:
        return index(scope.expr(stack), [scope.index(place)])
    return call("lax.dynamic_index_in_dim", scope.expr(stack), scope.index(place), keepdims="False")


@JAX.prints(idiom.put)
def put(scope: Scope, node: Node) -> Expr:
    """x.at[:, ids].add(v)"""
    table, ids, updates = node.operands
    axis, combined = cast(int, node.attrs["axis"]), PUT_BY[str(node.attrs["kind"])]
    at = index(attribute(scope.expr(table), "at"), [*[":"] * axis, scope.index(ids)])
    return method(at, combined, scope.expr(updates))


@JAX.prints(idiom.put_layer)
def put_layer(scope: Scope, node: Node) -> Expr:
    """ys.at[i].set(y)."""
    stack, update, place = node.operands
    return method(index(attribute(scope.expr(stack), "at"), [scope.index(place)]), "set", scope.expr(update))
