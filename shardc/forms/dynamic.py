"""Local forms of slice, dynamic_slice and dynamic_update_slice along split dimensions.

A slice that may reach over a block's borders is cut from the block set between two stretches of zeros as long
as the slice, so that it reads zeros there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from typing import Any, cast

from shardc.forms.factors import sliced, written
from shardc.forms.plain import SIZED
from shardc.forms.registry import After, form
from shardc.forms.site import INDEX, Site, compare, offset, scalar, spread, wide
from shardc.graph import TensorType
from shardc.graph.builder import Builder
from shardc.ops import hlo, spmd

Ints = tuple[int, ...]


@form(hlo.dynamic_slice, "masked", sliced, After.PARTIAL)
def dynamic_slice(site: Site) -> list[Any]:
    """dynamic_slice(x, i) -> the part of it that lies in this block, zeros elsewhere: a partial sum."""
    b, (x, *starts) = site.builder, site.operands
    sizes = list(cast(Ints, SIZED[site.op.name](site)["slice_sizes"]))
    starts = [wide(b, start) for start in starts]
    inside: list[Any] = []
    for dim, size in _sliced(site):
        axes, block = site.operand_shardings[0].dims[dim].axes, b.type_of(x).shape[dim]
        start = _clamped(b, starts[dim], site.op.operands[0].shape[dim] - size)
        local = b.one(hlo.subtract.name, start, _like(b, offset(b, axes, block), start))
        if size == 1:
            inside.append(_between(b, local, block))
            starts[dim] = _clamped(b, local, block - 1)
        else:
            x = between_zeros(b, x, dim, size)
            local = b.one(hlo.add.name, local, scalar(b, size, b.type_of(start)))
            starts[dim] = _clamped(b, local, block + size)
        sizes[dim] = size
    (taken,) = b.op(site.op.name, x, *starts, slice_sizes=tuple(sizes))
    return [_where(b, inside, taken)]


@form(hlo.slice_, "masked", sliced, After.PARTIAL)
def static_slice(site: Site) -> list[Any]:
    """slice(x) -> the part of it that lies in this block, zeros elsewhere: a partial sum.

    Where one block has the whole slice, its owner slices that block.
    """
    b, (x,) = site.builder, site.operands
    starts, ends = (list(cast(Ints, site.op.attrs[key])) for key in ("start_indices", "limit_indices"))
    limits = list(cast(Ints, SIZED[site.op.name](site)["limit_indices"]))
    inside: list[Any] = []
    for dim, _ in _sliced(site):
        axes, block = site.operand_shardings[0].dims[dim].axes, b.type_of(x).shape[dim]
        start, limit = starts[dim], ends[dim]
        owner = start // block
        if (limit - 1) // block == owner:
            index = b.one(spmd.axis_index.name, axes=axes)
            inside.append(compare(b, index, "EQ", scalar(b, owner, INDEX)))
            starts[dim], limits[dim] = start - owner * block, limit - owner * block
        else:
            span = limit - start
            first = b.one(hlo.subtract.name, scalar(b, start + span, INDEX), offset(b, axes, block))
            x = between_zeros(b, x, dim, span)
            x = _window(b, x, dim, _clamped(b, first, block + span), span)
            starts[dim], limits[dim] = 0, span
    (taken,) = b.op(
        site.op.name,
        x,
        start_indices=tuple(starts),
        limit_indices=tuple(limits),
        strides=site.op.attrs["strides"],
    )
    return [_where(b, inside, taken)]


def _sliced(site: Site) -> list[tuple[int, int]]:
    """(dimension, size of the slice) for the split dimensions that are not taken whole."""
    whole, taken = site.op.operands[0].shape, site.op.results[0].shape
    split = site.operand_shardings[0].dims
    return [(d, size) for d, size in enumerate(taken) if split[d].axes and size != whole[d]]


def _between(b: Builder[Any], index: Any, limit: int) -> Any:
    """0 <= index < limit, elementwise."""
    type = b.type_of(index)
    low, high = (spread(b, scalar(b, end, type.with_shape(())), type.shape) for end in (0, limit))
    return b.one(hlo.and_.name, compare(b, index, "GE", low), compare(b, index, "LT", high))


def _where(b: Builder[Any], conditions: list[Any], value: Any) -> Any:
    """`value` where all the scalar conditions hold, else zeros."""
    if not conditions:
        return value
    return b.one(hlo.select.name, _and(b, conditions), value, scalar(b, 0, b.type_of(value)))


def _and(b: Builder[Any], conditions: Sequence[Any]) -> Any:
    """Whether all conditions hold, which have one shape."""
    return reduce(partial(b.one, hlo.and_.name), conditions)


@form(hlo.dynamic_update_slice, "masked", written)
def dynamic_update_slice(site: Site) -> list[Any]:
    """dynamic_update_slice(x, u, i) -> each device overwrites the part of the update that is in its block.

    It writes a window of the block, as long as the update where that is shorter: to elements that are not the
    update's it writes what they are.
    """
    b, (x, update, *starts), type = site.builder, site.operands, site.op.operands[0]
    starts = [wide(b, start) for start in starts]
    inside: list[tuple[Any, int]] = []
    for dim, size in enumerate(site.op.operands[1].shape):
        axes = site.operand_shardings[0].dims[dim].axes
        if not axes or size == type.shape[dim]:
            continue
        block = b.type_of(x).shape[dim]
        start = _clamped(b, starts[dim], type.shape[dim] - size)
        start = _like(b, start, b.one(spmd.axis_index.name, axes=axes))
        local = b.one(hlo.subtract.name, start, offset(b, axes, block))
        span = min(size, block)
        at = _clamped(b, local, block - span)
        starts[dim] = _like(b, at, starts[dim])
        if size == 1:
            inside.append((_between(b, local, block), dim))
        else:
            first = b.one(hlo.subtract.name, at, local)
            update = between_zeros(b, update, dim, span)
            there = b.one(hlo.add.name, first, scalar(b, span, INDEX))
            update = _window(b, update, dim, _clamped(b, there, size + span), span)
            count = b.one(hlo.iota.name, result=TensorType((span,), INDEX.dtype), iota_dimension=0)
            inside.append((_between(b, b.one(hlo.add.name, count, spread(b, first, (span,))), size), dim))
    if not inside:
        return site.plain()
    window = b.type_of(update).shape
    kept = x
    if window != b.type_of(x).shape:
        kept = b.one(hlo.dynamic_slice.name, x, *starts, slice_sizes=window)
    here = b.one(hlo.select.name, _all(b, inside, window), update, kept)
    return [here] if kept is x else b.op(site.op.name, x, here, *starts)


def _all(b: Builder[Any], conditions: list[tuple[Any, int]], shape: Ints) -> Any:
    """Whether all conditions hold: one element if each has one, else `shape`, each along its dimension."""
    if any(b.type_of(condition).rank for condition, _ in conditions):
        conditions = [
            (spread(b, condition, shape, (dim,) * b.type_of(condition).rank), dim)
            for condition, dim in conditions
        ]
    return _and(b, [condition for condition, _ in conditions])


def between_zeros(b: Builder[Any], value: Any, dim: int, count: int) -> Any:
    """`value` with `count` zeros before and after it in dimension `dim`."""
    type = b.type_of(value)
    edge = tuple(count if d == dim else 0 for d in range(type.rank))
    return b.one(
        hlo.pad.name,
        value,
        scalar(b, 0, TensorType((), type.dtype)),
        edge_padding_low=edge,
        edge_padding_high=edge,
        interior_padding=(0,) * type.rank,
    )


def _window(b: Builder[Any], value: Any, dim: int, start: Any, size: int) -> Any:
    type = b.type_of(value)
    zero = scalar(b, 0, b.type_of(start))
    starts = [start if d == dim else zero for d in range(type.rank)]
    sizes = tuple(size if d == dim else n for d, n in enumerate(type.shape))
    return b.one(hlo.dynamic_slice.name, value, *starts, slice_sizes=sizes)


def _clamped(b: Builder[Any], index: Any, limit: int) -> Any:
    type = b.type_of(index)
    return b.one(hlo.clamp.name, scalar(b, 0, type), index, scalar(b, limit, type))


def _like(b: Builder[Any], value: Any, other: Any) -> Any:
    """`value` with the dtype of `other`."""
    dtype = b.type_of(other).dtype
    type = b.type_of(value)
    return value if type.dtype == dtype else b.one(hlo.convert.name, value, result=type.with_dtype(dtype))
