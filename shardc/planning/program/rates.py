"""What operations and changes of layout take on a machine, in ticks: whole numbers, which add up exactly.

A tick is a femtosecond. Where work is free (the machine `bytes`) it is the time of one byte on the link, so
that times are bytes there. The time of an operation on one device is that of its arithmetic, at the rate for
its dtype if it is a product and at the rate that its definition names if not (ops/definition.py), plus that
of what it reads and writes (fusion.py), and more where it reads across the order in which elements lie.
Planning counts what an operation takes beyond an even share of its work on every device: the *repeated* work.
The shares are the same in all plans.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf, prod

from shardc.analysis.manual import AxisNames
from shardc.forms.choice import Choice
from shardc.graph import Op, TensorType
from shardc.layout import Axis, Mesh, Sharding, merge, size_of
from shardc.layout.difference import gained, lost, pieces, subtract
from shardc.ops import Trait, find, has, spmd
from shardc.ops.definition import Work, as_written
from shardc.planning.machines import Combined, Exchange, Machine, is_strided, link_of, seconds
from shardc.planning.program.fusion import Traffic, moved
from shardc.planning.reshard import ReshardStep
from shardc.planning.reshard.copies import MadeCopy, copies, price
from shardc.planning.reshard.steps import FREE

FEMTO = 10**15
START = 10**3  # femtoseconds to start a collective: of equally quick plans, that with fewer is the quickest
ONCE = START  # femtoseconds: of equally quick plans, that in which fewer values are made to count once
GRAIN = 10**6  # femtoseconds: work that is repeated for less is not counted; nothing starts so quickly


@dataclass(frozen=True, slots=True, eq=False)
class OpWork:
    """One run of an operation, undivided: its arithmetic, at which rate, and what memory it uses.

    Equal operations may share it.
    """

    op: Op
    work: Work
    operations: int
    rate: str
    traffic: Traffic

    @property
    def only_reads(self) -> bool:
        """Whether it brings others what they take in another order, and computes nothing."""
        return self.traffic.fused and not self.operations

    def seconds(self, machine: Machine) -> float:
        """On one device."""
        return self._seconds(machine, self.op, self.operations)

    def seconds_of(self, machine: Machine, choice: Choice) -> float:
        """Of one device's part, on its blocks."""
        op = replace(
            self.op,
            operands=tuple(map(_block, self.op.operands, choice.operands)),
            results=tuple(map(_block, self.op.results, choice.results)),
        )
        return self._seconds(machine, op, self.operations / float(choice.parts))

    def _seconds(self, machine: Machine, op: Op, operations: float) -> float:
        read, written = moved(op)
        bytes = sum(read[i] for i in self.traffic.reads) + sum(written[i] for i in self.traffic.writes)
        bytes += sum(op.operands[i].nbytes for i in self.traffic.made)
        turned = self.work.turned(op, self.traffic.lying or as_written(op)) if machine.turned < inf else 0
        return machine.work(operations, self.rate, bytes, turned)


def op_work(op: Op, traffic: Traffic) -> OpWork | None:
    """The work of an operation of a program, of all devices or of one; None if nobody defines it."""
    definition = find(op.name)
    if definition is None:
        return None
    rate = op.operands[0].dtype if has(op.name, Trait.PRODUCT) else definition.work.rate(op)
    return OpWork(op, definition.work, definition.work.operations(op), rate, traffic)


MEGABYTE = 10**6


class Rates:
    """A machine and the mesh on it. `shares` say which collectives pay a part of their latency."""

    def __init__(self, machine: Machine, mesh: Mesh, shares: tuple[Combined, ...] = ()) -> None:
        self.machine, self.mesh = machine, mesh
        self.combined = shares
        self.shares = {(share.title, share.axes): share.part for share in self.combined}
        (*inner, last) = machine.links
        self.free = machine.bandwidth == inf and all(rate == inf for rate in machine.flops.values())
        self.tick = last.bandwidth if self.free else FEMTO
        self.flat = not inner and last.kind == "ring" and not last.latency
        """Bytes alone say how long a collective takes."""
        self.byte = round(self.tick / last.bandwidth) if self.flat else 0
        self.torus = any(link.kind == "torus" for link in machine.links)
        """Whether a collective takes the longer of latency and bytes; else their sum."""
        self._times: dict[tuple[object, ...], int] = {}
        self._copies: dict[tuple[object, ...], tuple[int, int, int]] = {}
        self._cuts: dict[tuple[TensorType, Sharding, Sharding], int] = {}
        self._works: dict[tuple[OpWork, Choice], float] = {}
        self.least = self._fastest()
        """Ticks of a byte and of a collective that none takes less than."""

    def copies(
        self,
        type: TensorType,
        given: Sharding,
        needs: tuple[Sharding, ...],
        manual: AxisNames,
        fused: bool = False,
    ) -> tuple[int, int, int]:
        """Ticks, collectives and steps of making all these copies of a value once, which is `fused`."""
        if self.free:
            moved, collectives, steps = price(type, given, needs, manual)
            return self.byte * moved, collectives, steps
        key = (type, given, needs, manual, fused)
        if key not in self._copies:
            _, collectives, steps = price(type, given, needs, manual)
            made = copies(type, given, [*needs], manual)
            cut = [self.cut(type, *each[:2]) for each in made if fused and each[2].cost.steps]
            self._copies[key] = self._ticks(made, type) + sum(cut), collectives, steps
        return self._copies[key]

    def _ticks(self, made: list[MadeCopy], type: TensorType) -> int:
        """Of all steps of some copies."""
        ticks = 0
        for before, _, plan in made:
            ticks += START * plan.cost.steps
            for step in plan.steps:
                ticks += self._step(type, before, step)
                before = step.result
        return ticks

    def cut(self, type: TensorType, source: Sharding, target: Sharding) -> int:
        """Ticks to write a value that is sent between operations that were one, and to read what comes."""
        key = type, source, target
        if key not in self._cuts:
            bytes = block_bytes(type, source) + block_bytes(type, target)
            self._cuts[key] = round(self.tick * bytes / self.machine.bandwidth)
        return self._cuts[key]

    def form(self, choice: Choice) -> int:
        """Ticks of what a local form itself sends: at worst over links that span the mesh."""
        if self.free or not choice.collectives:
            return self.byte * choice.moved
        if self.flat:
            return self.byte * choice.moved + START * choice.collectives
        axes = tuple(self.mesh.axis(name) for name, size in self.mesh.axes if size > 1)
        each = choice.moved // choice.collectives
        return choice.collectives * (self._time("permute", axes, each, each) + START)

    def work_of(self, op: Op, traffic: Traffic) -> OpWork | None:
        """What an operation takes; None where that is nothing in any layout."""
        return None if self.free else op_work(op, traffic)

    def repeated(self, work: OpWork, choice: Choice) -> int:
        """Ticks that one run takes beyond an even share of the work on every device."""
        even = work.seconds(self.machine) / self.mesh.size
        return _counted(self.tick * (self._alone(work, choice) - even))

    def apart(self, work: OpWork, choice: Choice) -> int:
        """Those ticks of `repeated` in which devices do different things: each its own part of a partial sum,
        or its own rows with all of the weights."""
        if work.only_reads:
            return self.repeated(work, choice)
        parts = max(float(choice.parts), *map(_different, choice.operands + choice.results))
        twice = self._alone(work, choice) * max(0.0, 1 - parts / self.mesh.size)
        return max(0, self.repeated(work, choice) - _counted(self.tick * twice))

    def alone(self, work: OpWork, choice: Choice) -> int:
        """Ticks of one run on one device."""
        return round(self.tick * self._alone(work, choice))

    def _alone(self, work: OpWork, choice: Choice) -> float:
        key = work, choice
        if key not in self._works:
            self._works[key] = work.seconds_of(self.machine, choice)
        return self._works[key]

    def collective(self, kind: str, over: Sequence[Axis]) -> tuple[float, float]:
        """Ticks of one over pieces of axes before its first byte, and of each byte that is sent, or less."""
        per_byte, each = self.least
        if kind == "collective_permute":  # it may span fewer
            return each, per_byte
        group, op = size_of(over), OPS[kind]
        held = MEGABYTE * group
        bytes = SENDS[kind](held, group)

        def ticks(sent: int, held: int) -> float:
            return self.tick * min(
                seconds(self.machine, link_of(self.machine, self.mesh, axes), self.mesh, sending)
                for axes in ((*over,), merge(over))  # of a torus, pieces of an axis may be lines of their own
                for sending in [Exchange(op, axes, group, sent, held)]
            )

        none, some = ticks(0, 0), ticks(bytes, held)
        return self._share(op, over) * none + START - 1, (some - (0 if self.torus else none)) / bytes

    def _step(self, type: TensorType, before: Sharding, step: ReshardStep) -> int:
        if step.kind in FREE:
            written = block_bytes(type, step.result) if step.kind == "sharded_to_unreduced" else 0
            once = ONCE if step.kind != "all_slice" else 0
            return once + _counted(self.tick * written / self.machine.bandwidth)
        if self.flat:
            return self.byte * step.bytes
        held, groups = block_bytes(type, before), _groups(before, step)
        block = before.local_shape(type.shape)
        if len(groups) == 1:
            ((dim, over),) = groups
            return self._time(OPS[step.kind], over, step.bytes, held, is_strided(block, dim))
        ticks = 0
        for dim, over in groups:  # a collective for each dimension, of which the next takes what it makes
            after = held * size_of(over) if step.kind == "all_gather" else held // size_of(over)
            ticks += self._time(OPS[step.kind], over, abs(after - held), held, is_strided(block, dim))
            held = after
        return ticks

    def _time(self, op: str, over: tuple[Axis, ...], bytes: int, held: int, strided: bool = False) -> int:
        key = (op, over, bytes, held, strided)
        if key not in self._times:
            group = size_of(over)
            pairs = ((0, group // 2),) if op == "permute" else ()
            sent = Exchange(op, over, group, bytes, held, pairs, strided)
            link = link_of(self.machine, self.mesh, over)
            took, share = seconds(self.machine, link, self.mesh, sent), self._share(op, over)
            if share < 1:
                machine = self.machine.without_latency
                bare = seconds(machine, link_of(machine, self.mesh, over), self.mesh, sent)
                took = share * took + (1 - share) * bare
            self._times[key] = round(self.tick * took)
        return self._times[key]

    def _share(self, op: str, over: Iterable[Axis]) -> float:
        return self.shares.get((op, tuple(sorted({axis.name for axis in over}))), 1.0) if self.shares else 1.0

    def _fastest(self) -> tuple[float, float]:
        """Ticks of a byte and of a collective over the best links; a torus sends along every axis at once."""
        if self.free:
            return self.byte, 0.0
        ways = max(1, len(self.mesh.axes))
        rates = [link.best[0] * (8 * ways if link.kind == "torus" else 1) for link in self.machine.links]
        latency = min(0.0 if link.kind == "torus" else link.best[1] for link in self.machine.links)
        latency *= min(self.shares.values(), default=1.0)
        return self.byte or self.tick / max(rates), self.tick * latency + START


_COLLECTIVES = (
    spmd.all_gather,
    spmd.all_to_all,
    spmd.collective_permute,
    spmd.all_reduce,
    spmd.reduce_scatter,
)

OPS = {collective.short: collective.title or "" for collective in _COLLECTIVES}
"""The collectives of reshards, as machines know them."""

SENDS = {collective.short: collective.sends for collective in _COLLECTIVES if collective.sends}
"""The bytes that they send, of the operand's bytes and the devices of a group."""


def _groups(before: Sharding, step: ReshardStep) -> list[tuple[int, tuple[Axis, ...]]]:
    """Of each of a step's collectives, the axes that its groups span, and the dimension that is gathered or
    scattered (0 of others)."""
    after = step.result
    if step.kind == "all_reduce":
        return [(0, subtract(before.unreduced, after.unreduced))]
    changed = lost(before, after) if step.kind in ("all_gather", "all_to_all") else gained(before, after)
    used = [axis for axes in changed for axis in axes] or [*before.axes(), *after.axes()]
    atoms = pieces(before.mesh, used)
    apart = step.kind in ("all_gather", "reduce_scatter")
    each = [(dim, axes) for dim, axes in enumerate(changed) if axes] if apart else []
    return [
        (dim, tuple(atom for atom in atoms if any(axis.contains(atom) for axis in axes)))
        for dim, axes in each or [(0, tuple(used))]
    ]


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


def _block(type: TensorType, layout: Sharding) -> TensorType:
    """The type of a device's block."""
    return type.with_shape(layout.local_shape(type.shape))
