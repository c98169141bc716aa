"""Gathers and scatters that are something simpler: what JAX makes of `x[ids]`, of `x[i]` and of slices under
vmap.

gather of whole slices                             ->  idiom.take              jnp.take(table, ids, axis=0)
gather of slices of size 1; reshape without them   ->  gather without them     the same
reshape to slices of size 1; scatter of them       ->  scatter without them    table.at[ids].add(rows)
gather at one place                                ->  dynamic_slice           x[:, i:i + 1]
"""

from __future__ import annotations

from typing import Protocol, cast

from msgspec.structs import replace

from shardc.backend.python import idiom
from shardc.graph import GatherDims, Node, ScatterDims
from shardc.ops import hlo

_RESHAPES = (hlo.reshape.name, hlo.broadcast_in_dim.name)


class Known(Protocol):
    """What is known of the program: the nodes that make its values, and their shapes."""

    made: dict[int, Node]

    def only(self, value: int, *names: str) -> Node | None:
        """The node that makes a value, if it is one of these and nobody else uses it."""
        ...

    def shape(self, value: int) -> tuple[int, ...]:
        """The shape of a value."""
        ...


def take(known: Known, node: Node) -> Node | None:
    """A gather of whole slices along one dimension."""
    node = _along_one(known, node) or node
    dims = cast(GatherDims, node.attrs["dimension_numbers"])
    table, places = node.operands
    shape, rank = known.shape(table), len(known.shape(places))
    if dims.operand_batching_dims or len(dims.start_index_map) != 1:
        return None
    (axis,) = dims.start_index_map
    if dims.collapsed_slice_dims != (axis,):
        return None
    if node.attrs["slice_sizes"] != tuple(1 if d == axis else size for d, size in enumerate(shape)):
        return None
    is_column = dims.index_vector_dim != rank
    if is_column:
        if dims.index_vector_dim != rank - 1:
            return None
        rank -= 1
        column = known.only(places, *_RESHAPES)
        if column is not None and (*known.shape(column.operands[0]), 1) == known.shape(places):
            (places,) = column.operands
            is_column = False
    if dims.offset_dims != (*range(axis), *range(axis + rank, len(shape) - 1 + rank)):
        return None
    attrs = {"axis": axis, "column": is_column}
    return Node(node.id, idiom.take.name, (table, places), node.results, attrs, (), node.loc)


def _along_one(known: Known, node: Node) -> Node | None:
    """A gather by indices of several dimensions, all but one taken whole, whose starts are moved to 0."""
    dims = cast(GatherDims, node.attrs["dimension_numbers"])
    table, places = node.operands
    sizes = cast("tuple[int, ...]", node.attrs["slice_sizes"])
    cut = [dim for dim in dims.start_index_map if sizes[dim] != known.shape(table)[dim]]
    made = known.made.get(places)
    if len(cut) != 1 or len(dims.start_index_map) == 1 or made is None or made.name != hlo.concatenate.name:
        return None
    vector = dims.index_vector_dim
    if made.attrs["dimension"] != vector or any(known.shape(part)[vector] != 1 for part in made.operands):
        return None
    part = made.operands[dims.start_index_map.index(cut[0])]
    simpler = replace(dims, start_index_map=(cut[0],))
    return replace(node, operands=(table, part), attrs={**node.attrs, "dimension_numbers": simpler})


def without_ones(known: Known, node: Node) -> Node | None:
    """The gather that a reshape takes the dimensions of size 1 from, without these."""
    made = known.only(node.operands[0], hlo.gather.name)
    if made is None:
        return None
    dims = cast(GatherDims, made.attrs["dimension_numbers"])
    sizes = cast("tuple[int, ...]", made.attrs["slice_sizes"])
    gone = {*dims.collapsed_slice_dims, *dims.operand_batching_dims}
    kept = [dim for dim in range(len(sizes)) if dim not in gone]
    ones = [dim for dim in kept if dim in dims.start_index_map and sizes[dim] == 1]
    dropped = {dims.offset_dims[kept.index(dim)] for dim in ones}
    shape = known.shape(made.results[0])
    left = [place for place in range(len(shape)) if place not in dropped]
    if not ones or known.shape(node.results[0]) != tuple(shape[place] for place in left):
        return None
    offsets = tuple(left.index(place) for place in dims.offset_dims if place not in dropped)
    collapsed = tuple(sorted((*dims.collapsed_slice_dims, *ones)))
    simpler = replace(dims, offset_dims=offsets, collapsed_slice_dims=collapsed)
    attrs = {**made.attrs, "dimension_numbers": simpler}
    return replace(made, results=node.results, loc=node.loc, attrs=attrs)


def put_without_ones(known: Known, node: Node) -> Node | None:
    """The scatter of updates that a reshape gives dimensions of size 1 for what is indexed, without these."""
    if len(node.operands) != 3:
        return None
    table, places, updates = node.operands
    made = known.only(updates, *_RESHAPES)
    if made is None:
        return None
    dims, shape = cast(ScatterDims, node.attrs["scatter_dimension_numbers"]), known.shape(updates)
    gone = {*dims.inserted_window_dims, *dims.input_batching_dims}
    kept = [dim for dim in range(len(known.shape(table))) if dim not in gone]
    window = dict(zip(kept, dims.update_window_dims, strict=True))
    mapped = dims.scatter_dims_to_operand_dims
    ones = [dim for dim, of in window.items() if dim in mapped and shape[of] == 1]
    left = [place for place in range(len(shape)) if place not in [window[dim] for dim in ones]]
    if not ones or known.shape(made.operands[0]) != tuple(shape[place] for place in left):
        return None
    if made.attrs.get("broadcast_dimensions", tuple(left)) != tuple(left):
        return None
    windows = tuple(left.index(of) for dim, of in window.items() if dim not in ones)
    inserted = tuple(sorted((*dims.inserted_window_dims, *ones)))
    simpler = replace(dims, update_window_dims=windows, inserted_window_dims=inserted)
    attrs = {**node.attrs, "scatter_dimension_numbers": simpler}
    return replace(node, operands=(table, places, made.operands[0]), attrs=attrs)


def at_one_place(known: Known, node: Node) -> Node | None:
    """A gather of one slice that is cut in one dimension."""
    dims = cast(GatherDims, node.attrs["dimension_numbers"])
    table, places = node.operands
    shape, sizes = known.shape(table), cast("tuple[int, ...]", node.attrs["slice_sizes"])
    cut = [dim for dim, size in enumerate(sizes) if size != shape[dim]]
    if len(known.shape(places)) != 1 or dims.index_vector_dim != 0 or dims.collapsed_slice_dims:
        return None
    if len(cut) != 1 or cut[0] not in dims.start_index_map:
        return None
    start = _element(known, places, dims.start_index_map.index(cut[0]))
    if start is None:
        return None
    starts = (start,) * len(shape)  # where all is taken, the start is moved to 0
    return Node(
        node.id, hlo.dynamic_slice.name, (table, *starts), node.results, {"slice_sizes": sizes}, (), node.loc
    )


def _element(known: Known, vector: int, number: int) -> int | None:
    """The scalar that is an element of a vector."""
    made = known.made.get(vector)
    if made is None or known.shape(vector) == ():
        return None
    if made.name == hlo.concatenate.name:
        parts = made.operands
        one_each = all(known.shape(part) == (1,) for part in parts)
        return _element(known, parts[number], 0) if one_each else None
    if made.name in _RESHAPES and known.shape(made.operands[0]) == ():
        return made.operands[0]
    return None
