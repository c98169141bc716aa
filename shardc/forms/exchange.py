"""Blocks made of other devices' blocks, by collective permutes of just the elements that are needed.

exchange(b, [x], [Run(0, 0, 0, 1024)], Window(-1, 128, 130, 1024), dim, axes) -> the device's block of x with
one more element on either side: two permutes of one element each, and a concatenation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from shardc.forms.pieces import REMEMBERED, ElementRun, Exchange, Piece, Round, Window, exchanged, sent
from shardc.forms.site import INDEX, compare, scalar, spread
from shardc.graph import Dense, TensorType
from shardc.graph.builder import Builder
from shardc.layout import Axis, size_of
from shardc.ops import hlo, spmd

MASKED = "shardc.masked"
"""On a permute: nobody looks at the zeros of devices that nothing is sent to."""


class DeviceLine(Struct, frozen=True):
    """The devices along one dimension, and what they build with. `fill` is the scalar for elements that no
    run gives; None means zeros."""

    builder: Builder[Any]
    dim: int
    axes: tuple[Axis, ...]
    fill: Any | None = None

    @property
    def devices(self) -> int:
        return size_of(self.axes)

    def index(self) -> Any:
        """This device's position: i32[]."""
        return self.builder.one(spmd.axis_index.name, axes=self.axes)

    def size(self, value: Any) -> int:
        return self.builder.type_of(value).shape[self.dim]

    def filled(self, type: TensorType, size: int) -> Any:
        """`size` elements of fill along the dimension."""
        shape = (*type.shape[: self.dim], size, *type.shape[self.dim + 1 :])
        if self.fill is None:
            return scalar(self.builder, 0, type.with_shape(shape))
        return spread(self.builder, self.fill, shape)

    def slice(self, value: Any, start: int, limit: int, step: int = 1) -> Any:
        """value[start:limit:step] along the dimension."""
        shape = self.builder.type_of(value).shape
        if (start, limit, step) == (0, shape[self.dim], 1):
            return value
        return self.builder.one(
            hlo.slice_.name,
            value,
            start_indices=tuple(start if d == self.dim else 0 for d in range(len(shape))),
            limit_indices=tuple(limit if d == self.dim else n for d, n in enumerate(shape)),
            strides=tuple(step if d == self.dim else 1 for d in range(len(shape))),
        )

    def dynamic_slice(self, value: Any, start: Any, size: int) -> Any:
        """`size` elements along the dimension from `start`, an i32[], on."""
        type, zero = self.builder.type_of(value), scalar(self.builder, 0, INDEX)
        starts = [start if d == self.dim else zero for d in range(type.rank)]
        sizes = tuple(size if d == self.dim else n for d, n in enumerate(type.shape))
        return self.builder.one(hlo.dynamic_slice.name, value, *starts, slice_sizes=sizes)

    def pad(self, value: Any, low: int, high: int, interior: int = 0) -> Any:
        """`value` with fill around it and between its elements along the dimension."""
        if not (low or high or interior):
            return value
        b, type = self.builder, self.builder.type_of(value)
        amounts = (tuple(n if d == self.dim else 0 for d in range(type.rank)) for n in (low, high, interior))
        fill = scalar(b, 0, type.with_shape(())) if self.fill is None else self.fill
        keys = ("edge_padding_low", "edge_padding_high", "interior_padding")
        return b.one(hlo.pad.name, value, fill, **dict(zip(keys, amounts, strict=True)))

    def join(self, values: Sequence[Any]) -> Any:
        """The values one after the other."""
        kept = [value for value in values if self.size(value)]
        return (
            kept[0] if len(kept) == 1 else self.builder.one(hlo.concatenate.name, *kept, dimension=self.dim)
        )

    def lookup(self, table: Mapping[int, int]) -> Any:
        """What the table says for this device's position: an int if it says the same for all it knows, else
        an i32[]. For positions that it does not know, anything."""
        if len(values := set(table.values())) == 1:
            return values.pop()
        known = sorted(table.items())
        b, (first, start), (second, then) = self.builder, known[0], known[1]
        slope, rest = divmod(then - start, second - first)
        if not rest and all(value == start + slope * (at - first) for at, value in known):
            scaled = b.one(hlo.multiply.name, self.index(), scalar(b, slope, INDEX))
            return b.one(hlo.add.name, scaled, scalar(b, start - slope * first, INDEX))
        numbers = np.array([table.get(i, 0) for i in range(self.devices)], np.int32)
        whole = b.one(
            hlo.constant.name,
            result=TensorType(numbers.shape, "i32"),
            value=Dense(numbers, numbers.shape),
        )
        one = b.one(hlo.dynamic_slice.name, whole, self.index(), slice_sizes=(1,))
        return b.one(hlo.reshape.name, one, result=INDEX)


def exchange(line: DeviceLine, sources: Sequence[Any], runs: Sequence[ElementRun], window: Window) -> Any:
    """This device's window of the dimension that `runs` make of the blocks `sources`.

    All sources are split over the line's axes. Where that is not more, they are gathered whole instead.
    """
    blocks = tuple(map(line.size, sources))
    own = exchanged((*runs,), window, blocks, line.devices, "in order")
    if sent(own.crossing) > (line.devices - 1) * sum(blocks[i] for i in own.used):
        sources = [_gather(line, source) if i in own.used else source for i, source in enumerate(sources)]
        own = exchanged((*runs,), window, tuple(map(line.size, sources)), line.devices, "whole")
    return _assemble(line, sources, window, own)


def mirrored(line: DeviceLine, source: Any, runs: Sequence[ElementRun], window: Window) -> Any:
    """The same for one source whose blocks are held in the opposite order, the first by the last device."""
    own = exchanged((*runs,), window, (line.size(source),), line.devices, "mirrored")
    return _assemble(line, [source], window, own)


def _gather(line: DeviceLine, source: Any) -> Any:
    return line.builder.one(spmd.all_gather.name, source, axes=line.axes, dim=line.dim, invariant=True)


class _Part(Struct, frozen=True):
    """What each device has of a round: `size` elements of the window from round.to(device).at on."""

    value: Any
    round: Round
    size: int
    zeros: bool  # devices without a piece hold zeros


def _assemble(line: DeviceLine, sources: Sequence[Any], window: Window, own: Exchange) -> Any:
    crossing, home, _ = own
    type = line.builder.type_of(sources[0])
    if not crossing and not home:
        return line.filled(type, window.width)
    aside = _are_aside([*crossing, *home])
    parts = [_part(line, sources, round, True, masked=not aside) for round in crossing]
    parts += [_part(line, sources, round, False) for round in home]
    if aside:
        firsts = [round.first.at for round in (*crossing, *home)]
        order = sorted(zip(firsts, parts, strict=True), key=lambda pair: pair[0])
        return _side_by_side(line, window, type, order)
    return _one_over_another(line, window, type, parts)


def _are_aside(rounds: Sequence[Round]) -> bool:
    """Whether each round has one place in the window, and none reaches into the next."""
    places = [round.place for round in rounds]
    ends = sorted((at, at + _size(round)) for at, round in zip(places, rounds, strict=True) if at is not None)
    return None not in places and all(end <= at for (_, end), (at, _) in pairwise(ends))


def _size(round: Round) -> int:
    """How many places of the window a round's longest piece takes."""
    return (round.longest - 1) * round.first.gap + 1


def _part(
    line: DeviceLine, sources: Sequence[Any], round: Round, crosses: bool, masked: bool = False
) -> _Part:
    """Cut the pieces out of the senders' blocks and send them. masked: nobody looks at what a device has that
    gets none."""
    b, count = line.builder, round.longest
    held = {i: next(at for at, x in enumerate(sources) if x is sources[i]) for i in round.sources}
    used = sorted(set(held.values()))
    cuts = [
        _cut(line, sources[i], [p for p in round if held[p.source] == i], count, round.stride[0])
        for i in used
    ]
    value = cuts[0]
    for index, other in zip(used[1:], cuts[1:], strict=True):
        theirs = {p.sender: int(held[p.source] == index) for p in round}
        value = b.one(hlo.select.name, _holds(line, theirs), other, value)
    if crosses:
        note: dict[str, Any] = {MASKED: True} if masked else {}
        value = b.one(spmd.collective_permute.name, value, axes=line.axes, pairs=round.pairs, **note)
    value = line.pad(value, 0, 0, round.first.gap - 1)
    return _Part(value, round, _size(round), crosses)


def _cut(line: DeviceLine, block: Any, sent: Iterable[Piece], count: int, step: int) -> Any:
    """`count` elements of the block from where each sender's piece starts, every `step`-th."""
    span, starts = (count - 1) * step + 1, {piece.sender: piece.start for piece in sent}
    missing = max(starts.values()) + span - line.size(block)
    block = replace(line, fill=None).pad(block, 0, max(0, missing))
    start = line.lookup(starts)
    if isinstance(start, int):
        return line.slice(block, start, start + span, step)
    return line.slice(line.dynamic_slice(block, start, span), 0, span, step)


def _side_by_side(
    line: DeviceLine, window: Window, type: TensorType, order: Sequence[tuple[int, _Part]]
) -> Any:
    """Every part has the same place on all devices and none is over another."""
    joined: list[Any] = []
    end = 0
    for at, part in order:
        if end < at:
            joined.append(line.filled(type, at - end))
        value = line.slice(_only_valid(line, window, part, at), 0, min(part.size, window.width - at))
        joined.append(value)
        end = min(at + part.size, window.width)
    if end < window.width:
        joined.append(line.filled(type, window.width - end))
    return line.join(joined)


def _only_valid(line: DeviceLine, window: Window, part: _Part, at: int) -> Any:
    """The part with fill where a device has no piece, or a shorter one."""
    b = line.builder
    others = part.size if part.zeros and line.fill is None else 0
    limits = _limits(part.round, window, at, part.size, others, line.devices)
    if all(limit == part.size for limit in limits.values()):
        return part.value
    type = b.type_of(part.value)
    if set(limits.values()) <= {0, part.size}:
        valid = _holds(line, {device: int(limit > 0) for device, limit in limits.items()})
    else:
        valid = _before(line, type, line.lookup(limits))
    return b.one(hlo.select.name, valid, part.value, line.filled(type, part.size))


@lru_cache(maxsize=REMEMBERED)
def _limits(round: Round, window: Window, at: int, size: int, others: int, devices: int) -> Mapping[int, int]:
    """How many elements from `at` on are valid on each device: `size` where no more are needed, and
    `others` where it has no piece."""
    limits: dict[int, int] = {}
    for device in range(devices):
        piece = round.to(device)
        needed = min(size, window.width - at, window.end - window.start(device) - at)
        have = piece.stop - at if piece else others
        limits[device] = size if have >= needed else have
    return limits


def _one_over_another(line: DeviceLine, window: Window, type: TensorType, parts: Sequence[_Part]) -> Any:
    """Each part laid into the window where the device has it."""
    b, width = line.builder, window.width
    result = line.filled(type, width)
    type = b.type_of(result)
    for part in parts:
        at = line.lookup({piece.receiver: piece.at for piece in part.round})
        inner = replace(line, fill=None)
        if isinstance(at, int):
            laid = inner.pad(
                line.slice(part.value, 0, min(part.size, width - at)), at, max(0, width - at - part.size)
            )
        else:
            back = b.one(hlo.subtract.name, scalar(b, width, INDEX), at)
            laid = line.dynamic_slice(inner.pad(part.value, width, width), back, width)
        ends = {piece.receiver: (piece.at, piece.stop) for piece in part.round}
        both = [ends.get(device, (0, 0)) for device in range(line.devices)]
        low, high = (line.lookup(dict(enumerate(side))) for side in zip(*both, strict=True))
        valid = [] if _is(low, 0) else [b.one(hlo.not_.name, _before(line, type, low))]
        valid += [] if _is(high, width) else [_before(line, type, high)]
        if not valid:
            result = laid
            continue
        there = valid[0] if len(valid) == 1 else b.one(hlo.and_.name, *valid)
        result = b.one(hlo.select.name, there, laid, result)
    return result


def _is(value: Any, number: int) -> bool:
    """Whether what a table says for all devices is a number."""
    return isinstance(value, int) and value == number


def _before(line: DeviceLine, type: TensorType, limit: Any) -> Any:
    """Whether each element of a tensor is before position `limit` of the dimension: an int or an i32[]."""
    b, size = line.builder, TensorType((type.shape[line.dim],), "i32")
    order = b.one(hlo.iota.name, result=size, iota_dimension=0)
    bound = scalar(b, limit, size) if isinstance(limit, int) else spread(b, limit, size.shape)
    return spread(b, compare(b, order, "LT", bound), type.shape, (line.dim,))


def _holds(line: DeviceLine, table: Mapping[int, int]) -> Any:
    """Whether the table has 1 for this device's position: bool[]."""
    b, ones = line.builder, [device for device, value in sorted(table.items()) if value]
    zeros = [device for device, value in sorted(table.items()) if not value]
    if not zeros or zeros[-1] < ones[0]:
        return compare(b, line.index(), "GE", scalar(b, ones[0], INDEX))
    if ones[-1] < zeros[0]:
        return compare(b, line.index(), "LT", scalar(b, zeros[0], INDEX))
    return compare(b, line.lookup(table), "EQ", scalar(b, 1, INDEX))
