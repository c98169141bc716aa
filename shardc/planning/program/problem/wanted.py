"""The layouts in which a value is needed, kept up as its consumers change how they run.

A value that thousands of operations use is asked for its layouts each time one of them is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Protocol

from shardc.forms.choice import Choice
from shardc.layout import Sharding

MANY = 32
"""Consumers from which on the layouts are kept, not collected anew."""


class Consumer(Protocol):
    """An operation that runs in a way, and who is told when that changes."""

    choice: Choice
    told: tuple[Wanted, ...]


class Wanted:
    """The layouts that some consumers need: each an operation, and which of its operands the value is.

    For each layout a heap has the places of the consumers that have needed it; one at its top that needs
    another by now is dropped when it is met.
    """

    def __init__(self, consumers: Sequence[tuple[Consumer, int]]) -> None:
        self.count = len(consumers)
        self._places: dict[Consumer, list[tuple[int, int]]] = {}
        self._now: list[Sharding] = []
        self._heaps: dict[Sharding, tuple[list[int], set[int]]] = {}
        for place, (variable, index) in enumerate(consumers):
            self._places.setdefault(variable, []).append((place, index))
            self._now.append(variable.choice.operands[index])
            self._enter(place)
        for variable in self._places:
            variable.told = (*variable.told, self)

    def change(self, variable: Consumer, choice: Choice) -> None:
        """An operation that uses the value is to run otherwise."""
        for place, index in self._places[variable]:
            layout = choice.operands[index]
            if layout is not self._now[place]:
                self._now[place] = layout
                self._enter(place)

    def layouts(self) -> list[Sharding]:
        """Each layout that is needed, in the order of the first consumers that need it."""
        first: list[tuple[int, Sharding]] = []
        for layout, (heap, inside) in list(self._heaps.items()):
            while heap and self._now[heap[0]] != layout:
                inside.remove(heappop(heap))
            if heap:
                first.append((heap[0], layout))
            else:
                del self._heaps[layout]
        return [layout for _, layout in sorted(first, key=lambda pair: pair[0])]

    def _enter(self, place: int) -> None:
        heap, inside = self._heaps.setdefault(self._now[place], ([], set()))
        if place not in inside:
            inside.add(place)
            heappush(heap, place)
