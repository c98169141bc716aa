"""What one run of an operation takes on a machine, and a device's part of it.

The time of an operation on one device is that of its arithmetic, at the rate for its dtype if it is a product
and at the rate that its definition names if not (ops/definition.py), plus that of what it reads and writes
(fusion.py), and more where it reads across the order in which elements lie.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf, prod

from msgspec import Struct
from msgspec.structs import replace

from shardc.forms.choice import Choice
from shardc.graph import Op, TensorType
from shardc.layout import Sharding
from shardc.ops import Trait, find, has
from shardc.ops.definition import Rate, Work, as_written, in_order
from shardc.planning.machines import Machine
from shardc.planning.program.costs.fusion import Traffic, moved


class OpWork(Struct, frozen=True, eq=False):
    """One run of an operation, undivided: its arithmetic, at which rate, and what memory it uses. `made`:
    operands that are made from constants for it alone, and the seconds that all of each takes. `turns`:
    how often loops run it.

    Equal operations may share it.
    """

    op: Op
    work: Work
    operations: int
    rate: str
    traffic: Traffic
    made: tuple[tuple[int, float], ...] = ()
    turns: int = 1

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
    op: Op, traffic: Traffic, machine: Machine, made: tuple[tuple[int, float], ...] = (), turns: int = 1
) -> OpWork | None:
    """The work of an operation of a program, of all devices or of one, with what is made for it, which
    loops run so often; None if nobody defines it."""
    definition = find(op.name)
    if definition is None:
        return None
    rate: str = definition.work.rate(op)
    if has(op.name, Trait.PRODUCT) and (rate == Rate.OTHER or rate not in machine.flops):
        rate = op.operands[0].dtype
    operations = definition.work.operations(op)
    if rate in machine.flops:
        operations += definition.work.timed(op)
    return OpWork(op, definition.work, operations, rate, traffic, made, turns)


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
