"""Local forms of gather and scatter on a table whose indexed dimensions are split.

Each device serves the indices that fall into its own rows. What a gather finds elsewhere is zero here, so
the result is a partial sum; a scatter drops what does not fall into the block, as it always does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from shardc.forms.factors import looked_up, written
from shardc.forms.plain import SIZED
from shardc.forms.registry import form
from shardc.forms.site import INDEX, Site, compare, offset, scalar, spread
from shardc.graph import GatherDims, ScatterDims, TensorType
from shardc.graph.builder import Builder
from shardc.layout import Axis
from shardc.ops import hlo


@form(hlo.gather, "masked", looked_up)
def gather(site: Site) -> list[Any]:
    """gather(table, ids) -> where(the id is mine, gather(block, ids - start), 0): partial over the axes."""
    numbers = cast(GatherDims, site.op.attrs["dimension_numbers"])
    sizes = cast(tuple[int, ...], site.op.attrs["slice_sizes"])
    table, indices = site.operands
    split = _split(site, [d for d in numbers.start_index_map if sizes[d] < site.op.operands[0].shape[d]])
    attrs = SIZED[site.op.name](site)
    if not split:
        return site.plain(None, **attrs)
    b = site.builder
    mine = None
    for dim in split:
        component = numbers.start_index_map.index(dim)
        limit = site.op.operands[0].shape[dim] - sizes[dim]
        indices = _update(b, indices, numbers.index_vector_dim, component, _Clamp(limit))
        block = b.type_of(table).shape[dim]
        indices = _update(b, indices, numbers.index_vector_dim, component, _Shift(_axes(site, dim), block))
        found = _inside(b, _component(b, indices, numbers.index_vector_dim, component), block)
        mine = found if mine is None else b.one(hlo.and_.name, mine, found)
    (rows,) = site.plain([table, indices], **attrs)
    type = b.type_of(rows)
    batch = tuple(d for d in range(type.rank) if d not in numbers.offset_dims)
    keep = spread(b, mine, type.shape, batch)
    return [b.one(hlo.select.name, keep, rows, scalar(b, 0, type))]


@form(hlo.scatter, "masked", written)
def scatter(site: Site) -> list[Any]:
    """scatter(table, ids, updates) -> scatter(block, ids - start, updates): other rows are out of bounds."""
    numbers = cast(ScatterDims, site.op.attrs["scatter_dimension_numbers"])
    count = len(site.op.results)
    tables, indices, updates = site.operands[:count], site.operands[count], site.operands[count + 1 :]
    for dim in _split(site, list(numbers.inserted_window_dims)):
        component = numbers.scatter_dims_to_operand_dims.index(dim)
        block = site.builder.type_of(tables[0]).shape[dim]
        shift = _Shift(_axes(site, dim), block)
        indices = _update(site.builder, indices, numbers.index_vector_dim, component, shift)
    return site.plain([*tables, indices, *updates])


def _split(site: Site, dims: Sequence[int]) -> list[int]:
    return [dim for dim in dims if site.operand_shardings[0].dims[dim].axes]


def _axes(site: Site, dim: int) -> tuple[Axis, ...]:
    return site.operand_shardings[0].dims[dim].axes


class _Clamp:
    """Indices forced into 0 … limit, as a gather has it."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def __call__(self, b: Builder[Any], indices: Any) -> Any:
        type = b.type_of(indices).with_shape(())
        return b.one(hlo.clamp.name, scalar(b, 0, type), indices, scalar(b, self.limit, type))


class _Shift:
    """Indices counted from the start of this device's block."""

    def __init__(self, axes: tuple[Axis, ...], block: int) -> None:
        self.axes, self.block = axes, block

    def __call__(self, b: Builder[Any], indices: Any) -> Any:
        type = b.type_of(indices)
        start = offset(b, self.axes, self.block)
        if type.dtype != INDEX.dtype:
            start = b.one(hlo.convert.name, start, result=TensorType((), type.dtype))
        return b.one(hlo.subtract.name, indices, spread(b, start, type.shape))


def _update(b: Builder[Any], indices: Any, vector_dim: int, component: int, change: _Clamp | _Shift) -> Any:
    """`indices` with one component of every index vector changed."""
    type = b.type_of(indices)
    if vector_dim == type.rank or type.shape[vector_dim] == 1:
        return change(b, indices)
    parts = [_cut(b, indices, vector_dim, i) for i in range(type.shape[vector_dim])]
    parts[component] = change(b, parts[component])
    return b.op(hlo.concatenate.name, *parts, dimension=vector_dim)[0]


def _component(b: Builder[Any], indices: Any, vector_dim: int, component: int) -> Any:
    """One component of every index vector, without the vector dimension."""
    type = b.type_of(indices)
    if vector_dim == type.rank:
        return indices
    part = _cut(b, indices, vector_dim, component) if type.shape[vector_dim] > 1 else indices
    shape = tuple(n for d, n in enumerate(type.shape) if d != vector_dim)
    return b.one(hlo.reshape.name, part, result=type.with_shape(shape))


def _cut(b: Builder[Any], value: Any, dim: int, index: int) -> Any:
    shape = b.type_of(value).shape
    start = tuple(index if d == dim else 0 for d in range(len(shape)))
    limit = tuple(index + 1 if d == dim else n for d, n in enumerate(shape))
    return b.one(hlo.slice_.name, value, start_indices=start, limit_indices=limit, strides=(1,) * len(shape))


def _inside(b: Builder[Any], indices: Any, block: int) -> Any:
    """Whether each index lies in 0 … block - 1."""
    type = b.type_of(indices)
    low = compare(b, indices, "GE", scalar(b, 0, type))
    return b.one(hlo.and_.name, low, compare(b, indices, "LT", scalar(b, block, type)))
