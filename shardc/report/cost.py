"""Everything a compiled program costs one device, as plain data."""

from __future__ import annotations

from msgspec import Struct

from shardc.analysis import per_device
from shardc.analysis.per_device import Peak
from shardc.graph import Graph
from shardc.planning.machines import Machine
from shardc.report.memory import Memory, memory
from shardc.report.placement import Placement
from shardc.report.repeated import RepeatedWork
from shardc.report.times import Estimate, estimate
from shardc.report.traffic import Collective, collectives
from shardc.report.work import Work, work


class Cost(Struct, frozen=True):
    """Per device, in bytes and operations. `axes` are the mesh's names and sizes, `devices` their product.

    bytes: what a device sends in all collectives; `at_least`, where data say how often a loop runs.
    time: on a machine, if one was named. repeated: the work that annotations divide further than the plan.
    placement: the links that were found for mesh axes, if they were looked for.
    """

    devices: int
    axes: tuple[tuple[str, int], ...]
    collectives: tuple[Collective, ...]
    bytes: int
    at_least: bool
    memory: Memory
    work: Work
    time: Estimate | None = None
    repeated: RepeatedWork | None = None
    placement: Placement | None = None


def cost_of(graph: Graph, peak: Peak, machine: Machine | None = None) -> Cost:
    """The cost of a local module (what the stage `local` gives), on a machine. ShardcError if it is none.

    `peak` is of its NumPy program: `backend.numpy.peak(graph)`.
    """
    program = per_device.read(graph)
    found = collectives(program)
    mesh = program.mesh.mesh if program.mesh else None
    held, done = memory(program, peak), work(program)
    return Cost(
        devices=mesh.size if mesh else 1,
        axes=mesh.axes if mesh else (),
        collectives=found,
        bytes=sum(collective.total for collective in found),
        at_least=any(collective.at_least for collective in found),
        memory=held,
        work=done,
        time=estimate(machine, program, found, held.peak) if machine else None,
    )
