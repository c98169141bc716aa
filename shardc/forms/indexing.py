"""Local forms of gather and scatter on a table whose indexed dimensions are split.

Each device serves the indices that fall into its own rows. What a gather finds elsewhere is zero here, so
the result is a partial sum; a scatter drops what does not fall into the block, as it always does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, cast

from shardc.forms.factors import looked_up, written
from shardc.forms.plain import SIZED
from shardc.forms.registry import form
from shardc.forms.site import INDEX, Site, compare, offset, scalar, spread, wide
from shardc.graph import GatherDims, ScatterDims, TensorType
from shardc.graph.builder import Builder
from shardc.layout import Axis
from shardc.ops import hlo

Change = Callable[[Builder[Any], Any], Any]


@form(hlo.gather, "masked", looked_up)
def gather(site: Site) -> list[Any]:
    """gather(table, ids) -> where(the id is mine, gather(block, ids - start), 0): partial over the axes.

    Where no index says which row, the first is meant.
    """
    numbers = cast(GatherDims, site.op.attrs["dimension_numbers"])
    sizes = cast(tuple[int, ...], site.op.attrs["slice_sizes"])
    table, indices = site.operands
    whole, batched = site.op.operands[0].shape, numbers.operand_batching_dims
    split = _split(site, [d for d, n in enumerate(whole) if sizes[d] < n and d not in batched])
    attrs = SIZED[site.op.name](site)
    if not split:
        return site.plain(None, **attrs)
    b = site.builder
    indices = wide(b, indices)
    mine = None
    for dim in split:
        block = b.type_of(table).shape[dim]
        if dim in numbers.start_index_map:
            component = numbers.start_index_map.index(dim)
            for change in (_Clamp(whole[dim] - sizes[dim]), _Shift(_axes(site, dim), block)):
                indices = _update(b, indices, numbers.index_vector_dim, component, change)
            found = _inside(b, _component(b, indices, numbers.index_vector_dim, component), block)
        else:
            shape = _without_vector(b.type_of(indices).shape, numbers.index_vector_dim)
            found = spread(b, _is_first(b, _axes(site, dim), block), shape)
        mine = found if mine is None else b.one(hlo.and_.name, mine, found)
    (rows,) = site.plain([table, indices], **attrs)
    type = b.type_of(rows)
    batch = tuple(d for d in range(type.rank) if d not in numbers.offset_dims)
    keep = spread(b, mine, type.shape, batch)
    return [b.one(hlo.select.name, keep, rows, scalar(b, 0, type))]


@form(hlo.scatter, "masked", written)
def scatter(site: Site) -> list[Any]:
    """scatter(table, ids, updates) -> scatter(block, ids - start, updates): other rows are out of bounds.

    Where no index says which row, the first is meant: devices without it keep their block.
    """
    numbers = cast(ScatterDims, site.op.attrs["scatter_dimension_numbers"])
    count = len(site.op.results)
    tables, indices, updates = site.operands[:count], site.operands[count], site.operands[count + 1 :]
    b = site.builder
    split = _split(site, list(numbers.inserted_window_dims))
    indices = wide(b, indices) if split else indices
    first: list[Any] = []
    for dim in split:
        block = b.type_of(tables[0]).shape[dim]
        axes = _axes(site, dim)
        if dim in numbers.scatter_dims_to_operand_dims:
            component = numbers.scatter_dims_to_operand_dims.index(dim)
            indices = _update(b, indices, numbers.index_vector_dim, component, _Shift(axes, block))
        else:
            first.append(_is_first(b, axes, block))
    results = site.plain([*tables, indices, *updates])
    if not first:
        return results
    mine = reduce(lambda one, other: b.one(hlo.and_.name, one, other), first)
    return [b.one(hlo.select.name, mine, new, old) for new, old in zip(results, tables, strict=True)]


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


def _is_first(b: Builder[Any], axes: tuple[Axis, ...], block: int) -> Any:
    """Whether a device has the first block of a dimension: where the table is not indexed, 0 is meant."""
    return compare(b, offset(b, axes, block), "EQ", scalar(b, 0, INDEX))


def _update(b: Builder[Any], indices: Any, vector_dim: int, component: int, change: Change) -> Any:
    """`indices` with one component of every index vector changed; the only one without their dimension."""
    type = b.type_of(indices)
    if vector_dim == type.rank:
        return change(b, indices)
    if type.shape[vector_dim] == 1:
        changed = change(b, _component(b, indices, vector_dim, 0))
        return b.one(hlo.reshape.name, changed, result=type)
    parts = [_cut(b, indices, vector_dim, i) for i in range(type.shape[vector_dim])]
    parts[component] = change(b, parts[component])
    return b.op(hlo.concatenate.name, *parts, dimension=vector_dim)[0]


def _component(b: Builder[Any], indices: Any, vector_dim: int, component: int) -> Any:
    """One component of every index vector, without the vector dimension."""
    type = b.type_of(indices)
    if vector_dim == type.rank:
        return indices
    part = _cut(b, indices, vector_dim, component) if type.shape[vector_dim] > 1 else indices
    return b.one(hlo.reshape.name, part, result=type.with_shape(_without_vector(type.shape, vector_dim)))


def _without_vector(shape: tuple[int, ...], vector_dim: int) -> tuple[int, ...]:
    return tuple(n for d, n in enumerate(shape) if d != vector_dim)


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
