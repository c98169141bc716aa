"""The quickest of several runs on all processes, in turns, and least squares whose solutions are times."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, cast

import numpy as np

REPEATS = 10


@dataclass(frozen=True)
class Clock:
    """`before` lets all processes begin together; `slowest` gives the largest of all their numbers."""

    before: Callable[[], object]
    slowest: Callable[[float], float]


def quickest(runs: Sequence[Callable[[], object]], clock: Clock) -> list[float]:
    """Seconds of the quickest of REPEATS runs of each, as long as its slowest process takes.

    Runs take turns: what slows the machine for a while slows a turn of all, not all turns of one.
    """
    for run in runs:
        run()
    found = [inf for _ in runs]
    for _ in range(REPEATS):
        for index, run in enumerate(runs):
            clock.before()
            start = time.perf_counter()
            run()
            found[index] = min(found[index], clock.slowest(time.perf_counter() - start))
    return found


def positive(rows: Any, wanted: Any) -> Any:
    """The least squares solution of two unknowns, both of them more than nothing."""
    solution = cast(Any, np.linalg).lstsq(rows, wanted, rcond=None)[0]
    for i in (0, 1):
        if solution[i] <= 0:
            j = 1 - i
            solution[j] = rows[:, j] @ wanted / (rows[:, j] @ rows[:, j])
            solution[i] = solution[j] * 1e-6
    return solution
