"""The rates of a device, fitted to times of products and functions by ratio (solving.py)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from shardc.launch.solving import nearest
from shardc.ops.definition import Rate

TURNED_BYTES = "turned"
"""What errors call the fit of what is read across its order."""


class Device(Struct, frozen=True):
    """Operations/s by dtype of products and by Rate, bytes/s, and the median errors of all fits, by name.

    `turned`: bytes/s more of what is read across its order. `multiplied`: bytes/s of what products read and
    write. `shapes`: by dtype, which products were the slowest and the quickest, and their operations/s.
    `fuses`: whether several operations are one.
    """

    rates: Mapping[str, float]
    bandwidth: float
    turned: float
    multiplied: float
    errors: Mapping[str, float]
    shapes: Mapping[str, str]
    fuses: bool = True


class Timed(Struct, frozen=True):
    """So many operations and bytes, of which some are read across their order, took `seconds`."""

    operations: float
    bytes: float
    seconds: float
    across: float = 0


def device(
    samples: Mapping[str, Sequence[Timed]], dtypes: Sequence[str], shapes: Mapping[str, str], fuses: bool
) -> Device:
    """Rates of what reads in order first, then, beside them, that of what does not."""
    straight = {name: [one for one in found if not one.across] for name, found in samples.items()}
    other, bandwidth, error = fitted(straight.pop(Rate.OTHER))
    rates, multiplied, errors = multiplied_at({name: straight.pop(name) for name in dtypes})
    for name, found in straight.items():
        rates[name], errors[name] = rate(found, bandwidth)
    rates[Rate.OTHER], errors[Rate.OTHER] = min(other, max(rates[dtype] for dtype in dtypes)), error
    turned, errors[TURNED_BYTES] = _turned(
        [
            (one.operations / rates[name] + one.bytes / (multiplied if name in dtypes else bandwidth), one)
            for name, found in samples.items()
            for one in found
        ]
    )
    return Device(rates, bandwidth, turned, multiplied, errors, shapes, fuses)


def multiplied_at(samples: Mapping[str, Sequence[Timed]]) -> tuple[dict[str, float], float, dict[str, float]]:
    """Of products by dtype: operations/s, bytes/s of all of them, and median relative errors."""
    rows = [
        [*(one.operations if name == dtype else 0.0 for dtype in samples), one.bytes]
        for name, found in samples.items()
        for one in found
    ]
    seconds = [one.seconds for found in samples.values() for one in found]
    (*operations, byte), _ = nearest(np.array(rows, np.float64), np.array(seconds, np.float64))
    each = dict(zip(samples, map(float, operations), strict=True))
    errors = {
        name: float(np.median([abs(_of(one, each[name], float(byte)) - 1) for one in found]))
        for name, found in samples.items()
    }
    return {name: 1 / operation for name, operation in each.items()}, float(1 / byte), errors


def _of(one: Timed, operation: float, byte: float) -> float:
    """The share of its seconds that operations and bytes of so many seconds each take."""
    return (one.operations * operation + one.bytes * byte) / one.seconds


def _turned(samples: Sequence[tuple[float, Timed]]) -> tuple[float, float]:
    """Bytes/s of what is read across its order, beside all else, and the median relative error. Samples come
    with the seconds of all else."""
    rows = [(one.across, known, one.seconds) for known, one in samples if one.across]
    across, known, seconds = np.array(rows, np.float64).T
    (each,), error = nearest(across[:, None], seconds, known)
    return float(1 / each), error


def rate(found: Sequence[Timed], bandwidth: float) -> tuple[float, float]:
    """Operations/s, beside bytes at a known bandwidth, and the median relative error."""
    operations, bytes, seconds = _columns(found)
    (each,), error = nearest(operations[:, None], seconds, bytes / bandwidth)
    return float(1 / each), error


def fitted(found: Sequence[Timed]) -> tuple[float, float, float]:
    """Operations/s, bytes/s and the median relative error."""
    operations, bytes, seconds = _columns(found)
    (operation, byte), error = nearest(np.stack((operations, bytes), axis=1), seconds)
    return float(1 / operation), float(1 / byte), error


def _columns(found: Sequence[Timed]) -> tuple[Any, Any, Any]:
    """Operations, bytes and seconds."""
    table = np.array([(sample.operations, sample.bytes, sample.seconds) for sample in found], np.float64)
    return table[:, 0], table[:, 1], table[:, 2]
