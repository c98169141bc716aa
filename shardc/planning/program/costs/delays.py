"""What changes of layout take at least on a machine whose links differ, or have latency.

A collective takes what its steps do before the first byte, and so much for each byte, by its kind and by the
axes that its group spans; to make partial results of blocks that are filled up, a device writes as much as
they grow, at least. What comes before and what comes with the bytes are added up over the collectives by
which each is least: of a change of layout the two sums together are a lower bound, for tensors of any size.
On a torus it is the greater of the two, or if some of the latency is shared with other collectives, of the
bytes and of what is left of the latency with as large a part of the bytes as is shared. So it is for axes
that stay whole, unless a part of one by itself sends less.

Where pieces of axes send no less than whole ones, only ways over whole axes are looked at: an axis of four is
gathered at once, and not in two halves, which wait for two steps instead of three.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shardc.analysis.phases import BETWEEN, Phase
from shardc.layout import Mesh, Sharding
from shardc.planning.program.costs.rates import GRAIN, Rates
from shardc.planning.reshard.distances import Distances, distances
from shardc.planning.reshard.orders import Numbers
from shardc.planning.reshard.runs import AxisAtoms
from shardc.planning.reshard.space import Atoms
from shardc.planning.solvers import Vector

NEAR = 1e-9  # of the bytes: what rounding may take off

Pairs = tuple[Numbers, Numbers]
"""Layouts, and one other for each, by number."""


class Delays:
    """The tables of this for tensors of one rank. Only dimensions are all equal, not axes of one size."""

    def __init__(self, distances: Distances, rates: Rates, phase: Phase = BETWEEN) -> None:
        ways = distances.ways
        made, atoms = ways.collectives, distances.atoms

        def least(kind: str, moved: Atoms) -> tuple[float, float, float]:
            return rates.least_of(phase, kind, tuple(axis for atom in moved for axis in atoms[atom]))

        times = ways.times([least(*kind) for kind in ways.moving])
        self.before = ways.timed(times[:, 0])
        sent, joined = (times[:, at] * made.edges.lengths / ways.whole for at in (1, 2))
        written = rates.tick / rates.machine.bandwidth * ways.grown
        self.sent, self.moved = ways.timed(sent), ways.timed(sent + written)
        self.joined = ways.timed(joined) if rates.longer else None

    def ticks(self, sizes: Vector, sources: Numbers, targets: Numbers) -> Vector:
        """Of tensors of so many bytes, from each of some layouts to one of others, by number."""
        ends = self.before.orders.pairs(sources, targets)
        before, sent, moved = (paths.at(ends) for paths in (self.before, self.sent, self.moved))
        sent, moved = sizes * sent, sizes * moved
        sent = np.maximum(sent, moved - GRAIN)  # less is written without being counted
        if self.joined is None:
            return before + sent
        return np.maximum(before + sizes * self.joined.at(ends), sent)


class WholeAxes:
    """What the ways take over whole axes, of tensors of the rank of `pieces`."""

    def __init__(self, pieces: Distances, rates: Rates, phase: Phase = BETWEEN) -> None:
        self.pieces, runs = pieces, whole_runs(pieces.atoms, rates.mesh)
        self.axes = {axis for run in runs for axis in run}
        self.whole = distances(runs, pieces.rank)
        self.delays = Delays(self.whole, rates, phase)

    def number(self, layout: Sharding) -> int:
        """That of a layout of whole axes; -1 of another."""
        if not self.axes.issuperset(axis for axis in layout.axes() if axis.size > 1):
            return -1
        return self.whole.number(layout)

    def sure(self, wholes: Pairs, pieces: Pairs) -> NDArray[np.bool_]:
        """Where one of them is taken if blocks are of one size: pieces of axes send no less, and to end
        partial results without axes that hold copies is not preferred to it (planner.py). Layouts are those
        numbers of whole axes and of pieces."""
        ways, finer = self.whole.ways, self.pieces.ways
        least = ways.shared.pairs(*wholes)
        moved = np.floor(least) / ways.whole * (1 - NEAR)
        sure = (np.floor(finer.shared.pairs(*pieces)) / finer.whole >= moved) & np.isfinite(least)
        return sure & (ways.paths.pairs(*wholes) == least)


def whole_runs(atoms: AxisAtoms, mesh: Mesh) -> AxisAtoms:
    """The whole axes of which some atoms are pieces, those that go together as they do; none where parts of
    axes go with others."""
    if any(len(run) > 1 and not all(map(mesh.is_full, run)) for run in atoms):
        return ()
    runs = (run if len(run) > 1 else tuple(mesh.axis(axis.name) for axis in run) for run in atoms)
    return tuple(dict.fromkeys(runs))
