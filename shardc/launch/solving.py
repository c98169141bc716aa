"""The quickest of several runs on all processes, in turns, and least squares whose solutions are times."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from math import log
from typing import Any, cast

import numpy as np

REPEATS = 10

_FAR = log(1e6)
"""How far from where it starts an unknown may go: one that takes no time is a millionth of that."""


@dataclass(frozen=True)
class Clock:
    """`before` lets all processes begin together; `slowest` gives, of arrays of all of them, the largest
    numbers."""

    before: Callable[[], object]
    slowest: Callable[[Any], Any]


def quickest(runs: Sequence[Callable[[], object]], clock: Clock) -> list[float]:
    """Seconds of the quickest of REPEATS runs of each, as long as its slowest process takes.

    Runs take turns: what slows the machine for a while slows a turn of all, not all turns of one.
    """
    for run in runs:
        run()
    found = np.empty((REPEATS, len(runs)))
    for turn in range(REPEATS):
        for index, run in enumerate(runs):
            clock.before()
            start = time.perf_counter()
            run()
            found[turn, index] = time.perf_counter() - start
    return [float(seconds) for seconds in clock.slowest(found).min(axis=0)]


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
