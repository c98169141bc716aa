"""Where the blocks of an array lie in the whole."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from types import EllipsisType
from typing import cast

from msgspec import Struct

from shardc.diagnostics import ShardcError
from shardc.graph.types import TensorType
from shardc.layout import Sharding
from shardc.layout.slices import replica_groups, slices

Bounds = tuple[tuple[int, int], ...]
"""The first element and the one after the last, per dimension."""


def whole(shape: tuple[int, ...]) -> Bounds:
    """The bounds of all of an array."""
    return tuple((0, size) for size in shape)


def extent(bounds: Bounds) -> tuple[int, ...]:
    """The shape of what lies inside."""
    return tuple(stop - start for start, stop in bounds)


def overlap(one: Bounds, other: Bounds) -> Bounds | None:
    """What lies inside of both; None for nothing."""
    inside = tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(one, other, strict=True))
    return inside if all(start < stop for start, stop in inside) else None


def moved(bounds: Bounds, origin: Bounds) -> Bounds:
    """The same place, counted from where `origin` starts."""
    return tuple((a - o, b - o) for (a, b), (o, _) in zip(bounds, origin, strict=True))


def part(bounds: Bounds) -> tuple[slice | EllipsisType, ...]:
    """The bounds as an index, which gives a view of a scalar too."""
    return (*(slice(start, stop) for start, stop in bounds), ...)


class Placed(Struct, frozen=True, dict=True):
    """An array's global type, and how it lies on a mesh; without a sharding it is whole, on device 0."""

    type: TensorType
    sharding: Sharding | None = None

    @property
    def block_shape(self) -> tuple[int, ...]:
        """The shape of a device's block, padding included."""
        return self.type.shape if self.sharding is None else self.sharding.local_shape(self.type.shape)

    @cached_property
    def bounds(self) -> tuple[Bounds, ...]:
        """What each device holds, without padding, in order of device numbers."""
        if self.sharding is None:
            return (whole(self.type.shape),)
        table = slices(self.sharding, self.type.shape).tolist()
        return tuple(tuple((start, stop) for start, stop in row) for row in table)

    def writers(self, name: str) -> Iterator[tuple[int, Bounds]]:
        """Of the devices that hold copies the first, and what it holds, if that is anything.

        ShardcError for a partial result, which is no array yet.
        """
        if self.sharding is None:
            yield 0, self.bounds[0]
            return
        if self.sharding.unreduced:
            raise ShardcError(
                f"{name} is partial, {self.sharding}, and cannot be saved", hint="psum it first"
            )
        for device in cast("list[int]", replica_groups(self.sharding)[:, 0].tolist()):
            bounds = self.bounds[device]
            if all(start < stop for start, stop in bounds):
                yield device, bounds
