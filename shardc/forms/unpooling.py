"""Local forms of gradients of max pooling: a device runs the windows of its block of sources.

    operand   blocks of 4     a a a a|b b b b|c c c c     windows of 3 elements, 2 apart
    windows of device 1               b b b b c           one element of the next block
    what they scatter                 . . . . +           goes back there, and is added

A block of the result is the sum of what devices scatter to it: of all beginnings of stretches, as long as
they are apart, and of the rest behind them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from shardc.forms.exchange import DeviceLine, exchange
from shardc.forms.factors import NO_FACTORS, FactorSet
from shardc.forms.pieces import ElementRun, Window
from shardc.forms.registry import form, plain_form
from shardc.forms.site import Site, mask, scalar, spread
from shardc.forms.sliding import WindowStretch, moving_windows, reached, sliding_dims
from shardc.graph import Op, TensorType, identity
from shardc.graph.builder import Builder
from shardc.ops import hlo, own
from shardc.ops.rule import FactorRule
from shardc.ops.rule_builder import ints, pairs


def scattered_dims(op: Op, rule: FactorRule) -> FactorSet:
    """The dimensions along which windows reach over borders, where sources are added and each window has an
    element to which its source can be."""
    ones = (1,) * op.operands[0].rank
    window, padding = ints(op, "window_dimensions", ones), pairs(op, "padding", len(ones))
    empty = any(low >= length for length, (low, _) in zip(window, padding, strict=True))
    return NO_FACTORS if op.combiner not in ("max", "min") or empty else sliding_dims(op, rule)


@form(hlo.select_and_scatter, "moved", scattered_dims)
def select_and_scatter(site: Site) -> list[Any]:
    """select_and_scatter(x, s) -> that of the block of s and what its windows reach of x, and the sum of
    what devices scatter to the same place.

    What is outside of x is the least that there is. A window in which nothing is more selects its first
    element outside before x, if it has one, in the place of its first one inside.
    """
    type = site.op.operands[0].with_shape(())
    outside = scalar(site.builder, identity(str(site.op.combiner), type.dtype), type)
    return [_scattered(site, _moved(site, outside), pads=False)]


@plain_form(own.unpool)
@form(own.unpool, "moved", sliding_dims)
def unpool(site: Site) -> list[Any]:
    """unpool(x, s) -> the same, but what falls outside is lost; dimensions that are whole are padded, and
    cut."""
    return [_scattered(site, _moved(site, site.operands[2]), pads=True)]


class _Moved(Struct, frozen=True):
    """A dimension along which windows cross borders: what devices need of it, and its global size."""

    line: DeviceLine
    stretch: WindowStretch
    size: int

    def block(self, value: Any, block: int, folds: bool) -> Any:
        """A device's block of the sum of all devices' stretches. folds: what is before the first element is
        added to that."""
        window, devices = Window(0, block, block, self.size), self.line.devices
        low, pitch, width = self.stretch.low, self.stretch.pitch, self.stretch.width
        layers = [
            [
                ElementRun(0, device * width + at, device * pitch - low + at, min(pitch, width - at))
                for device in range(devices)
            ]
            for at in range(0, width, pitch)
        ]
        layers += [[ElementRun(0, at, 0, 1)] for at in range(low)] if folds else []
        total, *others = (exchange(self.line, [value], layer, window) for layer in layers)
        for other in others:
            total = self.line.builder.one(hlo.add.name, total, other)
        return total


def _moved(site: Site, outside: Any) -> list[_Moved]:
    """The dimensions along which windows cross borders; `outside` is what is there outside of the operand."""
    op, found = site.op, list[_Moved]()
    ones = (1,) * op.operands[0].rank
    for dim, moves in enumerate(moving_windows(op)):
        axes = site.operand_shardings[0].dims[dim].axes
        if moves and axes:
            reach, stride = (ints(op, key, ones)[dim] for key in ("window_dimensions", "window_strides"))
            low, _ = pairs(op, "padding", len(ones))[dim]
            stretch = reached(op.operands[1], site.operand_type(1), dim, stride, reach, low)
            line = DeviceLine(site.builder, dim, axes, outside)
            found.append(_Moved(line, stretch, op.operands[0].shape[dim]))
    return found


def _scattered(site: Site, moved: Sequence[_Moved], pads: bool) -> Any:
    """The block of the result. pads: whole dimensions are padded as well, so that what is there may be
    selected."""
    b, op, (value, source, *_, init) = site.builder, site.op, site.operands
    padding = list(pairs(op, "padding", op.operands[0].rank))
    zero = init if site.fill(len(site.operands) - 1) is None else scalar(b, 0, b.type_of(init))
    for each in moved:
        dim, sizes = each.line.dim, op.operands[1].shape
        value, padding[dim], _ = each.stretch.take(each.line, value, each.size)
        if dim in site.operand_shardings[1].uneven(sizes):
            source = mask(b, source, dim, each.line.axes, sizes[dim], zero)
    inside, around = b.type_of(value), padding
    if pads:
        value, around = _padded(b, value, site.operands[2], padding), [(0, 0)] * len(padding)
    attrs = {key: op.attrs[key] for key in ("window_dimensions", "window_strides") if key in op.attrs}
    (found,) = b.op(
        hlo.select_and_scatter.name,
        value,
        source,
        zero,
        results=[b.type_of(value)],
        regions=site.regions,
        padding=tuple(around),
        **attrs,
    )
    if b.type_of(found) != inside:
        found = _cut(b, found, inside, padding)
    for each in moved:
        line = replace(each.line, fill=None)
        found = replace(each, line=line).block(found, site.local_results[0].shape[line.dim], folds=not pads)
    return found if zero is init else b.one(hlo.add.name, found, spread(b, init, b.type_of(found).shape))


def _padded(b: Builder[Any], value: Any, fill: Any, padding: Sequence[tuple[int, int]]) -> Any:
    if not any(map(any, padding)):
        return value
    low, high = zip(*padding, strict=True)
    return b.one(
        hlo.pad.name,
        value,
        fill,
        edge_padding_low=low,
        edge_padding_high=high,
        interior_padding=(0,) * len(padding),
    )


def _cut(b: Builder[Any], value: Any, inside: TensorType, padding: Sequence[tuple[int, int]]) -> Any:
    """What lies in a tensor that was padded."""
    starts = tuple(low for low, _ in padding)
    return b.one(
        hlo.slice_.name,
        value,
        start_indices=starts,
        limit_indices=tuple(low + size for low, size in zip(starts, inside.shape, strict=True)),
        strides=(1,) * len(starts),
    )
