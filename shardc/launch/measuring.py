"""What is measured in every process, and a machine fitted to it.

Collectives of several sizes along rows and columns, and what a device does by itself (working.py), each the
quickest of several runs, in turns (timing.py). All devices work at once, so what they share shows. A link of
kind `shared` is fitted (formulas: planning/machines/links.py) by ratio (solving.py).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isqrt
from pathlib import Path

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from shardc.launch.fitting import TURNED_BYTES, Device, Timed, rate
from shardc.launch.solving import nearest
from shardc.launch.timing import Call, Clock, exchanged
from shardc.ops import OpDef, spmd
from shardc.ops.definition import Rate
from shardc.planning.machines import Link, Own, load

SIZES = tuple(1 << power for power in range(12, 25, 2))
"""Bytes that a device gives to a collective, in units of `scale`: 4 KiB to 16 MiB."""


_ERRORS: dict[str, str] = {
    Rate.OTHER: "other work",
    Rate.FUNCTION: "functions",
    Rate.CHOICE: "choices",
    Rate.SERIAL: "cumulative sums",
    Rate.ARGMAX: "argmax",
    Rate.SORT: "sorts",
    Rate.SCATTER: "scatters",
    Rate.CONVOLUTION: "convolutions",
    TURNED_BYTES: "what is turned",
}
"""What the file calls rates of what is no product."""


class Sample(Struct, frozen=True):
    """A collective whose operand has `nbytes` on each device took `seconds`; `strided` if its blocks are
    columns."""

    kind: OpDef
    nbytes: int
    seconds: float
    strided: bool = False


class Site(Struct, frozen=True):
    """Where it is measured: what the machine and its link are called, whose processors, and bytes of memory
    of a device."""

    name: str
    link: str
    source: str
    memory: float


def processes(what: str, count: int) -> Site:
    """So many processes of this machine, connected by `what`."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / count
    source = f"measured on {os.uname().machine}, {os.cpu_count()} cores"
    return Site(f"{count} processes, {what}", what, source, memory)


class Links(Struct, frozen=True):
    """What connects devices, mesh axes that are on one link, and the median errors of the fits."""

    links: tuple[Link, ...]
    axes: Mapping[str, str] = {}
    errors: Mapping[str, float] = {}


_BANDWIDTHS = {
    "ring": "that a device sends",
    "torus": "that a device sends along a dimension",
    "shared": "that all devices send together",
}
"""What the bandwidth of a link of a kind counts."""


Piece = tuple[OpDef, int, bool, Call]
"""A collective, the bytes of a device's operand, whether blocks are columns, and the call."""


def sampled(pieces: Iterable[Piece], work: Call, clock: Clock) -> list[Sample]:
    """The pieces, timed in turns, after some work."""
    made = [*pieces]
    times = exchanged([run for *_, run in made], work, clock)
    return [
        Sample(kind, nbytes, seconds, strided)
        for (kind, nbytes, strided, _), seconds in zip(made, times, strict=True)
    ]


def connected(
    pieces: Callable[[], Iterable[Piece]], devices: int, site: Site, work: Call, clock: Clock, of: str
) -> Links:
    """The link of the pieces' collectives, each after `work`; where `of` names a machine, its links, and
    nothing is sent."""
    if of:
        machine = load(of)
        return Links(machine.links, machine.axes)
    return fit(sampled(pieces(), work, clock), devices, site.link)


def block_shape(size: int, devices: int) -> tuple[int, int]:
    """Rows and columns of an f32 block of about `size` bytes, nearly square, which all devices divide."""
    rows = devices * max(1, round(isqrt(size // 4) / devices))
    return rows, devices * max(1, round(size / (4 * rows * devices)))


def operand_bytes(kind: OpDef, size: int, devices: int) -> int:
    """Of what a device gives to a collective that makes, or is given, `size` bytes on each."""
    return size // devices if kind is spmd.all_gather else size


def fit(samples: Sequence[Sample], devices: int, name: str) -> Links:
    """The link whose times are nearest to the samples': latency and bandwidth of all, and of each kind."""
    latency, bandwidth, _ = _fit(samples, devices)
    each, errors = list[Own](), dict[str, float]()
    for kind in dict.fromkeys(sample.kind for sample in samples):
        own, error = _fit_kind([sample for sample in samples if sample.kind is kind], devices)
        each.append(own)
        errors[own.title] = error
    return Links((Link(name, "shared", bandwidth, latency, each=tuple(each)),), errors=errors)


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


def write(file: str, site: Site, device: Device, links: Links, of: str) -> None:
    """The machine as a file that --machine reads."""
    known = replace(site, source=f"{site.source}; the links of {of}") if of else site
    Path(file).write_text(toml(known, device, links), encoding="utf-8")


def toml(site: Site, device: Device, links: Links) -> str:
    """The text of that file."""
    errors = {_ERRORS.get(name, f"products of {name}"): error for name, error in device.errors.items()}
    errors |= links.errors
    lines = [
        "# Written by `shardc measure`: the quickest of ten runs, all devices at once.",
        f"# Median error of the fit: {', '.join(f'{name} {error:.0%}' for name, error in errors.items())}.",
        "",
        f"name = {_quoted(site.name)}",
        f"source = {_quoted(site.source)}",
        "",
        "[device]",
        f"memory = {site.memory:.4g}     # bytes",
        f"bandwidth = {device.bandwidth:.4g}  # bytes/s, read and written, all devices at once",
        f"turned = {device.turned:.4g}  # bytes/s more, of what is read across the order in which it lies",
        f"multiplied = {device.multiplied:.4g}  # bytes/s, read and written by products",
        *([] if device.fuses else ["fuses = false  # each operation reads and writes memory"]),
        "",
        "[device.flops] # operations/s, all devices at once; by dtype of products",
        *(
            f"{name} = {rate:.4g}" + (f" # {device.shapes[name]}" if name in device.shapes else "")
            for name, rate in device.rates.items()
        ),
    ]
    lines += [line for link in links.links for line in _link(link)]
    if links.axes:
        lines += ["", "[axes]", *(f"{_quoted(axis)} = {_quoted(link)}" for axis, link in links.axes.items())]
    return "\n".join(lines) + "\n"


def _link(link: Link) -> Iterator[str]:
    """A link's tables."""
    yield from ("", "[[links]]", f"name = {_quoted(link.name)}", f"kind = {_quoted(link.kind)}")
    if link.devices is not None:
        yield f"devices = {link.devices}"
    yield f"bandwidth = {link.bandwidth:.4g} # bytes/s: {_BANDWIDTHS[link.kind]}"
    yield f"latency = {link.latency:.4g}   # seconds of a step"
    if link.wraparound is not None:
        yield f"wraparound = {link.wraparound}"
    for own in link.each:
        yield from ("", f"[links.each.{own.title}]")
        yield from (f"bandwidth = {own.bandwidth:.4g}", f"latency = {own.latency:.4g}")
        if own.strided != own.bandwidth:
            yield f"strided = {own.strided:.4g} # bytes/s where blocks are columns"


def _quoted(text: str) -> str:
    """A basic string of TOML, whose escapes are JSON's."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
