"""A group of devices as a ring: each position has a next and a previous one, modulo the size of the group.

Positions are row-major over the axes, so a ring may run over several axes or over a part of one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct

from shardc.forms.site import INDEX, scalar
from shardc.graph.builder import Builder
from shardc.layout import Axis, size_of
from shardc.ops import hlo, spmd

Iteration = Callable[..., Sequence[Any]]
"""(its number, from 0: an int or an i32[]; carried values…) -> the carried values after it."""


def unlabelled(value: Any, name: str, reason: str | None = None) -> None:
    """Give a value no name."""


class Ring(Struct, frozen=True, dict=True):
    """Builds on a ring. `label(value, name, reason)` notes what a value is called and why it is sent.

    `iterate` builds a loop where the ring has more than `unroll` devices.
    """

    builder: Builder[Any]
    axes: tuple[Axis, ...]
    unroll: int = 4
    label: Callable[[Any, str, str | None], None] = unlabelled

    @property
    def size(self) -> int:
        return size_of(self.axes)

    @property
    def unrolled(self) -> bool:
        return self.size <= self.unroll

    @cached_property
    def position(self) -> Any:
        """This device's: i32[]."""
        return self.builder.one(spmd.axis_index.name, axes=self.axes)

    def send(self, value: Any, shift: int) -> Any:
        """Every device gets the value of the device `shift` positions before it."""
        pairs = tuple((i, (i + shift) % self.size) for i in range(self.size))
        return self.builder.one(spmd.collective_permute.name, value, axes=self.axes, pairs=pairs)

    def ahead(self, distance: int, number: Any) -> Any:
        """The position that lies `distance` + `number` ahead of this one: i32[]. number < size."""
        if isinstance(number, int):
            return self._wrapped(self.position, (distance + number) % self.size)
        return self._wrapped(self.builder.one(hlo.add.name, self.position, number), distance % self.size)

    def behind(self, distance: int, number: Any) -> Any:
        """The position that lies `distance` + `number` behind this one: i32[]. distance + number <= size."""
        if isinstance(number, int):
            return self.ahead(-distance, -number)
        b = self.builder
        left = b.one(hlo.subtract.name, scalar(b, self.size - distance, INDEX), number)
        return self._wrapped(b.one(hlo.add.name, self.position, left), 0)

    def _wrapped(self, position: Any, distance: int) -> Any:
        b = self.builder
        if distance:
            position = b.one(hlo.add.name, position, scalar(b, distance, INDEX))
        elif position is self.position:
            return position
        return b.one(hlo.remainder.name, position, scalar(b, self.size, INDEX))

    def iterate(self, count: int, carried: Sequence[Any], iteration: Iteration) -> list[Any]:
        """The carried values after `count` iterations."""
        if self.unrolled:
            for number in range(count):
                carried = iteration(number, *carried)
            return list(carried)
        return self._loop(count, carried, iteration)

    def _loop(self, count: int, carried: Sequence[Any], iteration: Iteration) -> list[Any]:
        b, _ = self.builder, self.position  # made before the loop, which uses it
        types = [INDEX, *map(b.type_of, carried)]

        def unfinished(builder: Builder[Any], number: Any, *_: Any) -> Sequence[Any]:
            end = scalar(builder, count, INDEX)
            return [
                builder.one(hlo.compare.name, number, end, comparison_direction="LT", compare_type="SIGNED")
            ]

        def body(builder: Builder[Any], number: Any, *values: Any) -> Sequence[Any]:
            after = iteration(number, *values)
            return [builder.one(hlo.add.name, number, scalar(builder, 1, INDEX)), *after]

        regions = [(types, unfinished), (types, body)]
        _, *after = b.op(hlo.while_.name, scalar(b, 0, INDEX), *carried, results=types, regions=regions)
        return after
