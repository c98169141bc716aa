"""Blocks that are dealt when something asks for them, and what they are known to be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, SupportsIndex

from msgspec import Struct

from shardc.interpret.devices import Blocks
from shardc.layout import Sharding
from shardc.semantics.arrays import Array


class Later(list[Array]):
    """Blocks that are made when they are asked for."""

    def __init__(self, make: Callable[[], Sequence[Array]], length: int, held: Held | None = None) -> None:
        super().__init__()
        self._make: Callable[[], Sequence[Array]] | None = make
        self._length = length
        self.held = held

    def _made(self) -> list[Array]:
        if self._make is not None:
            make, self._make = self._make, None
            super().extend(make())
        return self

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Array]:
        self._made()
        return super().__iter__()

    def __getitem__(self, place: SupportsIndex | slice) -> Any:
        self._made()
        return super().__getitem__(place)


class Held(Struct, frozen=True):
    """A value of the global program, and the layout in which the devices hold it."""

    value: Blocks
    sharding: Sharding
