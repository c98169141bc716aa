"""What operations and changes of layout take on a machine, in ticks: whole numbers, which add up exactly.

A tick is a femtosecond. Where work is free (the machine `bytes`) it is the time of one byte on the link, so
that times are bytes there. The time of an operation on one device is that of its arithmetic, at the rate for
its dtype if it is a product and at the rate that its definition names if not (ops/definition.py), plus that
of what it reads and writes (fusion.py), and more where it reads across the order in which elements lie.
Planning counts what an operation takes beyond an even share of its work on every device: the *repeated* work.
The shares are the same in all plans.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache
from math import inf, prod

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from shardc.analysis.phases import Phase
from shardc.forms.choice import Choice
from shardc.graph import Op, TensorType, is_narrow
from shardc.layout import Axis, Mesh, Sharding, size_of
from shardc.ops import Trait, find, has
from shardc.ops.definition import Rate, Work, as_written, in_order
from shardc.planning.machines import Combined, Machine, Stages, link_of
from shardc.planning.program.costs.chart import Exactly
from shardc.planning.program.costs.copying import START, Copying
from shardc.planning.program.costs.exchanges import Exchanges, Least
from shardc.planning.program.costs.fusion import Traffic, moved
from shardc.planning.reshard import ReshardStep
from shardc.planning.reshard.planner import least
from shardc.planning.reshard.steps import FREE
from shardc.planning.solvers import Matrix

FEMTO = 10**15
ONCE = START  # femtoseconds: of equally quick plans, that in which fewer values are made to count once
GRAIN = 10**6  # femtoseconds: work that is repeated for less is not counted; nothing starts so quickly


class OpWork(Struct, frozen=True, eq=False):
    """One run of an operation, undivided: its arithmetic, at which rate, and what memory it uses. `made`:
    operands that are made from constants for it alone, and the seconds that all of each takes.

    Equal operations may share it.
    """

    op: Op
    work: Work
    operations: int
    rate: str
    traffic: Traffic
    made: tuple[tuple[int, float], ...] = ()

    @property
    def only_reads(self) -> bool:
        """Whether it brings others what they take in another order, and computes nothing."""
        return self.traffic.fused and not self.operations

    def seconds(self, machine: Machine) -> float:
        """On one device."""
        return self._seconds(machine, self.op, self.operations) + sum(took for _, took in self.made)

    def seconds_of(self, machine: Machine, choice: Choice) -> float:
        """Of one device's part, on its blocks. Of what is made for it a device makes its block."""
        types, layouts, operations = self.op.operands, choice.operands, self.operations / float(choice.parts)
        made = sum([took * _share(types[i], layouts[i]) for i, took in self.made])
        if machine.fuses and self.work.moved is None and self.work.turned is in_order:
            read = [block_bytes(types[i], layouts[i]) for i in self.traffic.reads]
            written = [block_bytes(self.op.results[i], choice.results[i]) for i in self.traffic.writes]
            return made + machine.work(operations, self.rate, sum(read) + sum(written))
        op = replace(
            self.op,
            operands=tuple(map(_block, types, layouts)),
            results=tuple(map(_block, self.op.results, choice.results)),
        )
        return made + self._seconds(machine, op, operations)

    def _seconds(self, machine: Machine, op: Op, operations: float) -> float:
        read, written = moved(op, machine.fuses)
        bytes = sum(read[i] for i in self.traffic.reads) + sum(written[i] for i in self.traffic.writes)
        bytes += 0 if machine.fuses else 2 * self.work.copied(op)
        turned = self._turned(machine, op) if machine.turned < inf else 0
        return machine.work(operations, self.rate, bytes, turned)

    def _turned(self, machine: Machine, op: Op) -> int:
        """Bytes that are read across their order. Where nothing is fused, products copy what they take into
        the order that they want, at the rate that they have."""
        lying = self.traffic.lying or as_written(op)
        if machine.fuses:
            return self.work.turned(op, lying)
        own = 0 if has(op.name, Trait.PRODUCT) else self.work.turned(op, lying)
        return own + self.work.strided(op, lying)


def op_work(
    op: Op, traffic: Traffic, machine: Machine, made: tuple[tuple[int, float], ...] = ()
) -> OpWork | None:
    """The work of an operation of a program, of all devices or of one, with what is made for it; None if
    nobody defines it."""
    definition = find(op.name)
    if definition is None:
        return None
    rate: str = definition.work.rate(op)
    if has(op.name, Trait.PRODUCT) and (rate == Rate.OTHER or rate not in machine.flops):
        rate = op.operands[0].dtype
    operations = definition.work.operations(op)
    if rate in machine.flops:
        operations += definition.work.timed(op)
    return OpWork(op, definition.work, operations, rate, traffic, made)


class Rates(Copying):
    """A machine and the mesh on it. `shares` say which collectives pay a part of their latency; `lean` is
    Copying's."""

    def __init__(
        self, machine: Machine, mesh: Mesh, shares: tuple[Combined, ...] = (), lean: bool = False
    ) -> None:
        self.machine, self.combined = machine, shares
        (*inner, last) = machine.links
        free = machine.bandwidth == inf and all(rate == inf for rate in machine.flops.values())
        self.tick = last.bandwidth if free else FEMTO
        flat = not inner and last.kind == "ring" and not last.latency
        byte = round(self.tick / last.bandwidth) if flat else 0
        longer = any(link.kind == "torus" for link in machine.links)
        super().__init__(mesh, byte, free, longer, lean)
        stages = Stages(machine, mesh), Stages(machine.without_latency, mesh)
        self.exchanges = Exchanges(*stages, self.tick, shares)
        self._bare = Exchanges(stages[1], stages[1], self.tick)
        self._cuts: dict[tuple[TensorType, Sharding, Sharding], int] = {}
        self._works: dict[tuple[OpWork, int], tuple[Choice, float, int]] = {}
        self._even: dict[OpWork, float] = {}
        self._collectives: dict[tuple[str, tuple[Axis, ...], Phase], Least] = {}
        self._permutes: dict[tuple[tuple[Axis, ...], Phase], Least] = {}
        self.least = self._fastest()
        """Ticks of a byte and of a collective that none takes less than."""

    def sharing(self, shares: tuple[Combined, ...]) -> Rates:
        """The same machine where other collectives pay a part of their latency."""
        other = self.anew()
        other.combined, other._collectives, other._permutes = shares, {}, {}
        other.exchanges = Exchanges(self.exchanges.stages, self.exchanges.bare, self.tick, shares)
        other.least = other._fastest()
        return other

    def without_latency(self) -> Rates:
        """The same machine if collectives took no longer than their bytes."""
        other = self.anew()
        other.exchanges = self._bare
        return other

    def at_least(self, type: TensorType, given: Sharding, needs: Sequence[Sharding]) -> float:
        """Ticks that making these copies of a value takes no less than, seen without a search."""
        per_byte, each = self.least
        found = [least(type, given, need) for need in needs]
        return max([per_byte * moved + each * count for moved, count in found])

    def cut(self, type: TensorType, source: Sharding, target: Sharding) -> int:
        """Ticks to write a value that is sent between operations that were one, and to read what comes."""
        key = type, source, target
        if key not in self._cuts:
            bytes = block_bytes(type, source) + block_bytes(type, target)
            self._cuts[key] = round(self.tick * bytes / self.machine.bandwidth)
        return self._cuts[key]

    def cuts(self, type: TensorType, layouts: Sequence[Sharding]) -> Matrix:
        """The same from each of some layouts to each."""
        blocks = np.array([block_bytes(type, layout) for layout in layouts], dtype=np.float64)
        return np.rint(self.tick * (blocks[:, None] + blocks) / self.machine.bandwidth)

    def form(self, choice: Choice) -> int:
        """Ticks of what a local form itself sends."""
        if self.free or not choice.collectives:
            return self.byte * choice.moved
        if self.flat:
            return self.byte * choice.moved + START * choice.collectives
        return sum(START + self.exchanges.of_form(each) for each in choice.exchanges)

    def work_of(self, op: Op, traffic: Traffic, made: tuple[tuple[int, float], ...] = ()) -> OpWork | None:
        """What an operation takes, with what is made for it; None where that is nothing in any layout."""
        return None if self.free else op_work(op, traffic, self.machine, made)

    def repeated(self, work: OpWork, choice: Choice) -> int:
        """Ticks that one run takes beyond an even share of the work on every device."""
        return self._weighed(work, choice)[2]

    def apart(self, work: OpWork, choice: Choice) -> int:
        """Those ticks of `repeated` in which devices do different things: each its own part of a partial sum,
        or its own rows with all of the weights."""
        if work.only_reads:
            return self.repeated(work, choice)
        parts = max(float(choice.parts), *map(_different, choice.operands + choice.results))
        _, alone, repeated = self._weighed(work, choice)
        twice = alone * max(0.0, 1 - parts / self.mesh.size)
        return max(0, repeated - _counted(self.tick * twice))

    def alone(self, work: OpWork, choice: Choice) -> int:
        """Ticks of one run on one device."""
        return round(self.tick * self._weighed(work, choice)[1])

    def _weighed(self, work: OpWork, choice: Choice) -> tuple[Choice, float, int]:
        """The choice, the seconds of one run on one device, and the ticks of it beyond an even share."""
        known = self._works.get((work, id(choice)))
        if known is None or known[0] is not choice:
            if work not in self._even:
                self._even[work] = work.seconds(self.machine) / self.mesh.size
            alone = work.seconds_of(self.machine, choice)
            ticks = _counted(self.tick * (alone - self._even[work]))
            known = self._works[work, id(choice)] = choice, alone, ticks
        return known

    def collective(self, kind: str, over: tuple[Axis, ...], phase: Phase) -> Least:
        """What one over pieces of axes takes, or more."""
        key = kind, over, phase
        if key not in self._collectives:
            permute = kind == "collective_permute"
            found = self.exchanges.least_permute(phase) if permute else self.exchanges.least(*key)
            self._collectives[key] = found._replace(before=found.before + START - 1)
        return self._collectives[key]

    def least_of(self, phase: Phase, kind: str, over: tuple[Axis, ...]) -> tuple[float, float, float]:
        """What a collective takes at least, of whatever is sent."""
        return (0.0, 0.0, 0.0) if kind in FREE else self.collective(kind, over, phase)

    def taken(self, phase: Phase, kind: str, over: tuple[Axis, ...]) -> tuple[float, float, float]:
        if kind != "collective_permute":
            return self.least_of(phase, kind, over)
        if (over, phase) not in self._permutes:
            self._permutes[over, phase] = self.exchanges.permute(over, phase)
        return self._permutes[over, phase]

    def step(self, type: TensorType, before: Sharding, step: ReshardStep, phase: Phase) -> int:
        if step.kind in FREE:
            block = block_bytes(type, step.result)
            return self._unreduced(type, step.kind, block) if step.kind != "all_slice" else 0
        if self.flat:
            return self.byte * step.bytes
        return self.exchanges.step(type, before, step, phase)

    def links(self) -> Sequence[int]:
        machine, mesh = self.machine, self.mesh
        return [machine.links.index(link_of(machine, mesh, (axis,))) for axis in mesh.several]

    def alike(self, phase: Phase, axes: Sequence[Axis]) -> Hashable:
        return self.exchanges.shared(frozenset([axis.name for axis in axes]), phase)

    def exactly(self, phase: Phase, sent: Exactly, type: TensorType) -> float:
        if sent.kind in FREE:
            return self._unreduced(type, sent.kind, sent.part * type.nbytes)
        return START + self.exchanges.even(sent.kind, sent.over, round(sent.part * type.size), type, phase)

    def _unreduced(self, type: TensorType, kind: str, bytes: float) -> int:
        """Ticks to make a value partial that is a block of so many bytes then: what is put among zeros is
        written.

        In a narrow float what is whole over an axis would be rounded with each of the partial sums: it takes
        as long as to write and read it, so that a weight is not added to the sums of its gradient for what
        their reduction takes to be written and read before.
        """
        if is_narrow(type.dtype):
            return ONCE + round(self.tick * 2 * bytes / self.machine.bandwidth)
        written = bytes if kind == "sharded_to_unreduced" else 0
        return ONCE + _counted(self.tick * written / self.machine.bandwidth)

    def _fastest(self) -> tuple[float, float]:
        """Ticks of a byte and of a collective over the best links; a torus sends along every axis at once."""
        if self.free:
            return self.byte, 0.0
        ways = max(1, len(self.mesh.several))
        rates = [link.best[0] * (8 * ways if link.kind == "torus" else 1) for link in self.machine.links]
        latency = min(0.0 if link.kind == "torus" else link.best[1] for link in self.machine.links)
        latency *= min((share.part for share in self.combined), default=1.0)
        return self.byte or self.tick / max(rates), self.tick * latency + START


def _counted(ticks: float) -> int:
    """Whole grains."""
    return max(0, int(ticks / GRAIN + 1e-6)) * GRAIN


@lru_cache(maxsize=65536)
def _different(layout: Sharding) -> int:
    """How many devices hold different things."""
    return size_of((*(axis for dim in layout.dims for axis in dim.axes), *layout.unreduced))


@lru_cache(maxsize=65536)
def block_bytes(type: TensorType, layout: Sharding) -> int:
    """Bytes of a device's block."""
    return type.numpy.itemsize * prod(layout.local_shape(type.shape))


def _share(type: TensorType, layout: Sharding) -> float:
    """A device's block, as a part of all."""
    return prod(layout.local_shape(type.shape)) / max(1, type.size)


def _block(type: TensorType, layout: Sharding) -> TensorType:
    """The type of a device's block."""
    return type.with_shape(layout.local_shape(type.shape))
