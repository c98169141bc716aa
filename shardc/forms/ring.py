"""A group of devices as a ring: each position has a next and a previous one, modulo the size of the group.

Positions are row-major over the axes, so a ring may run over several axes or over a part of one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from shardc.forms.site import INDEX, scalar
from shardc.graph.builder import Builder
from shardc.layout import Axis, size_of

Turn = Callable[..., Sequence[Any]]
"""(number of the turn, from 0: an int or an i32[]; carried values…) -> the carried values after it."""


def unlabelled(value: Any, name: str, reason: str | None = None) -> None:
    """Give a value no name."""


@dataclass(frozen=True)
class Ring:
    """Builds on a ring. `label(value, name, reason)` notes what a value is called and why it is sent.

    `turns` become a loop where the ring has more than `unroll` devices.
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
        return self.builder.one("spmd.axis_index", axes=self.axes)

    def send(self, value: Any, shift: int) -> Any:
        """Every device gets the value of the device `shift` positions before it."""
        pairs = tuple((i, (i + shift) % self.size) for i in range(self.size))
        return self.builder.one("spmd.collective_permute", value, axes=self.axes, pairs=pairs)

    def ahead(self, distance: int, turn: Any) -> Any:
        """The position that lies `distance` + `turn` ahead of this one: i32[]. turn < size."""
        if isinstance(turn, int):
            return self._wrapped(self.position, (distance + turn) % self.size)
        return self._wrapped(self.builder.one("stablehlo.add", self.position, turn), distance % self.size)

    def behind(self, distance: int, turn: Any) -> Any:
        """The position that lies `distance` + `turn` behind this one: i32[]. distance + turn <= size."""
        if isinstance(turn, int):
            return self.ahead(-distance, -turn)
        b = self.builder
        left = b.one("stablehlo.subtract", scalar(b, self.size - distance, INDEX), turn)
        return self._wrapped(b.one("stablehlo.add", self.position, left), 0)

    def _wrapped(self, position: Any, distance: int) -> Any:
        b = self.builder
        if distance:
            position = b.one("stablehlo.add", position, scalar(b, distance, INDEX))
        elif position is self.position:
            return position
        return b.one("stablehlo.remainder", position, scalar(b, self.size, INDEX))

    def turns(self, count: int, carried: Sequence[Any], turn: Turn) -> list[Any]:
        """The carried values after `count` turns."""
        if self.unrolled:
            for number in range(count):
                carried = turn(number, *carried)
            return list(carried)
        return self._loop(count, carried, turn)

    def _loop(self, count: int, carried: Sequence[Any], turn: Turn) -> list[Any]:
        b, _ = self.builder, self.position  # made before the loop, which uses it
        types = [INDEX, *map(b.type_of, carried)]

        def unfinished(builder: Builder[Any], number: Any, *_: Any) -> Sequence[Any]:
            end = scalar(builder, count, INDEX)
            return [
                builder.one(
                    "stablehlo.compare", number, end, comparison_direction="LT", compare_type="SIGNED"
                )
            ]

        def body(builder: Builder[Any], number: Any, *values: Any) -> Sequence[Any]:
            after = turn(number, *values)
            return [builder.one("stablehlo.add", number, scalar(builder, 1, INDEX)), *after]

        regions = [(types, unfinished), (types, body)]
        _, *after = b.op("stablehlo.while", scalar(b, 0, INDEX), *carried, results=types, regions=regions)
        return after
