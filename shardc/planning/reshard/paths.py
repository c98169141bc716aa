"""The shortest paths between layouts, looked for from those that somebody asks for.

Of layouts that differ in an order that does not matter (orders.py) they are looked for from one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shardc.layout.distinct import distinct
from shardc.planning.reshard.orders import Ends, Numbers, Orders
from shardc.planning.solvers import Matrix, Vector

ALL = 32  # layouts from which all paths are looked for once one is: little more than one takes


class Paths:
    """The shortest paths between layouts, in all orders that leave them as long, as far as they are known.

    `search` finds the paths from some layouts to all. Of layouts that are images of each other one stands for
    all. Where few do, all are looked for at once.
    """

    def __init__(self, orders: Orders, search: Callable[[Numbers], Matrix]) -> None:
        self.orders, self.search = orders, search
        size = len(orders.first)
        self._rows, self._count = np.empty((0, size)), 0
        self._place = np.full(size, -1)
        """In which of the rows the paths from a layout are."""
        every = distinct(orders.first)
        self._together = every if len(every) <= ALL else []

    def between(self, sources: Numbers, targets: Numbers) -> Matrix:
        """The lengths of the shortest paths from each of some layouts to each of others."""
        ends = self.orders.ends(sources, targets)
        return self.at(Ends(ends.starts[:, None], ends.targets))

    def pairs(self, sources: Numbers, targets: Numbers) -> Vector:
        """The length of the shortest path from each of some layouts to one of others."""
        return self.at(self.orders.pairs(sources, targets))

    def at(self, ends: Ends) -> Matrix:
        """The same for ends that somebody has found in these orders, of as many starts as targets."""
        place = self._found(ends.starts)
        return self._rows[place, ends.targets]

    def _found(self, starts: Numbers) -> Numbers:
        """The rows that have the paths from some layouts."""
        place = self._place[starts]
        if place.min(initial=0) < 0:
            self._find([start for start in distinct(starts.ravel()) if self._place[start] < 0])
            place = self._place[starts]
        return place

    def _find(self, new: list[int]) -> None:
        """Know the paths from these layouts."""
        some = np.array(self._together or new, np.int64)
        found = self.search(some)
        before, count = self._count, self._count + len(some)
        if count > len(self._rows):
            rows = np.empty((max(count, 2 * before), self._rows.shape[1]))
            rows[:before] = self._rows[:before]
            self._rows = rows
        self._rows[before:count] = found
        self._place[some] = np.arange(before, count)
        self._count = count


class Either(Paths):
    """Paths: to layouts that are `partial` those of `every`, once somebody asks, else those of `whole`, which
    others may have as well."""

    def __init__(self, whole: Paths, every: Paths, partial: NDArray[np.bool_]) -> None:
        self.orders, self.whole, self.every, self.partial = whole.orders, whole, every, partial

    def at(self, ends: Ends) -> Matrix:
        late = self.partial[ends.targets]
        lengths = self.whole.at(ends)
        if late.any():
            starts = np.broadcast_to(ends.starts, late.shape)[late]
            lengths[late] = self.every.at(Ends(starts, ends.targets[late]))
        return lengths
