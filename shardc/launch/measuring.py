"""What is measured in every process, and a machine fitted to it.

Collectives of several sizes along rows and columns, and what a device does by itself (working.py), each the
quickest of several runs. All devices work at once, so what they share shows. A link of kind `shared` is
fitted (formulas: planning/machines/links.py) by least squares of the relative errors.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt

import numpy as np

from shardc.launch.solving import positive
from shardc.launch.working import Device
from shardc.ops import OpDef, spmd
from shardc.ops.definition import Rate

SIZES = tuple(1 << power for power in range(12, 25, 2))
"""Bytes that a device gives to a collective: 4 KiB to 16 MiB."""


_ERRORS: dict[str, str] = {Rate.OTHER: "other work", Rate.SERIAL: "serial work", Rate.SORT: "sorts"}
"""What the file calls rates of what is no product."""


@dataclass(frozen=True)
class Sample:
    """A collective whose operand has `nbytes` on each device took `seconds`."""

    kind: OpDef
    nbytes: int
    seconds: float


@dataclass(frozen=True)
class Fitted:
    """Seconds of a step, bytes/s of all devices together; of each kind both, and the median error."""

    latency: float
    bandwidth: float
    each: dict[str, tuple[float, float, float]]


KINDS = (
    spmd.all_reduce,
    spmd.reduce_scatter,
    spmd.all_gather,
    spmd.all_to_all,
    spmd.collective_permute,
)
"""What is measured. How many steps each takes and how much it sends, its definition says."""


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
    kinds = dict.fromkeys(sample.kind for sample in samples)
    each = {str(kind.title): _fit([s for s in samples if s.kind is kind], devices) for kind in kinds}
    return Fitted(latency, bandwidth, each)


def _fit(samples: Sequence[Sample], devices: int) -> tuple[float, float, float]:
    """Seconds, bytes/s of all devices together, and the median relative error."""
    rows = np.array([_row(sample, devices) for sample in samples], np.float64)
    times = np.array([s.seconds for s in samples])
    scale = rows.max(axis=0)
    solution = positive((rows / scale) / times[:, None], np.ones(len(times))) / scale
    errors = np.abs(rows @ solution - times) / times
    return float(solution[0]), float(1 / solution[1]), float(np.median(errors))


def _row(sample: Sample, devices: int) -> tuple[int, int]:
    """Steps one after the other, and bytes that all devices send together."""
    steps, sends = sample.kind.steps, sample.kind.sends
    assert steps is not None and sends is not None
    return steps(devices), sends(sample.nbytes, devices) * devices


def toml(what: str, devices: int, device: Device, link: Fitted) -> str:
    """The machine as a file that --machine reads."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / devices
    errors = {_ERRORS.get(name, f"products of {name}"): error for name, error in device.errors.items()}
    errors |= {kind: error for kind, (_, _, error) in link.each.items()}
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
        "",
        "[device.flops] # operations/s, all devices at once; by dtype of products",
        *(f"{name} = {rate:.4g}" for name, rate in device.rates.items()),
        "",
        "[[links]]",
        f'name = "{what}"',
        'kind = "shared"',
        f"bandwidth = {link.bandwidth:.4g} # bytes/s that all devices send together",
        f"latency = {link.latency:.4g}   # seconds of a step",
    ]
    for kind, (latency, rate, _) in link.each.items():
        lines += ["", f"[links.each.{kind}]", f"bandwidth = {rate:.4g}", f"latency = {latency:.4g}"]
    return "\n".join(lines) + "\n"
