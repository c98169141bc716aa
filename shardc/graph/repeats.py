"""Where a sequence repeats itself: the layers of a program that was written as a loop and printed without.

    repeats("a x y z x y z x y b".split(), least=2)  ->  [Repeat(start=1, period=3, stop=9)]

A repeat is a stretch in which every element equals the one a period later. Periods are looked for among the
distances of equal elements, so the time is about that of sorting.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

_NEXT = 8
"""An element may occur so often within a period."""

_PERIODS = 64
"""How many of the most frequent distances are tried as periods."""


class Repeat(Struct, frozen=True):
    """elements[i] == elements[i + period] wherever start <= i < stop - period."""

    start: int
    period: int
    stop: int

    @property
    def count(self) -> int:
        """How many whole periods there are."""
        return (self.stop - self.start) // self.period

    @property
    def saved(self) -> int:
        """How many elements need not be written again."""
        return (self.count - 1) * self.period


def repeats(elements: Sequence[Hashable], least: int) -> list[Repeat]:
    """The stretches that together save most: they don't overlap, and have periods of at least `least`.

    They come in order. Each has two whole periods or more.
    """
    numbers: dict[Hashable, int] = {}
    ids = np.array([numbers.setdefault(element, len(numbers)) for element in elements], dtype=np.int64)
    found = [r for period in _periods(ids, least) for r in _stretches(ids, period)]
    return _best(sorted(found, key=lambda r: (r.stop, r.period, r.start)))


def _best(found: Sequence[Repeat]) -> list[Repeat]:
    """Those that save most, by dynamic programming over their ends; one may begin later, after another.

    `best` is what the first so many of them save; of what saves the same, the shortest periods are taken.
    """
    stops, best = [repeat.stop for repeat in found], [(0, 0)]
    chosen: list[tuple[Repeat, ...]] = [()]
    for number, repeat in enumerate(found):
        most, last = best[-1], chosen[-1]
        for count in range(repeat.count, 1, -1):
            before = bisect_right(stops, repeat.stop - count * repeat.period, hi=number)
            saved, periods = best[before]
            both = saved + (count - 1) * repeat.period, periods - repeat.period
            if both > most:
                earlier = chosen[before]
                start = max(repeat.start, earlier[-1].stop) if earlier else repeat.start
                most, last = both, (*earlier, Repeat(start, repeat.period, repeat.stop))
        best.append(most)
        chosen.append(last)
    return [*chosen[-1]]


def _periods(ids: NDArray[np.int64], least: int) -> list[int]:
    """The most frequent distances between an element and the next few equal ones."""
    places = np.argsort(ids, kind="stable")
    equal, counts = ids[places], np.zeros(len(ids), dtype=np.int64)
    for following in range(1, _NEXT + 1):
        apart = (places[following:] - places[:-following])[equal[following:] == equal[:-following]]
        counts += np.bincount(apart[apart >= least], minlength=len(ids))
    (periods,) = np.nonzero(counts)
    return periods[np.argsort(-counts[periods], kind="stable")][:_PERIODS].tolist()


def _stretches(ids: NDArray[np.int64], period: int) -> list[Repeat]:
    """The longest stretches of a period that have it twice."""
    equal = np.concatenate(([0], (ids[period:] == ids[:-period]).astype(np.int8), [0]))
    starts, stops = np.flatnonzero(np.diff(equal) == 1), np.flatnonzero(np.diff(equal) == -1)
    pairs = zip(starts.tolist(), stops.tolist(), strict=True)
    return [Repeat(start, period, stop + period) for start, stop in pairs if stop - start >= period]
