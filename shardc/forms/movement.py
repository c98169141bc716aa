"""Local forms of operations that move elements along split dimensions: what crosses a border is sent there.

Results are split over the same axes as the operands, in blocks of the ceiling size.
"""

from __future__ import annotations

from typing import Any, cast

from shardc.forms.exchange import DeviceLine, exchange, mirrored
from shardc.forms.factors import permuted
from shardc.forms.pieces import ElementRun, Window
from shardc.forms.registry import form, plain_form
from shardc.forms.site import Site
from shardc.ops import hlo, own

Ints = tuple[int, ...]


@form(hlo.slice_, "moved", permuted)
def slice_(site: Site) -> list[Any]:
    """slice(x) -> slices of whole dimensions, then the elements of the split ones from where they are."""
    b, (value,) = site.builder, site.operands
    starts, limits, strides = (
        cast(Ints, site.op.attrs[key]) for key in ("start_indices", "limit_indices", "strides")
    )
    moving = _moving(site)
    shape, split = b.type_of(value).shape, site.operand_shardings[0].dims
    local = [not dim.axes for dim in split]
    value = b.one(
        hlo.slice_.name,
        value,
        start_indices=tuple(n if here else 0 for n, here in zip(starts, local, strict=True)),
        limit_indices=tuple(n if here else m for n, m, here in zip(limits, shape, local, strict=True)),
        strides=tuple(n if here else 1 for n, here in zip(strides, local, strict=True)),
    )
    for dim in moving:
        count = site.op.results[0].shape[dim]
        value = exchange(
            _line(site, dim), [value], [ElementRun(0, starts[dim], 0, count, strides[dim])], _own(site, dim)
        )
    return [value]


@form(hlo.pad, "moved", permuted)
def pad(site: Site) -> list[Any]:
    """pad(x, fill) -> the elements of split dimensions from where they are, then padding of whole ones."""
    b, (value, fill) = site.builder, site.operands
    keys = ("edge_padding_low", "edge_padding_high", "interior_padding")
    low, high, interior = (cast(Ints, site.op.attrs[key]) for key in keys)
    moving = [
        d
        for d, n in enumerate(zip(low, high, interior, strict=True))
        if any(n) and site.result_shardings[0].dims[d].axes
    ]
    for dim in moving:
        size, gap = site.op.operands[0].shape[dim], interior[dim] + 1
        cut = max(0, -(low[dim] // gap))
        run = ElementRun(0, cut, low[dim] + cut * gap, size - cut, gap=gap)
        line = _line(site, dim, site.fill(1))
        value = exchange(line, [value], [run], _own(site, dim))
    local = [tuple(0 if d in moving else n for d, n in enumerate(part)) for part in (low, high, interior)]
    return [b.one(site.op.name, value, fill, **dict(zip(keys, local, strict=True)))]


@form(hlo.concatenate, "moved", permuted)
def concatenate(site: Site) -> list[Any]:
    """concatenate(x, …) along a split dimension -> the elements of the device's block from where they are."""
    dim = cast(int, site.op.attrs["dimension"])
    runs: list[ElementRun] = []
    place = 0
    for index, type in enumerate(site.op.operands):
        runs.append(ElementRun(index, 0, place, type.shape[dim]))
        place += type.shape[dim]
    return [exchange(_line(site, dim), site.operands, runs, _own(site, dim))]


@plain_form(own.join)
@form(own.join, "moved", permuted)
def join(site: Site) -> list[Any]:
    """join(x, …) -> concatenate(slices); along a split dimension, the elements from where they are."""
    b, dim = site.builder, cast(int, site.op.attrs["dimension"])
    starts, limits = (cast(Ints, site.op.attrs[key]) for key in ("start_indices", "limit_indices"))
    runs: list[ElementRun] = []
    place = 0
    for index, (start, limit) in enumerate(zip(starts, limits, strict=True)):
        runs.append(ElementRun(index, start, place, limit - start))
        place += limit - start
    line = _line(site, dim)
    if line.axes:
        return [exchange(line, site.operands, runs, _own(site, dim))]
    parts = [
        line.slice(x, start, limit) for x, start, limit in zip(site.operands, starts, limits, strict=True)
    ]
    return [b.one(hlo.concatenate.name, *parts, dimension=dim)]


@form(hlo.reverse, "moved", permuted)
def reverse(site: Site) -> list[Any]:
    """reverse(x) -> reverse(block), and the blocks in the opposite order; shifted where the last is short."""
    (value,) = site.plain(None)
    for dim in cast(Ints, site.op.attrs["dimensions"]):
        if site.result_shardings[0].dims[dim].axes:
            line, size = _line(site, dim), site.op.results[0].shape[dim]
            short = line.devices * line.size(value) - size
            value = mirrored(line, value, [ElementRun(0, short, 0, size)], _own(site, dim))
    return [value]


def _moving(site: Site) -> list[int]:
    """The split dimensions that change."""
    before, after = site.op.operands[0].shape, site.op.results[0].shape
    split = site.result_shardings[0].dims
    return [d for d, (n, m) in enumerate(zip(before, after, strict=True)) if split[d].axes and n != m]


def _line(site: Site, dim: int, fill: Any | None = None) -> DeviceLine:
    return DeviceLine(site.builder, dim, site.result_shardings[0].dims[dim].axes, fill)


def _own(site: Site, dim: int) -> Window:
    """The device's block of the result."""
    block = site.local_results[0].shape[dim]
    return Window(0, block, block, site.op.results[0].shape[dim])
