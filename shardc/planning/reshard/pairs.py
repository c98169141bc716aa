"""What is known of ways between pairs of layouts, found once: many values are in the same layouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from shardc.layout import Sharding
from shardc.planning.reshard.orders import Numbers
from shardc.planning.solvers import Matrix, Vector

MOST = 1024
"""Layouts between which what was found is kept: 16 MB. Beyond, all is forgotten."""

Find = Callable[[Sequence[Sharding], Sequence[Sharding], Numbers, Numbers], tuple[Vector, Vector]]
"""Parts of the tensor and collectives from some sources to some targets, by number."""


class Pairs:
    """Answers of `find`, by the two layouts."""

    def __init__(self, find: Find) -> None:
        self.find = find
        self._forget()

    def between(
        self, sources: Sequence[Sharding], targets: Sequence[Sharding], rows: Numbers, columns: Numbers
    ) -> tuple[Vector, Vector]:
        """As `find`, which is asked for what is not known."""
        if len({*sources, *targets, *self._numbers}) > MOST:
            self._forget()
            if len({*sources, *targets}) > MOST:
                return self.find(sources, targets, rows, columns)
        begin, end = map(self._number, (sources, targets))
        at = begin[rows], end[columns]
        new = np.flatnonzero(np.isnan(self._moved[at]))
        if len(new):
            here = at[0][new], at[1][new]
            self._moved[here], self._steps[here] = self.find(sources, targets, rows[new], columns[new])
        return self._moved[at], self._steps[at]

    def _forget(self) -> None:
        self._numbers: dict[Sharding, int] = {}
        self._moved = self._steps = _unknown(0)

    def _number(self, layouts: Sequence[Sharding]) -> Numbers:
        """The layouts by number; those that are new get one, and room."""
        known = self._numbers
        found = np.array([known.setdefault(layout, len(known)) for layout in layouts], np.int64)
        size = len(self._moved)
        if len(known) > size:
            room = max(len(known), min(MOST, 2 * size))
            moved, steps = _unknown(room), _unknown(room)
            moved[:size, :size], steps[:size, :size] = self._moved, self._steps
            self._moved, self._steps = moved, steps
        return found


def _unknown(size: int) -> Matrix:
    return np.full((size, size), np.nan)
