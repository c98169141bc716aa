"""Which of several collectives are quickest as one.

Of all-reduces of k arrays as one, the latency of k - 1 is saved, and operands and results are copied: laid
end to end, and taken apart. Each is written and read once, over the memory's bandwidth. (What makes them or
uses them may be fused with a copy, so that it takes less: what is combined is worth it by more than is said.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

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

    def chosen(self, alike: Sequence[Wanted]) -> list[int]:
        """Which of these, which have one operation, kind, axes and dtype, are best one with the first.

        One more is taken if that takes less than it does alone, with the copies of all. So are none, if that
        is still no quicker than each alone.
        """
        group, alone = [0], self._alone(alike[0])
        together = self._together(alike[:1])
        for number, other in enumerate(alike[1:], 1):
            some = [*(alike[i] for i in group), other]
            if sum(max(each.nbytes, each.result_bytes) for each in some) > self.most:
                continue
            one, more = self._alone(other), self._together(some)
            if more <= together + one:
                group.append(number)
                together, alone = more, alone + one
        return group if together < alone or self.stages is None else [0]

    def seconds(self, group: Sequence[Wanted]) -> float:
        """Of some as one, with the copies, or of one alone."""
        return self._alone(group[0]) if len(group) == 1 else self._together(group)

    def _alone(self, wanted: Wanted) -> float:
        return 0.0 if self.stages is None else self.stages.seconds(wanted)

    def _together(self, group: Sequence[Wanted]) -> float:
        """Seconds of them as one, with all copies."""
        if self.stages is None:
            return 0.0
        copied = 2 * sum(each.nbytes + each.result_bytes for each in group)
        return self.stages.seconds(joined(group)) + self.stages.machine.work(0, "other", copied)


def joined(group: Sequence[Wanted]) -> Wanted:
    """Several as one: flat; what is gathered is a row, and what is scattered has a row for each device."""
    first, n = group[0], group[0].group
    size = sum(each.nbytes for each in group) // first.itemsize
    if first.dim is None:
        return replace(first, shape=(size,))
    rows = n if first.op is spmd.reduce_scatter else 1
    return replace(first, shape=(rows, size // rows), dim=0)
