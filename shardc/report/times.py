"""How long a program takes on a machine, estimated, as the planner does.

The formulas of collectives are in planning/machines/links.py, the price of an operation is Machine.work, and
what operations read and write is by the rule of planning/program/costs/fusion.py, all on what one device
runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from msgspec import Struct

from shardc.analysis.per_device import PerDeviceProgram
from shardc.graph import Node
from shardc.layout import Mesh
from shardc.ops import Trait, has, op_of
from shardc.planning.machines import Machine, link_of, seconds
from shardc.planning.program.costs.fusion import traffic
from shardc.planning.program.costs.work import OpWork, op_work
from shardc.report.executions import Executions, Run, WrittenOut
from shardc.report.traffic import Collective
from shardc.report.work import operations

BILLION = 10**9


class CollectiveTime(Struct, frozen=True):
    """`link` carries it. Nanoseconds of one run, and of all."""

    link: str
    once_ns: int
    total_ns: int


class Estimate(Struct, frozen=True):
    """Nanoseconds on a machine: each collective in the order of Cost.collectives, all of them, operations.

    `work_ns` has arithmetic and memory traffic, `matmul_ns` the arithmetic of products, which is part of it.
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
    work_ns: int
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
    machine: Machine, program: PerDeviceProgram, found: tuple[Collective, ...], peak: int
) -> Estimate:
    """Times of a device's program and of its collectives `found`. ShardcError if links fit no axis."""
    mesh = program.mesh.mesh if program.mesh else None
    times = tuple(timed(machine, mesh, collective) for collective in found) if mesh else ()
    communication = sum(time.total_ns for time in times)
    done = worked(program, machine)
    matmul = sum(
        run.times * machine.work(work.operations, work.rate, 0)
        for run, work in done
        if has(run.node.name, Trait.PRODUCT)
    )
    kinds = dict.fromkeys(link.kind for link in machine.links)
    working = work_ns(machine, done)
    return Estimate(
        machine=machine.name,
        source=machine.source,
        formulas="; ".join(FORMULAS[kind] for kind in kinds),
        collectives=times,
        communication_ns=communication,
        matmul_ns=round(BILLION * matmul),
        work_ns=working,
        total_ns=communication + working,
        overlapped_ns=max(communication, working),
        memory=machine.memory,
        fits=peak <= machine.memory,
    )


def timed(machine: Machine, mesh: Mesh, collective: Collective) -> CollectiveTime:
    """What a collective takes on a machine."""
    link = link_of(machine, mesh, collective.over)
    once = BILLION * seconds(machine, link, mesh, collective)
    return CollectiveTime(link.name, round(once), round(once * collective.times))


def work_ns(machine: Machine, done: Iterable[tuple[Run, OpWork]]) -> int:
    """Nanoseconds of all operations that are no exchanges."""
    return round(BILLION * sum(run.times * work.seconds(machine) for run, work in done))


def worked(program: PerDeviceProgram, machine: Machine) -> list[tuple[Run, OpWork]]:
    """What every operation takes that is no exchange, and how often it runs."""
    graph = program.graph
    runs = Executions(program, partial(operations, graph)).runs
    written = WrittenOut(program, runs)
    runs = tuple(run for run in runs if not has(run.node.name, Trait.CALL))
    ops = {run.node.id: op_of(graph, run.node) for run in runs}
    inlined = [(written.node(run), ops[run.node.id]) for run in runs]
    users: dict[int, list[Node]] = {}
    for node in (*(node for node, _ in inlined), *written.ends()):
        for value in node.operands:
            users.setdefault(value, []).append(node)
    used = traffic(inlined, users, machine.fuses)
    done = [
        (run, op_work(op, used[node.id], machine))
        for run, (node, op) in zip(runs, inlined, strict=True)
        if _computes(run.node)
    ]
    return [(run, work) for run, work in done if work is not None]


def _computes(node: Node) -> bool:
    """Whether an operation does something of its own, and on one device."""
    others = (Trait.REGION, Trait.COLLECTIVE, Trait.CALL, Trait.IDENTITY)
    return not any(has(node.name, kind) for kind in others)
