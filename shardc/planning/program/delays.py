"""What changes of layout take at least on a machine whose links differ, or have latency.

A collective takes what its steps do before the first byte, and so much for each byte, by its kind and by the
axes that its group spans; to make partial results of blocks that are filled up, a device writes as much as
they grow, at least. What comes before and what comes with the bytes are added up over the collectives by
which each is least: of a change of layout the two sums together, or on a torus the greater, are a lower
bound, for tensors of any size. So it is for axes that stay whole, unless a part of one by itself sends less.
"""

from __future__ import annotations

import numpy as np

from shardc.planning.program.rates import GRAIN, Rates
from shardc.planning.reshard.distances import Distances
from shardc.planning.reshard.orders import Numbers
from shardc.planning.reshard.runs import AxisAtoms
from shardc.planning.reshard.steps import FREE
from shardc.planning.reshard.ways import KINDS
from shardc.planning.solvers import Matrix


class Delays:
    """The three tables for tensors of one rank. Only dimensions are all equal here, not axes of one size."""

    def __init__(self, distances: Distances, rates: Rates) -> None:
        ways = distances.ways
        self.both = np.maximum if rates.torus else np.add
        made, atoms = ways.collectives, distances.atoms
        each, which = ways.moving
        times = np.array([_times(rates, atoms, kind) for kind in each.tolist()]).reshape(-1, 2)
        self.before = ways.timed(times[which, 0])
        sent = times[which, 1] * made.edges.lengths / ways.whole
        written = rates.tick / rates.machine.bandwidth * ways.grown
        self.sent, self.moved = ways.timed(sent), ways.timed(sent + written)

    def ticks(self, size: int, sources: Numbers, targets: Numbers) -> Matrix:
        """Of tensors of so many bytes, from each of some layouts to each of others, by number."""
        ends = self.before.orders.ends(sources, targets)
        before, sent, moved = (paths.along(ends) for paths in (self.before, self.sent, self.moved))
        sent, moved = size * sent, size * moved
        return self.both(before, np.maximum(sent, moved - GRAIN))  # less is written without being counted


def _times(rates: Rates, atoms: AxisAtoms, kind: int) -> tuple[float, float]:
    name, moved = KINDS[kind >> len(atoms)], kind % (1 << len(atoms))
    if name in FREE:
        return 0.0, 0.0
    return rates.collective(name, [axis for i, run in enumerate(atoms) if moved >> i & 1 for axis in run])
