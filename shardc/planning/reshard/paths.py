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
        self.rows: dict[int, Vector] = {}
        every = distinct(orders.first)
        self._together = every if len(every) <= ALL else []

    def between(self, sources: Numbers, targets: Numbers) -> Matrix:
        """The lengths of the shortest paths from each of some layouts to each of others."""
        return self.along(self.orders.ends(sources, targets))

    def along(self, ends: Ends) -> Matrix:
        """The same for ends that somebody has found in these orders."""
        self._find(ends.starts)
        lengths = np.empty(ends.targets.shape)
        for row, start, found in zip(lengths, ends.starts.tolist(), ends.targets, strict=True):
            row[:] = self.rows[start][found]
        return lengths

    def pairs(self, sources: Numbers, targets: Numbers) -> Vector:
        """The length of the shortest path from each of some layouts to one of others."""
        ends = self.orders.pairs(sources, targets)
        self._find(ends.starts)
        found = np.empty(len(sources))
        for start in distinct(ends.starts):
            here = ends.starts == start
            found[here] = self.rows[start][ends.targets[here]]
        return found

    def _find(self, starts: Numbers) -> None:
        """Know the paths from these layouts."""
        new = [start for start in dict.fromkeys(starts.tolist()) if start not in self.rows]
        if new:
            some = np.array(self._together or new, np.int64)
            self.rows.update(zip(some.tolist(), self.search(some), strict=True))


class Either(Paths):
    """Paths: to layouts that are `partial` those of `every`, once somebody asks, else those of `whole`, which
    others may have as well."""

    def __init__(self, whole: Paths, every: Paths, partial: NDArray[np.bool_]) -> None:
        super().__init__(whole.orders, whole.search)
        self.rows, self.every, self.partial = whole.rows, every, partial

    def along(self, ends: Ends) -> Matrix:
        lengths, late = super().along(ends), self.partial[ends.targets]
        rows = np.flatnonzero(late.any(axis=1))
        if len(rows):
            more = self.every.along(Ends(ends.starts[rows], ends.targets[rows]))
            lengths[rows] = np.where(late[rows], more, lengths[rows])
        return lengths

    def pairs(self, sources: Numbers, targets: Numbers) -> Vector:
        lengths, late = super().pairs(sources, targets), np.flatnonzero(self.partial[targets])
        if len(late):
            lengths[late] = self.every.pairs(sources[late], targets[late])
        return lengths
