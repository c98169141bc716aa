"""Windows that begin at a place of their own for each row, as jax.vmap makes them of dynamic slices.

    gather of windows         ->  idiom.sliced_each   jax.vmap(lambda row, i: lax.dynamic_slice(row, …))(x, i)
    scatter at clamped places ->  idiom.updated_each  jax.vmap(lambda row, new, i: …)(x, windows, i)

Rows stand in the first dimensions, as many as maps are around the slice; of a gather they may be fewer, and
several windows are of one row then.
"""

from __future__ import annotations

from typing import cast

from shardc.backend.python import idiom
from shardc.backend.python.library_indexing import from_the_end
from shardc.backend.python.library_run import Dims, Found, Other, Run
from shardc.backend.python.ranges import bounds
from shardc.graph import DTYPES, Dense, GatherDims, Node, ScatterDims
from shardc.ops import combiner, hlo
from shardc.semantics.arrays import integer_ends


def sliced_each(run: Run, node: Node) -> Found:
    """Starts may be anywhere: a gather moves them inside, as a dynamic slice does."""
    table, places = node.operands
    dims, maps = cast(GatherDims, node.attrs["dimension_numbers"]), len(run.shape(places)) - 1
    batch = tuple(range(len(dims.operand_batching_dims)))
    row, sizes = run.shape(table)[len(batch) :], cast(Dims, node.attrs["slice_sizes"])[len(batch) :]
    offsets = tuple(range(maps, maps + len(row)))
    run.same(dims, GatherDims(offsets, (), batch, batch, dims.start_index_map, maps))
    mapped = tuple(dim - len(batch) for dim in dims.start_index_map)
    starts, attrs = _starts(run, _columns(run, places, len(mapped)), mapped, row, sizes)
    attrs = {**attrs, "maps": maps, "rows": len(batch), "sizes": sizes}
    return idiom.sliced_each, [table, *starts], attrs


def updated_each(run: Run, node: Node) -> Found:
    """Starts are moved inside before the scatter, which leaves out what is not all inside."""
    run.same((len(node.operands), combiner(node.regions[0], run.program.graph)), (3, "set"))
    table, places, new = node.operands
    dims, maps = cast(ScatterDims, node.attrs["scatter_dimension_numbers"]), len(run.shape(places)) - 1
    batch, row = tuple(range(maps)), run.shape(table)[maps:]
    windows = tuple(range(maps, maps + len(row)))
    mapped = dims.scatter_dims_to_operand_dims
    run.same(dims, ScatterDims(windows, (), batch, batch, mapped, maps))
    sizes = run.shape(new)[maps:]
    mapped = tuple(dim - maps for dim in mapped)
    most = tuple(row[dim] - sizes[dim] for dim in mapped)
    starts, attrs = _starts(run, _columns(run, _inside(run, places, most), len(mapped)), mapped, row, sizes)
    return idiom.updated_each, [table, new, *starts], {**attrs, "maps": maps, "rows": maps, "sizes": sizes}


def _columns(run: Run, places: int, count: int) -> list[int]:
    """The indices of each dimension, a number for each row, of index vectors that stand in the last one."""
    shape = run.shape(places)[:-1]
    run.same(len(shape) > 0, True)
    made = run.program.made.get(places)
    joined = made is not None and made.name in (hlo.concatenate.name, idiom.stack.name)
    parts = made.operands if made is not None and joined else (places,)
    run.same(len(parts), count)
    return [part if run.shape(part) == shape else _flat(run, part, shape) for part in parts]


def _flat(run: Run, part: int, shape: Dims) -> int:
    """What a column of size 1 is made of, in the same order."""
    run.same(run.shape(part), (*shape, 1))
    made = Run(run.program).node(part, hlo.reshape, hlo.broadcast_in_dim)
    (whole,) = made.operands
    kept = made.attrs.get("broadcast_dimensions", tuple(range(len(shape))))
    run.same((run.shape(whole), kept), (shape, tuple(range(len(shape)))))
    return whole


def _starts(
    run: Run, columns: list[int], mapped: Dims, row: Dims, sizes: Dims
) -> tuple[list[int], dict[str, object]]:
    """The starts of the dimensions that are cut, which these are, and which count from the end."""
    cut = tuple(dim for dim, size in enumerate(sizes) if size != row[dim])
    run.same(bool(cut) and set(cut) <= set(mapped), True)
    starts, from_end = list[int](), list[bool]()
    for dim in cut:
        ids = columns[mapped.index(dim)]
        dtype = run.program.graph.type(ids).dtype
        run.same(row[dim] <= integer_ends(DTYPES[dtype][1])[1], True)
        try:
            plain, counts = from_the_end(Run(run.program), ids, row[dim]), True
        except Other:
            plain, counts = ids, dtype.startswith("u")
        starts.append(plain)
        from_end.append(counts)
    run.same(len({run.program.graph.type(start).dtype for start in starts}), 1)
    return starts, {"cut": cut, "from_end": tuple(from_end)}


def _inside(run: Run, places: int, most: Dims) -> int:
    """Index vectors, before they are moved to where windows are all inside; themselves if they are there."""
    made = run.program.made.get(run.before_shapes(places))
    if made is not None and made.name == hlo.clamp.name:
        low, inner, high = run.node(places, hlo.clamp).operands
        run.same((run.number(low), _last(run, high, len(most))), (0, most))
        return inner
    known = bounds(places, run.program.made, run.program.counters)
    run.same(known is not None and 0 <= known[0] and known[1] <= min(most), True)
    return places


def _last(run: Run, value: int, count: int) -> Dims:
    """The numbers along the last dimension of a constant, which are the same everywhere."""
    number = run.program.splat(value)
    if number is not None:
        return (int(cast(int, number)),) * count
    made = run.program.made.get(run.before_shapes(value))
    if made is None or made.name != hlo.constant.name:
        raise Other
    data = cast(Dense, made.attrs["value"]).data
    run.same(data.shape, (count,))
    return tuple(map(int, data))
