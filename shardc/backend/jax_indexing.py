"""Dynamic slices, gather and scatter in JAX."""

from __future__ import annotations

from typing import cast

from shardc.backend.body import Body
from shardc.backend.context import Printer
from shardc.backend.expressions import Expr, attribute, call, index, integers, method, tuple_of
from shardc.backend.ops_shape import ints
from shardc.explain.diagnostics import ShardcError
from shardc.graph import GatherDims, Node, ScatterDims, combiner


def _one_dim(sizes: tuple[int, ...], shape: tuple[int, ...]) -> int | None:
    """The dimension that a dynamic slice cuts, if it is one and the others are whole."""
    cut = [d for d, (size, full) in enumerate(zip(sizes, shape, strict=True)) if size != full]
    return cut[0] if len(cut) == 1 else None


def dynamic_slice(body: Body, node: Node) -> Expr:
    value, *starts = node.operands
    sizes, shape = ints(node, "slice_sizes"), body.type(value).shape
    dim = _one_dim(sizes, shape)
    if dim is not None:
        start = body.index(starts[dim])
        return call("lax.dynamic_slice_in_dim", body.expr(value), start, str(sizes[dim]), axis=str(dim))
    places = tuple_of([body.index(start) for start in starts])
    return call("lax.dynamic_slice", body.expr(value), places, integers(sizes))


def dynamic_update_slice(body: Body, node: Node) -> Expr:
    value, update, *starts = node.operands
    body.variable(value)
    dim = _one_dim(body.type(update).shape, body.type(value).shape)
    if dim is not None:
        function = "lax.dynamic_update_slice_in_dim"
        return call(function, body.expr(value), body.expr(update), body.index(starts[dim]), axis=str(dim))
    places = tuple_of([body.index(start) for start in starts])
    return call("lax.dynamic_update_slice", body.expr(value), body.expr(update), places)


def indices_last(body: Body, value: int, vector_dim: int) -> Expr:
    """The indices with their vectors in the last dimension, as JAX wants them."""
    expr, rank = body.expr(value), body.type(value).rank
    if vector_dim == rank:
        return index(expr, ["...", "None"])
    return expr if vector_dim == rank - 1 else call("jnp.moveaxis", expr, str(vector_dim), "-1")


def gather(body: Body, node: Node) -> Expr:
    dims = cast(GatherDims, node.attrs["dimension_numbers"])
    value, places = node.operands
    numbers = call(
        "lax.GatherDimensionNumbers",
        offset_dims=integers(dims.offset_dims),
        collapsed_slice_dims=integers(dims.collapsed_slice_dims),
        start_index_map=integers(dims.start_index_map),
        operand_batching_dims=integers(dims.operand_batching_dims) if dims.operand_batching_dims else None,
        start_indices_batching_dims=(
            integers(dims.start_indices_batching_dims) if dims.start_indices_batching_dims else None
        ),
    )
    return call(
        "lax.gather",
        body.expr(value),
        indices_last(body, places, dims.index_vector_dim),
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
}


def scatter(body: Body, node: Node) -> Expr:
    kind = combiner(node.regions[0], body.graph)
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
        scatter_indices_batching_dims=(
            integers(dims.scatter_indices_batching_dims) if dims.scatter_indices_batching_dims else None
        ),
    )
    return call(
        _SCATTERS[kind],
        body.expr(value),
        indices_last(body, places, dims.index_vector_dim),
        body.expr(updates),
        numbers,
        mode='"drop"',
    )


def layer(body: Body, node: Node) -> Expr:
    """idiom.layer: ws[i] along the first dimension; the index is clamped unless it is a loop's counter."""
    stack, place = node.operands
    if node.attrs["counter"]:
        return index(body.expr(stack), [body.index(place)])
    return call("lax.dynamic_index_in_dim", body.expr(stack), body.index(place), keepdims="False")


def put_layer(body: Body, node: Node) -> Expr:
    """idiom.put_layer: ys.at[i].set(y)."""
    stack, update, place = node.operands
    return method(index(attribute(body.expr(stack), "at"), [body.index(place)]), "set", body.expr(update))


TABLE: dict[str, Printer] = {
    "stablehlo.dynamic_slice": dynamic_slice,
    "stablehlo.dynamic_update_slice": dynamic_update_slice,
    "stablehlo.gather": gather,
    "stablehlo.scatter": scatter,
    "idiom.layer": layer,
    "idiom.put_layer": put_layer,
}
