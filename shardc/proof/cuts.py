"""Where two programs are cut into equal layers: at the same operations, where the fewest values pass.

Arithmetic comes in one order in both, but for a few operations that one of them lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

from shardc.graph.repeats import Repeat
from shardc.proof.steps import Steps

MANY = 8
"""Of so many layers one may be left out for the sake of where they are cut."""

_AHEAD, _RUN = 64, 6
"""How far the one program may have operations that the other lacks, and how many are alike after them."""

_SOME = 8
"""So many cuts of a repeat say how many values pass."""


def places(repeat: Repeat, cuts: Cuts) -> dict[int, int | None]:
    """Where the periods start and the last ends, in the one program and in the other: where the fewest values
    pass in both. A program that computes something twice needs more to do so, and these values are related.
    """
    period, spare = repeat.period, repeat.stop - repeat.start - repeat.count * repeat.period
    shifts = range(period if repeat.count >= MANY else spare + 1)
    passing, found = cuts.local.passing(repeat.start, repeat.stop), cuts.among(repeat)

    def passed(shift: int) -> tuple[float, int]:
        inner = range(shift + period, repeat.stop - repeat.start, period)
        some = inner[:: -(-len(inner) // _SOME)]
        return sum(passing[place] + found(repeat.start + place)[0] for place in some) / len(some), shift

    start = repeat.start + min(shifts, key=passed)
    return {place: found(place)[1] for place in range(start, repeat.stop + 1, period)}


class Cuts:
    """Where the global program is to be cut for a cut of the per-device one."""

    def __init__(self, whole: Steps, local: Steps) -> None:
        self.whole, self.local = whole, local
        first, self.whole_before = whole.sounds()
        second, self.local_before = local.sounds()
        self.matched = _matched(first, second)
        self.owner = [step for step, (a, b) in enumerate(pairwise(self.whole_before)) for _ in range(a, b)]
        places = (place if match >= 0 else -1 for place, match in enumerate(self.matched))
        self.last = list(accumulate(places, max))

    def among(self, repeat: Repeat) -> Callable[[int], tuple[int, int | None]]:
        """How many values pass at a step of the global program, and that, for a step of the repeat."""
        first, last = self._between(repeat.start), self._between(repeat.stop)
        start = 0 if first is None else first[0]
        stop = len(self.whole.steps) if last is None else last[1]
        passing = self.whole.passing(start, max(start, stop))

        def found(step: int) -> tuple[int, int | None]:
            """After the last operation that both have before the step, before the next that both have, where
            the fewest values pass.
            """
            between = self._between(step)
            if between is None:
                return 0, None
            places = range(max(between[0], start), min(between[1], stop) + 1)
            return min(((passing[place - start], place) for place in places), default=(0, None))

        return found

    def _between(self, step: int) -> tuple[int, int] | None:
        sound = self.local_before[step]
        before = self.last[sound - 1] if 0 < sound <= len(self.last) else -1
        low = self.owner[self.matched[before]] + 1 if before >= 0 else 0
        after = next((m for m in self.matched[sound : sound + _AHEAD] if m >= 0), None)
        high = self.owner[after] if after is not None else len(self.whole_before) - 1
        return None if low > high or (before < 0 and after is None) else (low, high)


def _matched(whole: Sequence[str], local: Sequence[str]) -> list[int]:
    """For every name of the local list the place of its partner, or -1."""
    found = [-1] * len(local)
    i = j = 0
    while i < len(whole) and j < len(local):
        if whole[i] == local[j]:
            found[j] = i
            i, j = i + 1, j + 1
            continue
        step = next(((a, b) for a, b in _STEPS if _alike(whole, i + a, local, j + b)), None)
        if step is None:
            break
        i, j = i + step[0], j + step[1]
    return found


_STEPS = [(a, total - a) for total in range(1, _AHEAD) for a in range(total, -1, -1)]


def _alike(whole: Sequence[str], i: int, local: Sequence[str], j: int) -> bool:
    return i < len(whole) and j < len(local) and list(whole[i : i + _RUN]) == list(local[j : j + _RUN])
