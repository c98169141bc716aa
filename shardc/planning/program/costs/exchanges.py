"""What a collective takes that is yet to be written: of a form, of a change of layout, or at least.

Sums, gathers and scatters are priced in stages exactly where the pass stage-collectives does them in stages,
by the function that it asks (planning/machines/stages.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import NamedTuple

from shardc.analysis.phases import BETWEEN, Phase
from shardc.forms.cost import FormCollective
from shardc.graph import TensorType
from shardc.layout import Axis, Sharding, merge, size_of
from shardc.layout.difference import displaced, gained, lost, pieces, subtract
from shardc.ops import find, spmd
from shardc.planning.machines import Combined, Exchange, Stages, Wanted, link_of, seconds
from shardc.planning.reshard import ReshardStep

_COLLECTIVES = (
    spmd.all_gather,
    spmd.all_to_all,
    spmd.collective_permute,
    spmd.all_reduce,
    spmd.reduce_scatter,
)

OPS = {collective.short: collective for collective in _COLLECTIVES}
"""The collectives of changes of layout."""

STAGED = (spmd.all_reduce, spmd.all_gather, spmd.reduce_scatter)
"""Those that are done in stages over several links where that is quicker."""

MEGABYTE = 10**6


class Least(NamedTuple):
    """Ticks of a collective: `before` its first byte, of each byte that is `sent`, and of each if it takes
    the longer of these two: as far as it does not pay for latency, it is `joined`, and takes its bytes."""

    before: float
    sent: float
    joined: float


class Exchanges:
    """Ticks on a machine, of which a second has `tick`. `shares` say which collectives pay a part of their
    latency. Collectives are in `stages` where that is quicker, and `bare` if all of them took no longer than
    their bytes."""

    def __init__(self, stages: Stages, bare: Stages, tick: float, shares: Sequence[Combined] = ()) -> None:
        self.stages, self.bare, self.tick = stages, bare, tick
        self.shares = {(each.title, each.axes, each.phase): each.part for each in shares}
        self._times: dict[tuple[Wanted | Exchange, Phase], int] = {}

    def of_form(self, each: FormCollective) -> int:
        """Of one that a form has."""
        op, type = find(each.name), each.block
        assert op is not None and op.title is not None
        if op in STAGED:
            return self._time(Wanted(op, each.over, type.shape, type.numpy.itemsize, each.dim, each.kind))
        return self._time(
            Exchange(op.title, each.over, size_of(each.over), each.bytes, type.nbytes, each.pairs)
        )

    def step(self, type: TensorType, before: Sharding, step: ReshardStep, phase: Phase) -> int:
        """Of all that a step of a change of layout has: a gather or scatter for each dimension, of which the
        next takes what one makes."""
        op, groups, itemsize = OPS[step.kind], _groups(before, step), type.numpy.itemsize
        block = before.local_shape(type.shape)
        if op not in STAGED:
            ((_, over),) = groups
            assert op.title is not None
            group = size_of(over)
            pairs = ((0, group // 2),) if op is spmd.collective_permute else ()
            sent = Exchange(op.title, over, group, step.bytes, itemsize * prod(block), pairs)
            return self._time(sent, phase)
        if op is spmd.reduce_scatter:  # blocks are filled up before
            after = step.result.local_shape(type.shape)
            parts = {dim: size_of(over) for dim, over in groups}
            block = tuple(after[dim] * parts[dim] if dim in parts else n for dim, n in enumerate(block))
        ticks = 0
        for dim, over in groups:
            along = None if op is spmd.all_reduce else dim
            wanted = Wanted(op, over, block, itemsize, along, before.kind if along is None else "sum")
            ticks += self._time(wanted, phase)
            block = wanted.result
        return ticks

    def even(self, kind: str, over: tuple[Axis, ...], elements: int, type: TensorType, phase: Phase) -> int:
        """Of a sum, gather or scatter of a block of so many elements, which is divided evenly."""
        op = OPS[kind]
        dim = None if op is spmd.all_reduce else 0
        return self._time(Wanted(op, over, (elements,), type.numpy.itemsize, dim, "sum"), phase)

    def least(self, kind: str, over: Sequence[Axis], phase: Phase) -> Least:
        """What one over pieces of axes takes, or more."""
        op, held = OPS[kind], MEGABYTE * size_of(over)
        assert op.sends is not None and op.title is not None
        dim, bytes = None if op is spmd.all_reduce else 0, op.sends(held, size_of(over))

        def ticks(stages: Stages, held: int) -> float:
            seconds = stages.seconds if op in STAGED else stages.at_once
            return self.tick * min(
                seconds(Wanted(op, axes, (held,), 1, dim, "sum"))
                for axes in ((*over,), merge(over))  # of a torus, pieces of an axis may be lines of their own
            )

        share, sent = self._share(op.title, over, phase), ticks(self.bare, held) / bytes
        return Least(share * ticks(self.stages, 0), sent, (1 - share) * sent)

    def least_permute(self, phase: Phase) -> Least:
        """The same of a permute, which may be over fewer pieces, and goes to the next device at least."""
        title, links = spmd.collective_permute.title, self.stages.machine.links
        share = min(
            [part for (op, _, of), part in self.shares.items() if op == title and of in (phase, None)] + [1.0]
        )
        sent = self.tick / max(link.best[0] for link in links)
        return Least(share * self.tick * min(link.best[1] for link in links), sent, (1 - share) * sent)

    def permute(self, over: Sequence[Axis], phase: Phase) -> Least:
        """What a permute over pieces of axes takes."""
        title, group = str(spmd.collective_permute.title), size_of(over)

        def ticks(stages: Stages, bytes: int) -> float:
            sent = Exchange(title, tuple(over), group, bytes, bytes, ((0, group // 2),))
            return self.tick * self._seconds(stages, sent)

        share, sent = self._share(title, over, phase), ticks(self.bare, MEGABYTE) / MEGABYTE
        return Least(share * ticks(self.stages, 0), sent, (1 - share) * sent)

    def _time(self, sent: Wanted | Exchange, phase: Phase = BETWEEN) -> int:
        """Of a collective, in stages where that is quicker."""
        if (sent, phase) not in self._times:
            title = sent.op if isinstance(sent, Exchange) else sent.op.title or ""
            share = self._share(title, sent.over, phase)
            took = self._seconds(self.stages, sent)
            if share < 1:
                took = share * took + (1 - share) * self._seconds(self.bare, sent)
            self._times[sent, phase] = round(self.tick * took)
        return self._times[sent, phase]

    @staticmethod
    def _seconds(stages: Stages, sent: Wanted | Exchange) -> float:
        if isinstance(sent, Wanted):
            return stages.seconds(sent)
        return seconds(stages.machine, link_of(stages.machine, stages.mesh, sent.over), stages.mesh, sent)

    def shared(self, axes: frozenset[str], phase: Phase) -> frozenset[object]:
        """What is shared in a phase of the latency of collectives over some axes."""
        here = ((said, part) for said, part in self.shares.items() if said[2] in (phase, None))
        return frozenset((said, part) for said, part in here if axes >= {*said[1]})

    def _share(self, op: str, over: Iterable[Axis], phase: Phase) -> float:
        if not self.shares:
            return 1.0
        names = tuple(sorted({axis.name for axis in over}))
        return self.shares.get((op, names, phase), self.shares.get((op, names, None), 1.0))


def _groups(before: Sharding, step: ReshardStep) -> list[tuple[int, tuple[Axis, ...]]]:
    """Of each of a step's collectives, the axes that its groups span, and the dimension that is gathered or
    scattered (0 of others)."""
    after = step.result
    if step.kind == "all_reduce":
        return [(0, subtract(before.unreduced, after.unreduced))]
    if step.kind == "collective_permute":
        return [(0, tuple(displaced(before, after)))]
    changed = lost(before, after) if step.kind in ("all_gather", "all_to_all") else gained(before, after)
    used = [axis for axes in changed for axis in axes] or [*before.axes(), *after.axes()]
    atoms = pieces(before.mesh, used)
    apart = step.kind in ("all_gather", "reduce_scatter")
    each = [(dim, axes) for dim, axes in enumerate(changed) if axes] if apart else []
    return [
        (dim, tuple(atom for atom in atoms if any(axis.contains(atom) for axis in axes)))
        for dim, axes in each or [(0, tuple(used))]
    ]
