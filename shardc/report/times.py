"""How long a program takes on a machine, estimated.

The formulas of collectives are in planning/machines/links.py.

Work is matmul operations over the device's rate for their dtype; other operations are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from shardc.layout import Mesh
from shardc.planning.machines import Machine, link_of, seconds
from shardc.report.traffic import Collective
from shardc.report.work import Work

BILLION = 10**9


@dataclass(frozen=True)
class CollectiveTime:
    """`link` carries it. Nanoseconds of one run, and of all."""

    link: str
    once_ns: int
    total_ns: int


@dataclass(frozen=True)
class Estimate:
    """Nanoseconds on a machine: each collective in the order of Cost.collectives, all of them, matmuls.

    `total_ns` is with nothing overlapped, `overlapped_ns` with communication behind work as far as it goes.
    `source` says where the machine's numbers are from, `formulas` where those of the collectives are.
    `fits` says whether the peak is within the device's memory.
    """

    machine: str
    source: str
    formulas: str
    collectives: tuple[CollectiveTime, ...]
    communication_ns: int
    matmul_ns: int
    total_ns: int
    overlapped_ns: int
    memory: int
    fits: bool


FORMULAS = {
    "ring": "ring with latency: nccl-tests, doc/PERFORMANCE.md",
    "torus": "torus: How to Scale Your Model, chapter Sharded Matrices",
    "shared": "ring through one memory: nccl-tests, doc/PERFORMANCE.md",
}


def estimate(
    machine: Machine, mesh: Mesh | None, found: tuple[Collective, ...], work: Work, peak: int
) -> Estimate:
    """Times of the collectives `found` over `mesh` and of `work`. ShardcError if links fit no axis."""
    times = tuple(_timed(machine, mesh, collective) for collective in found) if mesh else ()
    communication = sum(time.total_ns for time in times)
    rate = machine.flops
    matmul = sum(round(BILLION * n / rate.get(dtype, rate["other"])) for dtype, n in work.matmul_by_dtype)
    kinds = dict.fromkeys(link.kind for link in machine.links)
    return Estimate(
        machine=machine.name,
        source=machine.source,
        formulas="; ".join(FORMULAS[kind] for kind in kinds),
        collectives=times,
        communication_ns=communication,
        matmul_ns=matmul,
        total_ns=communication + matmul,
        overlapped_ns=max(communication, matmul),
        memory=machine.memory,
        fits=peak <= machine.memory,
    )


def _timed(machine: Machine, mesh: Mesh, collective: Collective) -> CollectiveTime:
    link = link_of(machine, mesh, collective.over)
    once = round(BILLION * seconds(machine, link, mesh, collective))
    return CollectiveTime(link.name, once, once * collective.times)
