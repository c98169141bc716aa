"""The quickest of several runs on all processes, and least squares whose solutions are times."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

REPEATS = 10


@dataclass(frozen=True)
class Clock:
    """`before` lets all processes begin together; `slowest` gives the largest of all their numbers."""

    before: Callable[[], object]
    slowest: Callable[[float], float]


def quickest(run: Callable[[], object], clock: Clock) -> float:
    """Seconds of the quickest of REPEATS runs, on the process that takes longest."""
    run()
    found: list[float] = []
    for _ in range(REPEATS):
        clock.before()
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return clock.slowest(min(found))


def positive(rows: Any, wanted: Any) -> Any:
    """The least squares solution of two unknowns, both of them more than nothing."""
    solution = cast(Any, np.linalg).lstsq(rows, wanted, rcond=None)[0]
    for i in (0, 1):
        if solution[i] <= 0:
            j = 1 - i
            solution[j] = rows[:, j] @ wanted / (rows[:, j] @ rows[:, j])
            solution[i] = solution[j] * 1e-6
    return solution
