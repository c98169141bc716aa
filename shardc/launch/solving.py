"""Least squares whose solutions are times."""

from __future__ import annotations

from importlib import import_module
from math import log
from typing import Any, cast

import numpy as np

_FAR = log(1e6)
"""How far from where it starts an unknown may go: one that takes no time is a millionth of that."""


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
