"""What changes of layout take over whole axes, for many of them at once.

It is known without a search for each: the shortest paths from a layout to all (quickest.py) are found for all
tensors of a size together. So a program whose copies are priced so is solved once, where one with lower
bounds is solved again as often as some turn out to be too low.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from shardc.planning.program.costs.bounds import Asked, Bound, Bounds
from shardc.planning.program.costs.rates import Rates
from shardc.planning.reshard.runs import AxisAtoms


class OverWholeAxes:
    """The quickest ways over whole axes; where layouts have parts of axes, blocks are uneven, or what
    surrounds them is written for some axes, what they take at least, as Bounds."""

    def __init__(self, atoms: AxisAtoms, rates: Rates) -> None:
        self.rates, self._bounds = rates, Bounds(atoms, rates)

    def of(self, asked: Sequence[Asked]) -> list[Bound]:
        """Of each of some questions. LayoutError if a layout has other pieces of axes."""
        found = [self._quickest(each) for each in asked]
        left = [np.flatnonzero(np.isinf(ticks)) for ticks, _ in found]
        pairs = zip(asked, left, strict=True)
        rest = self._bounds.of(
            [replace(each, rows=each.rows[at], columns=each.columns[at]) for each, at in pairs]
        )
        for (ticks, count), at, (least, steps) in zip(found, left, rest, strict=True):
            ticks[at], count[at] = least, steps
        return found

    def _quickest(self, asked: Asked) -> Bound:
        """Ticks, infinite where they are not known, and whether something is sent."""
        rows, columns, context = asked.rows, asked.columns, asked.context
        ticks, sends = np.full(len(rows), np.inf), np.zeros(len(rows))
        if context.manual or not len(rows):
            return ticks, sends
        quickest = self.rates.quickest(asked.type.rank, context.phase)
        numbers = np.array([quickest.number(layout) for layout in asked.layouts], np.int64)
        kinds = np.array([layout.kind if layout.unreduced else "" for layout in asked.layouts])
        (begin, end), (before, after) = ((each[rows], each[columns]) for each in (numbers, kinds))
        one_kind = (before == after) | (before == "") | (after == "")
        known = np.flatnonzero((begin >= 0) & (end >= 0) & one_kind)
        if len(known):
            ticks[known], sends[known] = quickest.ticks(asked.type, begin[known], end[known])
        return ticks, sends
