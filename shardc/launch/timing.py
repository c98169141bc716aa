"""The quickest of several runs on all processes, in turns: of what each does by itself, and of collectives.

Both count from when the first process begins to when the last is done. A process that begins late finds the
others done and their cores idle, so what it takes by itself is less than what all of them take together.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import ceil
from typing import Any

import numpy as np
from msgspec import Struct

REPEATS = 10

STEADY = 0.05
"""Seconds of a turn that is long enough: waking a core and filling its caches takes few of them."""

Call = Callable[[], object]


class Clock(Struct, frozen=True):
    """`together` lets all processes wait for each other; `everyone` stacks the arrays that they give; `wait`
    takes what a run gives, and ends when it is there."""

    together: Call
    everyone: Callable[[Any], Any]
    wait: Callable[[object], object] = lambda made: made

    def quickest(self, turns: Any) -> Any:
        """Of seconds by turn and run, those of the quickest turn of each, as long as its slowest process
        takes."""
        return self.everyone(turns).max(axis=0).min(axis=0)


def quickest(runs: Sequence[Call], clock: Clock, turns: int = REPEATS) -> list[float]:
    """Seconds of the quickest of so many turns of each run, until all processes are done.

    Runs take turns: what slows the machine for a while slows a turn of all, not all turns of one. In a turn a
    run that takes less than STEADY seconds is repeated for as long, and its mean counts: an accelerator is
    given the next before it is done, and only the last is waited for. At the end processes wait for each
    other; what that takes by itself is taken off.
    """
    counts = _counts(runs, clock)
    found = np.empty((turns, len(runs) + 1))
    for turn in range(turns):
        for index, (run, count) in enumerate(zip(runs, counts, strict=True)):
            found[turn, index] = _repeated(run, count, clock, clock.together)
        found[turn, -1] = _repeated(lambda: None, 1, clock, clock.together)
    *spans, nothing = map(float, clock.quickest(found))
    return [(span - nothing) / count for span, count in zip(spans, counts, strict=True)]


def exchanged(runs: Sequence[Call], work: Call, clock: Clock, turns: int = REPEATS) -> list[float]:
    """Seconds that each collective adds to `work` before it, which processes do by themselves: the quickest
    of so many turns of both, less the work alone; and at least what it takes without.

    In a program processes come to a collective from their work, one later than the other, and what handles
    messages wakes up beside the arithmetic of those that still work.
    """
    both = [_after(work, run) for run in runs]
    counts = _counts(both, clock)
    found = np.empty((2, turns, len(runs)))
    for turn in range(turns):
        for index, (run, after, count) in enumerate(zip(runs, both, counts, strict=True)):
            found[0, turn, index] = _repeated(run, 1, clock)
            found[1, turn, index] = _repeated(after, count, clock) / count
    (alone,) = quickest([work], clock, turns)
    first, after = map(clock.quickest, found)
    return [max(float(one), float(other) - alone) for one, other in zip(first, after, strict=True)]


def _after(work: Call, run: Call) -> Call:
    """Both, of which the last is waited for."""

    def call() -> object:
        work()
        return run()

    return call


def _counts(runs: Sequence[Call], clock: Clock) -> list[int]:
    """How often each is repeated in a turn: as often on all processes as fills one of the slowest."""
    for run in runs:
        clock.wait(run())
    once = clock.quickest(np.array([[_repeated(run, 1, clock) for run in runs]]))
    return [max(1, ceil(STEADY / seconds)) for seconds in once]


def _repeated(run: Call, count: int, clock: Clock, end: Call = lambda: None) -> float:
    """Seconds of so many runs, one after the other, and of an end. All processes begin together."""
    clock.together()
    start = time.perf_counter()
    for _ in range(count - 1):
        run()
    clock.wait(run())
    end()
    return time.perf_counter() - start
