"""What operations and changes of layout take on a machine, in ticks: whole numbers, which add up exactly.

A tick is a femtosecond. Where work is free (the machine `bytes`) it is the time of one byte on the link, so
that times are bytes there. Of operations (work.py) planning counts what they take beyond an even share of
their work on every device: the *repeated* work. The shares are the same in all plans.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache
from math import inf

import numpy as np

from shardc.analysis.phases import Phase
from shardc.forms.choice import Choice
from shardc.graph import Op, TensorType, is_narrow
from shardc.layout import Axis, Mesh, Sharding, size_of
from shardc.planning.machines import Combined, Machine, Stages, link_of
from shardc.planning.program.costs.chart import Exactly
from shardc.planning.program.costs.copying import START, Copying
from shardc.planning.program.costs.exchanges import Exchanges, Least
from shardc.planning.program.costs.fusion import Traffic
from shardc.planning.program.costs.work import OpWork, block_bytes, op_work
from shardc.planning.reshard import ReshardStep
from shardc.planning.reshard.planner import least
from shardc.planning.reshard.steps import FREE
from shardc.planning.solvers import Matrix

FEMTO = 10**15
ONCE = START  # femtoseconds: of equally quick plans, that in which fewer values are made to count once
GRAIN = 10**6  # femtoseconds: work that is repeated for less is not counted; nothing starts so quickly
TURNS = 16  # of a loop: in more the grains of all take as long as in so many


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

    def work_of(
        self, op: Op, traffic: Traffic, made: tuple[tuple[int, float], ...], turns: int
    ) -> OpWork | None:
        """What an operation takes, with what is made for it; None where that is nothing in any layout."""
        return None if self.free else op_work(op, traffic, self.machine, made, turns)

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
        return max(0, repeated - _counted(self.tick * twice, work.turns))

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
            ticks = _counted(self.tick * (alone - self._even[work]), work.turns)
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


def _counted(ticks: float, turns: int = 1) -> int:
    """Whole grains, of what loops run so often; no shorter ones than a collective's start."""
    grain = max(START, GRAIN * TURNS // max(TURNS, turns))
    return max(0, int(ticks / grain + 1e-6)) * grain


@lru_cache(maxsize=65536)
def _different(layout: Sharding) -> int:
    """How many devices hold different things."""
    return size_of((*(axis for dim in layout.dims for axis in dim.axes), *layout.unreduced))
