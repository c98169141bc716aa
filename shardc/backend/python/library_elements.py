"""Gathers and scatters at an index of each of several dimensions, as runs of nodes: `y[jnp.arange(4), j]`.

A batch dimension, as jax.vmap makes it, is indexed by its own numbers. Indices count from the end if
negative; `y[i, j]` takes the nearest element where there is none, `y.at[i, j].set(v)` leaves it out.
Where they do not count so, `.get` and `.set` say it. Numbers that are known are places and slices:
`y.at[:, 2:4].set(v)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from shardc.backend.python import idiom
from shardc.backend.python.library_indexing import PUT_BY, alongside, from_the_end
from shardc.backend.python.library_run import Dims, Found, Other, Run
from shardc.graph import Dense, GatherDims, Node, ScatterDims
from shardc.ops import combiner, hlo

Entry = tuple[str, int, int]
"""What stands for a dimension in the brackets: `:`, the index `number`, or the numbers of batch dimension
`number`, of a size."""

WHOLE: Entry = ("whole", 0, 0)


def elements(run: Run, node: Node) -> Found:
    """Of the dimensions that are not cut, the starts say nothing."""
    return _elements(run, node, True)


def elements_by_numbers(run: Run, node: Node) -> Found:
    """At indices that do not count from the end."""
    return _elements(run, node, False)


def _elements(run: Run, node: Node, wraps: bool) -> Found:
    table, places = node.operands
    run.same(_is_tested(run, node), False)
    dims, shape = cast(GatherDims, node.attrs["dimension_numbers"]), run.shape(table)
    batch = dict(zip(dims.operand_batching_dims, dims.start_indices_batching_dims, strict=True))
    indexed = dims.collapsed_slice_dims
    sizes = tuple(1 if dim in batch or dim in indexed else size for dim, size in enumerate(shape))
    run.same(node.attrs["slice_sizes"], sizes)
    by = dims.start_index_map, dims.index_vector_dim
    entries, ids = _entries(run, shape, places, batch, indexed, by, wraps)
    rank = len(run.shape(places)) - (by[1] < len(run.shape(places)))
    run.same(dims.offset_dims, _windows(entries, rank))
    return idiom.elements, [table, *ids], {"at": entries, "rank": rank, "wraps": wraps}


def rows_from_the_end(run: Run, node: Node) -> Found:
    """Whole slices along one dimension: not where the indices are tested for both ends, as jnp.take does, or
    for neither.
    """
    places = node.operands[1]
    dims = cast(GatherDims, node.attrs["dimension_numbers"])
    run.same((len(dims.start_index_map), dims.operand_batching_dims), (1, ()))
    run.same(places in run.program.compared, False)
    found = elements(run, node)
    column = Run(run.program).node(places, hlo.reshape, hlo.broadcast_in_dim)
    made = run.program.made.get(found[1][1])
    was_tested = made is not None and made.name == idiom.same.name  # and found not to be negative
    run.same(was_tested or found[1][1] not in column.operands, True)
    return found


def put_elements(run: Run, node: Node) -> Found:
    """All indices are of dimensions that are cut."""
    return _put_elements(run, node, True)


def put_elements_by_numbers(run: Run, node: Node) -> Found:
    """At indices that do not count from the end."""
    return _put_elements(run, node, False)


def _put_elements(run: Run, node: Node, wraps: bool) -> Found:
    run.same(len(node.operands), 3)
    table, places, updates = node.operands
    dims, shape = cast(ScatterDims, node.attrs["scatter_dimension_numbers"]), run.shape(table)
    batch = dict(zip(dims.input_batching_dims, dims.scatter_indices_batching_dims, strict=True))
    indexed, mapped = dims.inserted_window_dims, dims.scatter_dims_to_operand_dims
    run.same(sorted(mapped), sorted(indexed))
    by = mapped, dims.index_vector_dim
    entries, ids = _entries(run, shape, places, batch, indexed, by, wraps)
    rank = len(run.shape(places)) - (by[1] < len(run.shape(places)))
    windows = _windows(entries, rank)
    whole = [size for entry, size in zip(entries, shape, strict=True) if entry == WHOLE]
    run.same(dims.update_window_dims, windows)
    run.same([run.shape(updates)[dim] for dim in windows], whole)
    kind = combiner(node.regions[0], run.program.graph)
    run.same(kind in PUT_BY, True)
    attrs: dict[str, object] = {"at": entries, "kind": kind, "rank": rank, "wraps": wraps}
    return idiom.put_elements, [table, updates, *ids], attrs


def put_slices(run: Run, node: Node) -> Found:
    """What stands from one known place on, all of it there."""
    run.same(len(node.operands), 3)
    table, places, updates = node.operands
    dims, shape = cast(ScatterDims, node.attrs["scatter_dimension_numbers"]), run.shape(table)
    mapped, inserted = dims.scatter_dims_to_operand_dims, dims.inserted_window_dims
    run.same((run.shape(places), dims.input_batching_dims), ((len(mapped),), ()))
    starts = dict(zip(mapped, _numbers(run, places), strict=True))
    sizes = iter(run.shape(updates))
    ends = [
        (starts.get(dim, 0), 0 if dim in inserted else next(sizes), whole) for dim, whole in enumerate(shape)
    ]
    run.same(dims.update_window_dims, tuple(range(len(shape) - len(inserted))))
    run.same(all(0 <= start <= whole - max(size, 1) for start, size, whole in ends), True)
    kind = combiner(node.regions[0], run.program.graph)
    run.same(kind in PUT_BY and any(size != whole for _, size, whole in ends), True)
    return idiom.put_slices, [table, updates], {"at": tuple(ends), "kind": kind}


def _numbers(run: Run, value: int) -> tuple[int, ...]:
    """The integers in a constant of one dimension, or in several joined."""
    (count,), number, made = run.shape(value), run.program.splat(value), run.program.made.get(value)
    if number is not None:
        return (int(cast(int, number)),) * count
    if made is not None and made.name == hlo.constant.name:
        return tuple(map(int, cast(Dense, made.attrs["value"]).data))
    parts = run.node(value, hlo.concatenate).operands
    return tuple(number for part in parts for number in _numbers(run, part))


def _is_tested(run: Run, node: Node) -> bool:
    """Whether it may be jnp.take_along_axis's, whose indices are tested for both ends too."""
    try:
        alongside(Run(run.program), node)
    except Other:
        return False
    return node.operands[1] in run.program.compared


def _entries(
    run: Run,
    shape: Dims,
    places: int,
    batch: dict[int, int],
    indexed: Dims,
    by: tuple[Dims, int],
    wraps: bool,
) -> tuple[tuple[Entry, ...], list[int]]:
    """What stands for each dimension, and the indices, of one shape, or columns where they do not wrap."""
    mapped, vector = by
    run.same(bool(indexed) and set(indexed) <= set(mapped), True)
    full = run.shape(places)
    apart = full[:vector] + full[vector + 1 :]
    run.same(len(apart) > 0, True)
    parts = _parts(run, places, len(mapped), vector)
    entries, ids = list[Entry](), list[int]()
    for dim, size in enumerate(shape):
        if dim in batch:
            along = batch[dim] - (batch[dim] > vector)
            entries.append(("numbers", along, size))
        elif dim in indexed:
            entries.append(("index", len(ids), 0))
            part = parts[mapped.index(dim)]
            ids.append(_index(run, part, apart, size) if wraps else _as_it_is(run, part, apart, vector))
        else:
            entries.append(WHOLE)
    return tuple(entries), ids


def _parts(run: Run, places: int, count: int, vector: int) -> Sequence[int]:
    """The components of index vectors."""
    if count == 1:
        return [places]
    joined = Run(run.program).node(places, hlo.concatenate)
    run.same((joined.results[0], joined.attrs["dimension"]), (places, vector))
    run.same([run.shape(part)[vector] for part in joined.operands], [1] * count)
    return joined.operands


def _index(run: Run, part: int, shape: Dims, size: int) -> int:
    """The indices of one dimension, of which `part` is made; others may use the same ones."""
    apart = Run(run.program)
    if run.shape(part) != shape:
        made = apart.node(part, hlo.reshape, hlo.broadcast_in_dim)
        (part,) = made.operands
        kept = made.attrs.get("broadcast_dimensions", tuple(range(len(shape))))
        run.same((run.shape(part), kept), (shape, tuple(range(len(shape)))))
    ids = from_the_end(apart, part, size)
    run.same(run.shape(ids), shape)
    return ids


def _as_it_is(run: Run, part: int, shape: Dims, vector: int) -> int:
    """The same, as they are: of the shape, or with a last dimension of size 1."""
    made = run.program.made.get(part)
    if made is not None and made.name == hlo.reshape.name and run.shape(made.operands[0]) == shape:
        return made.operands[0]
    run.same(run.shape(part) == shape or (run.shape(part) == (*shape, 1) and vector == len(shape)), True)
    return part


def _windows(entries: Sequence[Entry], rank: int) -> Dims:
    """Where in the result Python's indexing leaves the whole dimensions, given the rank of the indices.

    Dimensions of indices stand where the indexed ones stood, if these are neighbours, else first.
    """
    taken = [dim for dim, entry in enumerate(entries) if entry != WHOLE]
    together = taken == list(range(taken[0], taken[0] + len(taken)))
    before = taken[0] if together else 0
    after = len(entries) - len(taken) - before
    return (*range(before), *range(before + rank, before + rank + after))
