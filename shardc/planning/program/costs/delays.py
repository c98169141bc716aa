"""What changes of layout take at least on a machine whose links differ, or have latency.

A collective takes what its steps do before the first byte, and so much for each byte, by its kind and by the
axes that its group spans; to make partial results of blocks that are filled up, a device writes as much as
they grow, at least. What comes before and what comes with the bytes are added up over the collectives by
which each is least: of a change of layout the two sums together, or on a torus the greater, are a lower
bound, for tensors of any size. So it is for axes that stay whole, unless a part of one by itself sends less.

Of ways that send equally much a plan takes one with the fewest collectives. Where pieces of axes send no less
than whole ones, only such ways over whole axes are looked at: an axis of four is gathered at once, and not in
two halves, which wait for two steps instead of three.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shardc.analysis.phases import BETWEEN, Phase
from shardc.graph import TensorType
from shardc.layout import Mesh, Sharding
from shardc.planning.program.costs.rates import GRAIN, Rates
from shardc.planning.reshard.collectives import KINDS
from shardc.planning.reshard.distances import Distances, distances
from shardc.planning.reshard.orders import Numbers
from shardc.planning.reshard.runs import AxisAtoms
from shardc.planning.reshard.steps import FREE
from shardc.planning.solvers import Matrix

NEAR = 1e-9  # of the bytes: what rounding may take off


class Delays:
    """The three tables for tensors of one rank, of ways that send the `least` or of all. Only dimensions are
    all equal here, not axes of one size."""

    def __init__(
        self, distances: Distances, rates: Rates, phase: Phase = BETWEEN, least: bool = False
    ) -> None:
        ways = distances.ways
        self.both = np.maximum if rates.torus else np.add
        made, atoms = ways.collectives, distances.atoms
        each, which = ways.moving
        times = np.array([_times(rates, atoms, kind, phase) for kind in each.tolist()]).reshape(-1, 2)
        self.before = ways.timed(times[which, 0], least)
        sent = times[which, 1] * made.edges.lengths / ways.whole
        written = rates.tick / rates.machine.bandwidth * ways.grown
        self.sent, self.moved = ways.timed(sent, least), ways.timed(sent + written, least)

    def ticks(self, size: int, sources: Numbers, targets: Numbers) -> Matrix:
        """Of tensors of so many bytes, from each of some layouts to each of others, by number."""
        ends = self.before.orders.ends(sources, targets)
        before, sent, moved = (paths.along(ends) for paths in (self.before, self.sent, self.moved))
        sent, moved = size * sent, size * moved
        return self.both(before, np.maximum(sent, moved - GRAIN))  # less is written without being counted


class WholeAxes:
    """What the ways take over whole axes that send the least, of tensors of the rank of `pieces`."""

    def __init__(self, pieces: Distances, rates: Rates, phase: Phase = BETWEEN) -> None:
        self.pieces, runs = pieces, whole_runs(pieces.atoms, rates.mesh)
        self.axes = {axis for run in runs for axis in run}
        self.whole = distances(runs, pieces.rank)
        self.delays = Delays(self.whole, rates, phase, least=True)

    def ticks(self, type: TensorType, sources: Sequence[Sharding], targets: Sequence[Sharding]) -> Matrix:
        """From each of some layouts to each of others; 0 where a plan may take another way."""
        ticks = np.zeros((len(sources), len(targets)))
        rows, columns = ([i for i, at in enumerate(each) if self._named(at)] for each in (sources, targets))
        if rows and columns:
            starts, ends = [sources[i] for i in rows], [targets[i] for i in columns]
            numbers = (*self.whole.numbers(starts, ends),)
            found = self.delays.ticks(type.size * type.numpy.itemsize, *numbers)
            sure = self._sure(type.shape, numbers, (*self.pieces.numbers(starts, ends),))
            ticks[np.ix_(rows, columns)] = np.where(sure & _one_kind(starts, ends), found, 0)
        return ticks

    def _named(self, layout: Sharding) -> bool:
        return self.axes.issuperset(axis for axis in layout.axes() if axis.size > 1)

    def _sure(
        self, shape: tuple[int, ...], numbers: tuple[Numbers, ...], finer: tuple[Numbers, ...]
    ) -> NDArray[np.bool_]:
        """Where such a way is taken: pieces of axes send no less, its blocks are of one size, and to end
        partial results without axes that hold copies is not preferred to it (planner.py)."""
        ways, pieces = self.whole.ways, self.pieces.ways
        least = ways.shared.between(*numbers)
        moved = np.floor(least) / ways.whole * (1 - NEAR)
        sure = (np.floor(pieces.shared.between(*finer)) / pieces.whole >= moved) & np.isfinite(least)
        return sure & (ways.paths.between(*numbers) == least) & ways.alike(shape, *numbers)


def whole_runs(atoms: AxisAtoms, mesh: Mesh) -> AxisAtoms:
    """The whole axes of which some atoms are pieces, those that go together as they do; none where parts of
    axes go with others."""
    if any(len(run) > 1 and not all(map(mesh.is_full, run)) for run in atoms):
        return ()
    runs = (run if len(run) > 1 else tuple(mesh.axis(axis.name) for axis in run) for run in atoms)
    return tuple(dict.fromkeys(runs))


def _one_kind(sources: Sequence[Sharding], targets: Sequence[Sharding]) -> NDArray[np.bool_]:
    """Between which layouts no partial sums become partial maxima, or the like."""
    kinds = ([at.kind if at.unreduced else "" for at in each] for each in (sources, targets))
    first, second = map(np.array, kinds)
    return (first[:, None] == second) | (first == "")[:, None] | (second == "")


def _times(rates: Rates, atoms: AxisAtoms, kind: int, phase: Phase) -> tuple[float, float]:
    name, moved = KINDS[kind >> len(atoms)], kind % (1 << len(atoms))
    if name in FREE:
        return 0.0, 0.0
    over = [axis for i, run in enumerate(atoms) if moved >> i & 1 for axis in run]
    return rates.collective(name, over, phase)
