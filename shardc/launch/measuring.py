"""What is measured in every process, and a machine fitted to it.

Collectives of several sizes along rows and columns, and what a device does by itself (working.py), each the
quickest of several runs, in turns. All devices work at once, so what they share shows. A link of kind
`shared` is fitted (formulas: planning/machines/links.py) by ratio (solving.py).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isqrt

import numpy as np

from shardc.launch.solving import Clock, nearest, quickest
from shardc.launch.working import TURNED_BYTES, Device, Timed, rate
from shardc.ops import OpDef, spmd
from shardc.ops.definition import Rate
from shardc.planning.machines import Own

SIZES = tuple(1 << power for power in range(12, 25, 2))
"""Bytes that a device gives to a collective: 4 KiB to 16 MiB."""


_ERRORS: dict[str, str] = {
    Rate.OTHER: "other work",
    Rate.SERIAL: "cumulative sums",
    Rate.ARGMAX: "argmax",
    Rate.SORT: "sorts",
    TURNED_BYTES: "what is turned",
}
"""What the file calls rates of what is no product."""


@dataclass(frozen=True)
class Sample:
    """A collective whose operand has `nbytes` on each device took `seconds`; `strided` if its blocks are
    columns."""

    kind: OpDef
    nbytes: int
    seconds: float
    strided: bool = False


@dataclass(frozen=True)
class Fitted:
    """Seconds of a step, bytes/s of all devices together; of each kind its own, and the median error."""

    latency: float
    bandwidth: float
    each: tuple[Own, ...]
    errors: dict[str, float]


KINDS = (
    spmd.all_reduce,
    spmd.reduce_scatter,
    spmd.all_gather,
    spmd.all_to_all,
    spmd.collective_permute,
)
"""What is measured. How many steps each takes and how much it sends, its definition says."""


Piece = tuple[OpDef, int, bool, Callable[[], object]]
"""A collective, the bytes of a device's operand, whether blocks are columns, and the call."""


def sampled(pieces: Iterable[Piece], clock: Clock) -> list[Sample]:
    """The pieces, timed in turns."""
    made = [*pieces]
    times = quickest([run for *_, run in made], clock)
    return [
        Sample(kind, nbytes, seconds, strided)
        for (kind, nbytes, strided, _), seconds in zip(made, times, strict=True)
    ]


def block_shape(size: int, devices: int) -> tuple[int, int]:
    """Rows and columns of an f32 block of about `size` bytes, nearly square, which all devices divide."""
    rows = devices * max(1, round(isqrt(size // 4) / devices))
    return rows, devices * max(1, round(size / (4 * rows * devices)))


def operand_bytes(kind: OpDef, size: int, devices: int) -> int:
    """Of what a device gives to a collective that makes, or is given, `size` bytes on each."""
    return size // devices if kind is spmd.all_gather else size


def fit(samples: Sequence[Sample], devices: int) -> Fitted:
    """The latency and bandwidth whose times are nearest to the samples': of all, and of each kind."""
    latency, bandwidth, _ = _fit(samples, devices)
    each, errors = list[Own](), dict[str, float]()
    for kind in dict.fromkeys(sample.kind for sample in samples):
        own, error = _fit_kind([sample for sample in samples if sample.kind is kind], devices)
        each.append(own)
        errors[own.title] = error
    return Fitted(latency, bandwidth, tuple(each), errors)


def _fit_kind(samples: Sequence[Sample], devices: int) -> tuple[Own, float]:
    """The rates of a kind, and the median error. Strided blocks have the latency of the others."""
    rows = [sample for sample in samples if not sample.strided]
    latency, bandwidth, error = _fit(rows, devices)
    strided = bandwidth
    if len(rows) < len(samples):
        timed = [
            Timed(sent, steps * latency, sample.seconds)  # a second of latency as a byte at a byte a second
            for sample in samples
            if sample.strided
            for steps, sent in [_row(sample, devices)]
        ]
        strided, strided_error = rate(timed, bandwidth=1.0)
        error = max(error, strided_error)
    return Own(str(samples[0].kind.title), bandwidth, latency, strided), error


def _fit(samples: Sequence[Sample], devices: int) -> tuple[float, float, float]:
    """Seconds, bytes/s of all devices together, and the median relative error."""
    rows = np.array([_row(sample, devices) for sample in samples], np.float64)
    (latency, byte), error = nearest(rows, np.array([sample.seconds for sample in samples]))
    return float(latency), float(1 / byte), error


def _row(sample: Sample, devices: int) -> tuple[int, int]:
    """Steps one after the other, and bytes that all devices send together."""
    steps, sends = sample.kind.steps, sample.kind.sends
    assert steps is not None and sends is not None
    return steps(devices), sends(sample.nbytes, devices) * devices


def toml(what: str, devices: int, device: Device, link: Fitted) -> str:
    """The machine as a file that --machine reads."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / devices
    errors = {_ERRORS.get(name, f"products of {name}"): error for name, error in device.errors.items()}
    errors |= link.errors
    lines = [
        "# Written by `shardc measure`: the quickest of ten runs, all devices at once.",
        f"# Median error of the fit: {', '.join(f'{name} {error:.0%}' for name, error in errors.items())}.",
        "",
        f'name = "{devices} processes, {what}"',
        f'source = "measured on {os.uname().machine}, {os.cpu_count()} cores"',
        "",
        "[device]",
        f"memory = {memory:.4g}     # bytes: this machine's, over the devices",
        f"bandwidth = {device.bandwidth:.4g}  # bytes/s, read and written, all devices at once",
        f"turned = {device.turned:.4g}  # bytes/s more, of what is read across the order in which it lies",
        "",
        "[device.flops] # operations/s, all devices at once; by dtype of products",
        *(
            f"{name} = {rate:.4g}" + (f" # {device.shapes[name]}" if name in device.shapes else "")
            for name, rate in device.rates.items()
        ),
        "",
        "[[links]]",
        f'name = "{what}"',
        'kind = "shared"',
        f"bandwidth = {link.bandwidth:.4g} # bytes/s that all devices send together",
        f"latency = {link.latency:.4g}   # seconds of a step",
    ]
    for own in link.each:
        lines += ["", f"[links.each.{own.title}]"]
        lines += [f"bandwidth = {own.bandwidth:.4g}", f"latency = {own.latency:.4g}"]
        if own.strided != own.bandwidth:
            lines.append(f"strided = {own.strided:.4g} # bytes/s where blocks are columns")
    return "\n".join(lines) + "\n"
