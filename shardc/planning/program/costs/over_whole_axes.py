"""What changes of layout take over whole axes, for many of them at once.

It is known without a search for each: the shortest paths from a layout to all (quickest.py) are found for all
tensors of a size together. So a program whose copies are priced so is solved once, where one with lower
bounds is solved again as often as some turn out to be too low.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from shardc.analysis.phases import Phase
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
        found = [(np.full(len(each.rows), np.inf), np.zeros(len(each.rows))) for each in asked]
        alike = dict[tuple[int, Phase], list[int]]()
        for number, each in enumerate(asked):
            if len(each.rows) and not each.context.manual:
                alike.setdefault((each.type.rank, each.context.phase), []).append(number)
        for (rank, phase), numbers in alike.items():
            known = self.rates.quickest(rank, phase).ticks([asked[number] for number in numbers])
            for number, each in zip(numbers, known, strict=True):
                found[number] = each
        left = [np.flatnonzero(np.isinf(ticks)) for ticks, _ in found]
        pairs = zip(asked, left, strict=True)
        rest = self._bounds.of(
            [replace(each, rows=each.rows[at], columns=each.columns[at]) for each, at in pairs]
        )
        for (ticks, count), at, (least, steps) in zip(found, left, rest, strict=True):
            ticks[at], count[at] = least, steps
        return found
