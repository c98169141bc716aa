"""Which of several collectives are quickest as one.

Of all-reduces of k arrays as one, the latency of k - 1 is saved, and operands and results are copied: laid
end to end, and taken apart. Each is written and read once, over the memory's bandwidth. (What makes them or
uses them may be fused with a copy, so that it takes less: what is combined is worth it by more than is said.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from shardc.layout import Mesh
from shardc.ops import spmd
from shardc.planning.machines.machine import Machine
from shardc.planning.machines.stages import Stages, Wanted


class Joint:
    """What is one on a machine, over a mesh, with up to `most` bytes together, gathered. Without a machine
    all that fits is one."""

    def __init__(self, mesh: Mesh, machine: Machine | None, most: int) -> None:
        self.most = most
        self.stages = None if machine is None else Stages(machine, mesh)

    def chosen(
        self, alike: Sequence[Wanted], joins: Callable[[int], bool] = lambda number: True
    ) -> list[int]:
        """Which of these, which have one operation, kind, axes and dtype, are best one with the first.

        One more is taken if that takes less than it does alone, with the copies of all, and if it `joins`
        those before it, which is asked last. Only the first is taken if all are no quicker than each alone.
        """
        first = alike[0]
        group, alone, nbytes, most = [0], self._alone(first), first.nbytes, _gathered(first)
        copied = _copied(first)
        together = self._together(first, nbytes, copied)
        for number, other in enumerate(alike[1:], 1):
            if most + _gathered(other) > self.most:
                continue
            one = self._alone(other)
            more = self._together(first, nbytes + other.nbytes, copied + _copied(other))
            if more <= together + one and joins(number):
                group.append(number)
                together, alone = more, alone + one
                nbytes, most, copied = nbytes + other.nbytes, most + _gathered(other), copied + _copied(other)
        return group if together < alone or self.stages is None else [0]

    def seconds(self, group: Sequence[Wanted]) -> float:
        """Of some as one, with the copies, or of one alone."""
        if len(group) == 1:
            return self._alone(group[0])
        return self._together(group[0], sum(each.nbytes for each in group), sum(map(_copied, group)))

    def sent(self, group: Sequence[Wanted]) -> float:
        """Of these seconds, those that are no copies."""
        return 0.0 if self.stages is None else self.stages.sent(joined(group) if len(group) > 1 else group[0])

    def _alone(self, wanted: Wanted) -> float:
        return 0.0 if self.stages is None else self.stages.seconds(wanted)

    def _together(self, first: Wanted, nbytes: int, copied: int) -> float:
        """Seconds of some as one, whose operands have so many bytes, with all copies, of so many bytes."""
        if self.stages is None:
            return 0.0
        return self.stages.seconds(_flat(first, nbytes)) + self.stages.machine.work(0, "other", 2 * copied)


def _gathered(wanted: Wanted) -> int:
    return max(wanted.nbytes, wanted.result_bytes)


def _copied(wanted: Wanted) -> int:
    return wanted.nbytes + wanted.result_bytes


def joined(group: Sequence[Wanted]) -> Wanted:
    """Several as one: flat; what is gathered is a row, and what is scattered has a row for each device."""
    return _flat(group[0], sum(each.nbytes for each in group))


def _flat(first: Wanted, nbytes: int) -> Wanted:
    """One like the first, of so many bytes."""
    size, n = nbytes // first.itemsize, first.group
    if first.dim is None:
        return replace(first, shape=(size,))
    rows = n if first.op is spmd.reduce_scatter else 1
    return replace(first, shape=(rows, size // rows), dim=0)
