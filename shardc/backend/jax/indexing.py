"""Dynamic slices, gather and scatter in JAX."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

import numpy as np

from shardc.backend.jax.target import JAX
from shardc.backend.python import idiom
from shardc.backend.python.expressions import Expr, attribute, call, index, integers, method, raw, tuple_of
from shardc.backend.python.library_elements import Entry
from shardc.backend.python.library_indexing import PUT_BY
from shardc.backend.python.literals import typed
from shardc.backend.python.ranges import splat
from shardc.backend.python.scope import Scope
from shardc.backend.python.shapes import ints
from shardc.diagnostics import ShardcError
from shardc.graph import DTYPES, GatherDims, Node, ScatterDims
from shardc.ops import combiner, hlo, spmd


class _Starts:
    """Where a slice of some sizes starts, in text, and in which dimensions JAX may count from the end.

    The starts are of one integer type, in which the sizes of the dimensions are numbers: those of 8 bits are
    converted for 200 rows. A literal has another type where 64 bits are the default.
    """

    def __init__(
        self, scope: Scope, node: Node, starts: Sequence[int], sizes: Sequence[int], first: int = 0
    ) -> None:
        """The starts are those of the dimensions from `first` on."""
        shape = scope.type(node.operands[0]).shape[first : first + len(starts)]
        types = [scope.type(start).dtype for start in starts]
        terms = [scope.term(start) for start in starts]
        same = all(dtype == scope.emission.default_integer for dtype in types)
        self._narrow = any(
            size > np.iinfo(DTYPES[dtype][1]).max for dtype, size in zip(types, shape, strict=True)
        )
        self._plain = same or self._narrow or all(t.weak for t in terms) or not any(t.weak for t in terms)
        self.places = [self._place(scope, start) for start in starts]
        from_end = cast("tuple[bool, ...]", node.attrs.get("from_end", (False,) * len(starts)))
        whole = [size == full for size, full in zip(sizes, shape, strict=True)]
        literal = [term.literal is not None for term in terms]
        self.from_end = tuple(map(any, zip(from_end, whole, literal, strict=True)))
        self.cut = [dim for dim, same in enumerate(whole) if not same]

    def _place(self, scope: Scope, start: int) -> Expr:
        literal = scope.term(start).literal
        if literal is not None and int(literal) < 0:  # which JAX refuses where it may not count from the end
            return raw("0") if self._plain else typed(raw("0"), scope.type(start).dtype, scope.target)
        place = scope.index(start) if self._plain else scope.expr(start)
        return call(scope.target.dtype("i32"), place) if self._narrow and literal is None else place

    def allowed(self, dim: int | None = None) -> Expr | None:
        """`allow_negative_indices` for one dimension or all, None where it may be what it is by itself."""
        found = self.from_end if dim is None else self.from_end[dim : dim + 1]
        if all(found):
            return None
        return tuple_of([raw(str(may)) for may in found]) if any(found) else raw("False")


@JAX.prints(hlo.dynamic_slice, idiom.sliced)
def dynamic_slice(scope: Scope, node: Node) -> Expr:
    value, *operands = node.operands
    sizes = ints(node, "slice_sizes")
    starts = _Starts(scope, node, operands, sizes)
    if len(starts.cut) == 1:
        (dim,) = starts.cut
        return call(
            "lax.dynamic_slice_in_dim",
            scope.expr(value),
            starts.places[dim],
            str(sizes[dim]),
            axis=str(dim),
            allow_negative_indices=starts.allowed(dim),
        )
    return call(
        "lax.dynamic_slice",
        scope.expr(value),
        tuple_of(starts.places),
        integers(sizes),
        allow_negative_indices=starts.allowed(),
    )


@JAX.prints(hlo.dynamic_update_slice, idiom.updated)
def dynamic_update_slice(scope: Scope, node: Node) -> Expr:
    value, update, *operands = node.operands
    scope.variable(value)
    starts = _Starts(scope, node, operands, scope.type(update).shape)
    if len(starts.cut) == 1:
        (dim,) = starts.cut
        return call(
            "lax.dynamic_update_slice_in_dim",
            scope.expr(value),
            scope.expr(update),
            starts.places[dim],
            axis=str(dim),
            allow_negative_indices=starts.allowed(dim),
        )
    return call(
        "lax.dynamic_update_slice",
        scope.expr(value),
        scope.expr(update),
        tuple_of(starts.places),
        allow_negative_indices=starts.allowed(),
    )


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
    return call(
        _SCATTERS[kind],
        _table(scope, node, prod(scope.type(places).shape) == len(dims.scatter_dims_to_operand_dims)),
        indices_last(scope, places, dims.index_vector_dim),
        scope.expr(updates),
        numbers,
        mode='"drop"',
    )


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


@JAX.prints(idiom.layer)
def layer(scope: Scope, node: Node) -> Expr:
    """ws[i] along a dimension; the index is clamped unless it is a loop's counter."""
    stack, place = node.operands
    axis = cast(int, node.attrs["axis"])
    if node.attrs["counter"]:
        return index(scope.expr(stack), [*[":"] * axis, scope.index(place)])
    starts = _Starts(scope, node, [place], [1], axis)
    return call(
        "lax.dynamic_index_in_dim",
        scope.expr(stack),
        starts.places[0],
        axis=str(axis) if axis else None,
        keepdims="False",
        allow_negative_indices=starts.allowed(0),
    )


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


@JAX.prints(idiom.put_layer)
def put_layer(scope: Scope, node: Node) -> Expr:
    """ys.at[i].set(y)."""
    stack, update, place = node.operands
    return method(index(attribute(scope.expr(stack), "at"), [scope.index(place)]), "set", scope.expr(update))
