"""What a device does by itself: products, and functions of elements, and the rates fitted to their times.

The functions are run as programs are: compiled by JAX, or one operation after the other in NumPy, with
results in new memory, blocks of 1 MiB to 16 MiB, all devices at once. Operations and bytes are counted as the
planner counts them (planning/program/fusion.py): what fusing saves, or its absence costs, is in the rates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shardc.launch.solving import Clock, positive, quickest

PRODUCTS = ((512, 512, 512), (1024, 512, 1024), (256, 2048, 256), (2048, 256, 512))
"""Rows, terms and columns of the matrices that are multiplied."""

SIDES = (512, 1024, 2048)
"""Rows and columns of the f32 blocks of WORK: 1 MiB to 16 MiB."""


@dataclass(frozen=True)
class Function:
    """A function of two square blocks with the names of `xp`.

    For each of their elements: arithmetic operations, and elements read and written.
    """

    run: Callable[[Any, Any, Any], Any]
    operations: int
    moved: int


def _softmax(xp: Any, x: Any, y: Any) -> Any:
    e = xp.exp(x - xp.max(x, axis=1, keepdims=True))
    return e / xp.sum(e, axis=1, keepdims=True)


WORK = (
    Function(lambda xp, x, y: x + y, 1, 3),
    Function(lambda xp, x, y: xp.exp(x), 1, 2),
    Function(lambda xp, x, y: xp.tanh(x * y) + x, 3, 3),
    Function(lambda xp, x, y: xp.sqrt(x * x + y) - x * y, 5, 3),
    Function(lambda xp, x, y: xp.sum(x, axis=1), 1, 1),
    Function(lambda xp, x, y: xp.sum((x - y) * (x + y), axis=0), 4, 2),
    Function(_softmax, 5, 3),
)


@dataclass(frozen=True)
class Device:
    """Operations/s of products by dtype and of all else, bytes/s, and the median errors of both fits."""

    products: Mapping[str, float]
    other: float
    bandwidth: float
    errors: tuple[float, float]


def measured(
    product: Callable[[str, tuple[int, int, int]], Callable[[], object]],
    function: Callable[[Function, int], Callable[[], object]],
    dtypes: tuple[str, ...],
    clock: Clock,
) -> Device:
    """The rates of this device. `product` and `function` make what is run.

    Everything else may wait for memory alone; products of dtypes that are not listed have its rate too, so it
    is at most that of products.
    """
    rates: dict[str, float] = {}
    off: list[float] = []
    for dtype in dtypes:
        found = [2 * m * k * n / quickest(product(dtype, (m, k, n)), clock) for m, k, n in PRODUCTS]
        rates[dtype], errors = _rate(found)
        off += errors
    samples = [(f, side, quickest(function(f, side), clock)) for side in SIDES for f in WORK]
    other, bandwidth, error = fitted(samples)
    return Device(rates, min(other, max(rates.values())), bandwidth, (float(np.median(off)), error))


def _rate(found: list[float]) -> tuple[float, list[float]]:
    """Operations/s whose times are nearest to those of the products, by relative error; and the errors."""
    inverse = sum(found) / sum(rate * rate for rate in found)
    return 1 / inverse, [abs(rate * inverse - 1) for rate in found]


def fitted(samples: list[tuple[Function, int, float]]) -> tuple[float, float, float]:
    """Operations/s, bytes/s and the median relative error of functions, blocks' sides and seconds."""
    rows = np.array([(f.operations * side**2, 4 * f.moved * side**2) for f, side, _ in samples], np.float64)
    times = np.array([seconds for *_, seconds in samples])
    scale = rows.max(axis=0)
    solution = positive((rows / scale) / times[:, None], np.ones(len(times))) / scale
    errors = np.abs(rows @ solution - times) / times
    return float(1 / solution[0]), float(1 / solution[1]), float(np.median(errors))
