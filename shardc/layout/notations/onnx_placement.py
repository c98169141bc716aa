"""Which part of a tensor each device holds under an ONNX sharding specification.

Devices and groups may be any; a device may hold several shards, and a shard of a fused axis may be several
stretches of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from math import prod

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from shardc.layout.mesh import LayoutError
from shardc.layout.notations.onnx_spec import ShardedDim, ShardingSpec
from shardc.layout.uneven import Policy, bounds


class Stretch(Struct, frozen=True):
    """The elements start to stop of one factor of an axis, of which `size` there are."""

    size: int
    start: int
    stop: int


class Part(Struct, frozen=True):
    """A shard: per axis of the tensor the stretches of its factors, major to minor."""

    axes: tuple[tuple[Stretch, ...], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the shard."""
        return tuple(prod(s.stop - s.start for s in axis) for axis in self.axes)

    def indices(self) -> tuple[NDArray[np.int64], ...]:
        """Per axis the elements: `tensor[numpy.ix_(*part.indices())]` is the shard."""
        return tuple(_indices(axis) for axis in self.axes)

    def ranges(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Per axis the separate stretches of elements, as (first, behind the last).

        LayoutError if there are more than MOST.
        """
        return tuple(_joined(i, axis) for i, axis in enumerate(self.axes))

    def slices(self) -> tuple[slice, ...]:
        """Per axis the slice. LayoutError if an axis is in several separate stretches."""
        return tuple(_slice(i, axis) for i, axis in enumerate(self.axes))


def placement(
    spec: ShardingSpec, shape: Sequence[int], policy: Policy = "refuse"
) -> dict[int, tuple[Part, ...]]:
    """Device -> the shards it holds, devices ascending, shards in order of their numbers.

    ONNX leaves open what happens where the shards don't divide an axis: `policy` decides. LayoutError if the
    specification doesn't fit the shape.
    """
    spec.check(len(shape))
    ranges = _ranges(spec, shape, policy)
    held: dict[int, list[Part]] = {device: [] for device in spec.devices()}
    counts = [range(s.num_shards) for dim in spec.sharded_dim for s in dim.simple_sharding]
    for places, devices in zip(product(*counts), spec.holders(), strict=False):
        part = _part(spec, shape, ranges, places)
        for device in devices:
            held[device].append(part)
    return {device: tuple(parts) for device, parts in held.items()}


def factor_sizes(dim: ShardedDim, size: int) -> tuple[int, ...]:
    """The sizes of the factors of an axis of `size`; one may be left open. LayoutError if they don't fit."""
    known = [s.dim for s in dim.simple_sharding if isinstance(s.dim, int)]
    unknown = len(dim.simple_sharding) - len(known)
    if unknown > 1:
        raise LayoutError(f"axis {dim.axis} has {unknown} factors without a number as size; at most one can")
    rest, remainder = divmod(size, prod(known)) if prod(known) else (0, size)
    if remainder or (not unknown and rest != 1 and size):
        raise LayoutError(f"axis {dim.axis} has {size} elements, its factors are {known}")
    return tuple(s.dim if isinstance(s.dim, int) else rest for s in dim.simple_sharding)


def _ranges(
    spec: ShardingSpec, shape: Sequence[int], policy: Policy
) -> list[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
    """Per factor, in the order of the shards' numbering: its size, and the first and last of each block."""
    found: list[tuple[int, NDArray[np.int64], NDArray[np.int64]]] = []
    for dim, axis in zip(spec.sharded_dim, spec.axes(len(shape)), strict=True):
        for factor, size in zip(dim.simple_sharding, factor_sizes(dim, shape[axis]), strict=True):
            try:
                found.append(
                    (size, *bounds(policy, size, [np.arange(factor.num_shards)], [factor.num_shards]))
                )
            except LayoutError as error:
                raise LayoutError(f"axis {axis} of {tuple(shape)}: {error}") from error
    return found


def _part(
    spec: ShardingSpec,
    shape: Sequence[int],
    ranges: Sequence[tuple[int, NDArray[np.int64], NDArray[np.int64]]],
    places: Sequence[int],
) -> Part:
    axes: list[tuple[Stretch, ...]] = [(Stretch(size, 0, size),) for size in shape]
    stretches = [
        Stretch(size, int(starts[place]), int(stops[place]))
        for (size, starts, stops), place in zip(ranges, places, strict=True)
    ]
    for dim, axis in zip(spec.sharded_dim, spec.axes(len(shape)), strict=True):
        count = len(dim.simple_sharding)
        axes[axis], stretches = tuple(stretches[:count]), stretches[count:]
    return Part(tuple(axes))


MOST = 1 << 20
"""Separate stretches of an axis of a shard that are listed."""


def _joined(dim: int, axis: Sequence[Stretch]) -> tuple[tuple[int, int], ...]:
    found, size = [(0, 1)], 1
    for stretch in reversed(axis):
        count = stretch.stop - stretch.start
        if found == [(0, size)]:
            found = [(stretch.start * size, stretch.stop * size)] if count > 0 else []
        elif count * len(found) > MOST:
            raise LayoutError(f"a shard has more than {MOST} separate stretches of axis {dim}")
        else:
            each = (
                (at * size + a, at * size + b) for at in range(stretch.start, stretch.stop) for a, b in found
            )
            found = _merged(each)
        size *= stretch.size
    return tuple(found)


def _merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Stretches in order, those that touch as one."""
    found: list[tuple[int, int]] = []
    for start, stop in ranges:
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], stop)
        else:
            found.append((start, stop))
    return found


def _indices(axis: Sequence[Stretch]) -> NDArray[np.int64]:
    numbers = np.zeros(1, np.int64)
    for stretch in axis:
        numbers = (numbers[:, None] * stretch.size + np.arange(stretch.start, stretch.stop)).reshape(-1)
    return numbers


def _slice(dim: int, axis: Sequence[Stretch]) -> slice:
    start, size = 0, 1
    whole = True
    for stretch in reversed(axis):
        if not whole and stretch.stop - stretch.start != 1:
            raise LayoutError(f"a shard has separate stretches of axis {dim}")
        start += stretch.start * size
        whole = whole and (stretch.start, stretch.stop) == (0, stretch.size)
        size *= stretch.size
    return slice(start, start + prod(s.stop - s.start for s in axis))
