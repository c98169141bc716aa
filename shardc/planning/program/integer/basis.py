"""Where a linear program begins: at the basis in which the last one of the same network ended.

The next program of a network (building.again) has the same parts in the same order: operations, what loops
carry, ways of values. Only which copies a value may take is another, since prices are others. So a column or
row is that of the last program which stands at the same place of the same part, or has the same code there; a
new column is not used, and a new row binds nothing. From there the simplex method takes half as many steps
or fewer to the next optimum as from nothing.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from shardc.planning.solvers import Vector

Numbers = NDArray[np.int64]
Statuses = NDArray[np.int8]

LOWER, BASIC, UPPER = 0, 1, 2
"""HiGHS's numbers for a column at its lower bound, for what the solution is made of, and for one at its upper
bound."""


class Basis(Struct, frozen=True):
    """HiGHS's status of every column and of every row."""

    columns: Statuses
    rows: Statuses

    @staticmethod
    def of(basic: Numbers, values: Vector, open_below: NDArray[np.bool_]) -> Basis:
        """From the numbers of what is basic: a column's, or of a row -1 less its number. The other columns
        are at the nearer of 0 and 1, the other rows at a bound that they have: those without a lower one,
        which are `open_below`, at the upper."""
        columns = np.where(values > 0.5, UPPER, LOWER).astype(np.int8)
        rows = np.where(open_below, UPPER, LOWER).astype(np.int8)
        columns[basic[basic >= 0]] = BASIC
        rows[-1 - basic[basic < 0]] = BASIC
        return Basis(columns, rows)


class Parts(Struct):
    """Numbers of columns or rows, given out part by part: where each begins, and ascending codes of those
    parts whose numbers are not the same in every program."""

    starts: list[int] = []
    codes: dict[int, Numbers] = {}

    def open(self, start: int, codes: Numbers | None = None) -> None:
        """A new part, which begins at a number."""
        if codes is not None:
            self.codes[len(self.starts)] = codes
        self.starts.append(start)

    def carried(self, statuses: Statuses, new: Parts, size: int, fresh: int) -> Statuses | None:
        """The statuses of these parts as those of others, `size` numbers in all, `fresh` where they have a
        code that these don't have; None if they are not the same parts."""
        if len(self.starts) != len(new.starts) or self.codes.keys() != new.codes.keys():
            return None
        found = np.full(size, fresh, np.int8)
        mine, others = pairwise([*self.starts, len(statuses)]), pairwise([*new.starts, size])
        for at, ((start, end), (first, last)) in enumerate(zip(mine, others, strict=True)):
            here, there = statuses[start:end], found[first:last]
            if at not in self.codes:
                if len(here) != len(there):
                    return None
                there[:] = here
                continue
            have, want = self.codes[at], new.codes[at]
            if len(have):
                place = np.minimum(np.searchsorted(have, want), len(have) - 1)
                there[:] = np.where(have[place] == want, here[place], fresh)
        return found
