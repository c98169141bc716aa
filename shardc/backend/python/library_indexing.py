"""Gathers and scatters of one call, as runs of nodes: `jnp.take`, `x[:, 3]`, `x.at[:, i].set(v)`."""

from __future__ import annotations

from math import isnan, prod
from typing import cast

from msgspec.structs import replace

from shardc.backend.python import idiom
from shardc.backend.python.library_run import Dims, Found, Other, Run
from shardc.backend.python.ranges import bounds
from shardc.graph import DTYPES, GatherDims, Node, ScatterDims, is_integer
from shardc.ops import combiner, hlo
from shardc.semantics.arrays import integer_ends

PUT_BY = {
    "set": "set",
    "sum": "add",
    "prod": "multiply",
    "max": "max",
    "min": "min",
    "or": "max",
    "and": "min",
}
"""The methods of `x.at[i]`, by how they combine."""


def take_along(run: Run, node: Node) -> Found:
    """Elements by indices that count from the end if negative, and NaN where there is none. Who uses the
    indices, or whether they are inside, besides, as the derivative does, has them computed for himself.
    """
    rows = node.operands[1]
    gather = run.node(rows, hlo.gather)
    axis, size = alongside(run, gather)
    run.same(run.shape(rows), run.shape(node.results[0]))
    run.same(_filled(run, node, gather.operands[1], size), _narrow(gather))
    return _along(Run(run.program), gather, axis, {})


def take_along_clipped(run: Run, node: Node) -> Found:
    """Elements by indices that count from the end if negative, and the last where there is none."""
    run.same(len(_narrow(node)), len(run.shape(node.operands[0])))
    return take_rows_clipped(run, node)


def take_rows_clipped(run: Run, node: Node) -> Found:
    """The same with dimensions that are taken whole."""
    axis, _ = alongside(run, node)
    return _along(run, node, axis, {"mode": "clip"})


def alongside(run: Run, gather: Node) -> tuple[int, int]:
    """The dimension along which a gather takes elements, each beside its index, and its size. Dimensions in
    which indices would have size 1 are taken whole.
    """
    table, places = gather.operands
    shape, narrow = run.shape(table), _narrow(gather)
    dims = cast(GatherDims, gather.attrs["dimension_numbers"])
    (axis,) = dims.start_index_map if len(dims.start_index_map) == 1 else (-1,)
    run.same(axis in narrow, True)
    beside = tuple(dim for dim in narrow if dim != axis)
    run.same(bool(beside) or len(shape) == 1, True)
    batch = tuple(place for place, dim in enumerate(narrow) if dim != axis)
    wanted = GatherDims(dims.offset_dims, (axis,), beside, batch, (axis,), len(narrow))
    sizes = tuple(1 if dim in narrow else size for dim, size in enumerate(shape))
    run.same((dims, gather.attrs["slice_sizes"]), (wanted, sizes))
    run.same(run.shape(places), (*(run.shape(gather.results[0])[dim] for dim in narrow), 1))
    return axis, shape[axis]


def _narrow(gather: Node) -> Dims:
    """The dimensions of a gather's result that its indices have."""
    dims = cast(GatherDims, gather.attrs["dimension_numbers"])
    rank = len(cast(Dims, gather.attrs["slice_sizes"]))
    return tuple(dim for dim in range(rank) if dim not in dims.offset_dims)


def _along(run: Run, gather: Node, axis: int, attrs: dict[str, object]) -> Found:
    (table, ids), narrow = gather.operands, _narrow(gather)
    result = run.shape(gather.results[0])
    beside = tuple(size if dim in narrow else 1 for dim, size in enumerate(result))
    if len(narrow) == len(result) or run.shape(ids) != beside:
        ids = run.node(ids, hlo.reshape).operands[0]
    run.same(run.shape(ids), beside)
    plain = from_the_end(run, ids, run.shape(table)[axis])
    return idiom.take_along, [table, plain], {"axis": axis, **attrs}


def take_filled(run: Run, node: Node) -> Found:
    """Slices by such indices. Who uses what is found of them besides has it computed for himself."""
    rows = node.operands[1]
    take = run.node(rows, idiom.take)
    run.same(run.shape(rows), run.shape(node.results[0]))
    table, places = take.operands
    axis, shape = cast(int, take.attrs["axis"]), run.shape(table)
    number = run.program.splat(places)
    if number is not None:
        run.same((prod(run.shape(places)), len(run.shape(rows))), (1, len(shape) - 1))
        place = int(cast(int, number))
        run.same(0 <= place < shape[axis], True)
        _filled(run, node, None, shape[axis])
        return idiom.item, [table], {"at": ((axis, place),)}
    run.same(take.attrs["column"], True)
    rank = len(run.shape(places)) - 1
    run.same(_filled(run, node, places, shape[axis]), tuple(range(axis, axis + rank)))
    apart = Run(run.program)
    ids = apart.node(places, hlo.reshape, hlo.broadcast_in_dim).operands[0]
    run.same((*run.shape(ids), 1), run.shape(places))
    return idiom.take_filled, [table, from_the_end(apart, ids, shape[axis])], {"axis": axis}


def put(run: Run, node: Node) -> Found:
    """Slices combined with others at such indices, of which those beyond the ends are left out; or at indices
    that do not count from the end.
    """
    run.same(len(node.operands), 3)
    table, places, updates = node.operands
    shape, dims = run.shape(table), cast(ScatterDims, node.attrs["scatter_dimension_numbers"])
    axis, rank = (*dims.scatter_dims_to_operand_dims, 0)[0], len(run.shape(places)) - 1
    run.same(replace(dims, update_window_dims=()), ScatterDims((), (axis,), (), (), (axis,), rank))
    scattered = [d for d in range(len(run.shape(updates))) if d not in dims.update_window_dims]
    order = [*dims.update_window_dims[:axis], *scattered, *dims.update_window_dims[axis:]]
    whole = *shape[:axis], *shape[axis + 1 :]
    run.same(tuple(run.shape(updates)[d] for d in dims.update_window_dims), whole)
    if order != sorted(order):
        moved = run.program.made.get(updates)
        run.same(moved and moved.name, hlo.transpose.name)
        permutation = cast(Dims, run.node(updates, hlo.transpose).attrs["permutation"])
        run.same([permutation[d] for d in order], sorted(order))
        updates = cast(Node, moved).operands[0]
    ids, attrs = _put_at(run, places, rank, shape[axis])
    kind = combiner(node.regions[0], run.program.graph)
    run.same(kind in PUT_BY, True)
    return idiom.put, [table, ids, updates], {"axis": axis, "kind": kind, **attrs}


def _put_at(run: Run, places: int, rank: int, size: int) -> tuple[int, dict[str, object]]:
    """The indices of a scatter, which are `places` or what is a column there, and what the idiom says of
    them. Who uses them besides has them computed for himself.
    """
    try:
        apart = Run(run.program)
        made = apart.node(places, hlo.reshape, hlo.broadcast_in_dim)
        (ids,) = made.operands
        run.same(made.attrs.get("broadcast_dimensions", tuple(range(rank))), tuple(range(rank)))
        run.same((*run.shape(ids), 1), run.shape(places))
    except Other:
        return places, {"column": True, "wraps": _is_from_zero(run, places)}
    try:
        plain = from_the_end(apart, ids, size)
        run.same(run.shape(plain), run.shape(ids))
    except Other:
        return ids, {"column": False, "wraps": False}
    return plain, {"column": False, "wraps": True}


def _filled(run: Run, node: Node, places: int | None, size: int) -> Dims:
    """Where in a choice the dimensions of indices are, which is NaN where one is not from 0 to the size.

    Without `places`, the indices are constants.
    """
    run = Run(run.program)
    found, _, fill = node.operands
    run.same(_is_filling(run, fill), True)
    inside = run.node(found, hlo.reduce, idiom.keepdims)
    rank = len(run.shape(inside.operands[0]))
    kind = combiner(inside.regions[0], run.program.graph)
    run.same((kind, inside.attrs["dimensions"]), ("and", (rank - 1,)))
    run.same(bool(run.number(inside.operands[1])), True)
    bounds = [run.node(value, hlo.compare) for value in run.node(inside.operands[0], hlo.and_).operands]
    for test, direction, bound in zip(bounds, ("GE", "LE"), (0, size - 1), strict=True):
        run.same((test.attrs["comparison_direction"], run.number(test.operands[1])), (direction, bound))
        if places is None:
            run.same(0 <= run.number(test.operands[0]) < size, True)
        else:
            run.same(test.operands[0], places)
    if inside.name == idiom.keepdims.name:
        run.same(inside.results[0], found)
        return tuple(range(rank - 1))
    return _dims_in(run, found, inside.results[0])


def _is_filling(run: Run, value: int) -> bool:
    """Whether JAX puts it where there is no element: NaN, the least integer, the greatest unsigned."""
    number, dtype = run.program.splat(value), run.program.graph.type(value).dtype
    if number is None or not is_integer(dtype):
        return isnan(run.number(value))
    least, most = integer_ends(DTYPES[dtype][1])
    return int(cast(int, number)) == (least or most)


def _dims_in(run: Run, value: int, source: int) -> Dims:
    """Where the dimensions of a source are in a value that repeats it."""
    if value == source:
        return tuple(range(len(run.shape(source))))
    made = run.program.made[value]
    if made.name == idiom.same.name:
        return _dims_in(run, made.operands[0], source)
    run.same(made.name, hlo.broadcast_in_dim.name)
    places = cast(Dims, made.attrs["broadcast_dimensions"])
    return tuple(places[dim] for dim in _dims_in(run, made.operands[0], source))


def from_the_end(run: Run, ids: int, size: int) -> int:
    """What stands for itself plus the size where it is negative; itself where it never is."""
    if _is_from_zero(run, ids):
        return ids
    made = run.node(ids, hlo.select)
    test, more, plain = made.operands
    negative = run.node(test, hlo.compare)
    run.same((negative.operands[0], negative.attrs["comparison_direction"]), (plain, "LT"))
    run.same((run.number(negative.operands[1]), run.other(run.node(more, hlo.add), size)), (0, plain))
    return plain


def _is_from_zero(run: Run, ids: int) -> bool:
    """Whether no index is negative."""
    known = bounds(ids, run.program.made, run.program.counters)
    return known is not None and known[0] >= 0
