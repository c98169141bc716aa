"""Local forms of dynamic_slice and dynamic_update_slice along split dimensions."""

from __future__ import annotations

from typing import Any, cast

from shardc.forms.plain import SIZED
from shardc.forms.site import Site, compare, mask, offset, positions, scalar, spread
from shardc.graph import TensorType
from shardc.graph.builder import Builder


def dynamic_slice(site: Site) -> list[Any]:
    """dynamic_slice(x, i) -> the part of it that lies in this block, zeros elsewhere: a partial sum.

    The block is set between two stretches of zeros as long as the slice, so that a slice that begins before
    the block or ends after it reads zeros there.
    """
    b, (x, *starts), type = site.builder, site.operands, site.op.operands[0]
    sizes = list(cast(tuple[int, ...], SIZED[site.op.name](site)["slice_sizes"]))
    wanted = cast(tuple[int, ...], site.op.attrs["slice_sizes"])
    for dim, size in enumerate(wanted):
        axes = site.operand_shardings[0].dims[dim].axes
        if not axes or size == type.shape[dim]:
            continue
        block = b.type_of(x).shape[dim]
        if type.shape[dim] % site.operand_shardings[0].dims[dim].parts:
            x = mask(b, x, dim, axes, type.shape[dim], scalar(b, 0, type.with_shape(())))
        x = between_zeros(b, x, dim, size)
        start = _clamped(b, starts[dim], type.shape[dim] - size)
        local = b.one("stablehlo.subtract", start, _like(b, offset(b, axes, block), start))
        local = b.one("stablehlo.add", local, scalar(b, size, b.type_of(start)))
        starts[dim] = _clamped(b, local, block + size)
        sizes[dim] = size
    return b.op(site.op.name, x, *starts, slice_sizes=tuple(sizes))


def dynamic_update_slice(site: Site) -> list[Any]:
    """dynamic_update_slice(x, u, i) -> each device overwrites the part of the update that lies in its block."""
    b, (x, update, *starts), type = site.builder, site.operands, site.op.operands[0]
    sizes = site.op.operands[1].shape
    inside = None
    for dim, size in enumerate(sizes):
        axes = site.operand_shardings[0].dims[dim].axes
        if not axes or size == type.shape[dim]:
            continue
        block = b.type_of(x).shape[dim]
        start = _like(
            b, _clamped(b, starts[dim], type.shape[dim] - size), b.one("spmd.axis_index", axes=axes)
        )
        first = b.one("stablehlo.subtract", offset(b, axes, block), start)
        first = _clamped(b, b.one("stablehlo.add", first, scalar(b, block, b.type_of(first))), block + size)
        update = between_zeros(b, update, dim, block)
        update = _window(b, update, dim, first, block)
        where = positions(b, block, axes)
        low = spread(b, start, (block,))
        high = b.one("stablehlo.add", low, scalar(b, size, b.type_of(low)))
        here = b.one("stablehlo.and", compare(b, where, "GE", low), compare(b, where, "LT", high))
        here = spread(b, here, b.type_of(x).shape, (dim,))
        inside = here if inside is None else b.one("stablehlo.and", inside, here)
        starts[dim] = scalar(b, 0, b.type_of(starts[dim]))
    if inside is None:
        return site.plain()
    (written,) = b.op(site.op.name, x, update, *starts)
    return [b.one("stablehlo.select", inside, written, x)]


def between_zeros(b: Builder[Any], value: Any, dim: int, count: int) -> Any:
    """`value` with `count` zeros before and after it in dimension `dim`."""
    type = b.type_of(value)
    edge = tuple(count if d == dim else 0 for d in range(type.rank))
    return b.one(
        "stablehlo.pad",
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
    return b.one("stablehlo.dynamic_slice", value, *starts, slice_sizes=sizes)


def _clamped(b: Builder[Any], index: Any, limit: int) -> Any:
    type = b.type_of(index)
    return b.one("stablehlo.clamp", scalar(b, 0, type), index, scalar(b, limit, type))


def _like(b: Builder[Any], value: Any, other: Any) -> Any:
    """`value` with the dtype of `other`."""
    dtype = b.type_of(other).dtype
    type = b.type_of(value)
    return value if type.dtype == dtype else b.one("stablehlo.convert", value, result=type.with_dtype(dtype))
