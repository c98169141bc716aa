"""The quickest of several runs on all processes, in turns, and least squares whose solutions are times."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from math import ceil, log
from typing import Any, cast

import numpy as np

REPEATS = 10

STEADY = 0.05
"""Seconds of a turn that is long enough: waking a core and filling its caches takes few of them."""

_FAR = log(1e6)
"""How far from where it starts an unknown may go: one that takes no time is a millionth of that."""


@dataclass(frozen=True)
class Clock:
    """`before` lets all processes begin together; `slowest` gives, of arrays of all of them, the largest
    numbers; `wait` takes what a run gives, and ends when it is there."""

    before: Callable[[], object]
    slowest: Callable[[Any], Any]
    wait: Callable[[object], object] = lambda made: made


def quickest(
    runs: Sequence[Callable[[], object]], clock: Clock, steady: float = 0.0, turns: int = REPEATS
) -> list[float]:
    """Seconds of the quickest of so many turns of each run, as long as its slowest process takes.

    Runs take turns: what slows the machine for a while slows a turn of all, not all turns of one. In a turn a
    run that takes less than `steady` seconds is repeated for as long, and its mean counts: an accelerator is
    given the next before it is done, and only the last is waited for.
    """
    for run in runs:
        clock.wait(run())
    if steady:
        once = clock.slowest(np.array([_timed(run, 1, clock) for run in runs]))
        counts = [max(1, ceil(steady / seconds)) for seconds in once]
    else:
        counts = [1] * len(runs)
    found = np.empty((turns, len(runs)))
    for turn in range(turns):
        for index, (run, count) in enumerate(zip(runs, counts, strict=True)):
            found[turn, index] = _timed(run, count, clock)
    return [float(seconds) for seconds in clock.slowest(found).min(axis=0)]


def _timed(run: Callable[[], object], count: int, clock: Clock) -> float:
    """Seconds of a run in the mean of so many, one after the other. All processes run it as often."""
    clock.before()
    start = time.perf_counter()
    for _ in range(count - 1):
        run()
    clock.wait(run())
    return (time.perf_counter() - start) / count


def nearest(rows: Any, seconds: Any, known: Any = 0.0) -> tuple[Any, float]:
    """Of each column the positive unknown by which `rows @ unknowns + known` is nearest to `seconds`; and the
    median relative error.

    Nearest by ratio: least squares of logarithms. Those of relative errors would take what is half as long as
    it should be for less than what is twice as long, and so find times that are too short.
    """
    start = cast(Any, np).log(1 / (rows.shape[1] * (rows / seconds[:, None]).mean(axis=0)))

    def off(logarithms: Any) -> Any:
        return np.log((rows @ np.exp(logarithms) + known) / seconds)

    solver: Any = import_module("scipy.optimize")
    limits = start - _FAR, start + _FAR
    found = solver.least_squares(off, start, bounds=limits, xtol=1e-12, ftol=1e-12, gtol=1e-12)
    unknowns = np.exp(found.x)
    return unknowns, float(np.median(np.abs((rows @ unknowns + known) / seconds - 1)))
