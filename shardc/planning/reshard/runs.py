"""Pieces of mesh axes that changes of layout move as a whole, where a whole program looks them up."""

from __future__ import annotations

from collections.abc import Iterable

from shardc.layout import Axis
from shardc.planning.reshard.atoms import refine

AxisAtoms = tuple[tuple[Axis, ...], ...]
"""Pieces of mesh axes, each alone or in a run that stays together."""

MOST = 400  # layouts of one rank; beyond, the pieces of axes stay whole


def atoms_for(runs: AxisAtoms, ranks: Iterable[int]) -> AxisAtoms:
    """Runs of the mesh's axes, cut where pieces could then change places if there are few."""
    rank = max(ranks, default=0)
    fine = refine([axis for run in runs for axis in run])
    return alone(fine) if (rank + 2) ** len(fine) <= MOST else runs


def alone(axes: Iterable[Axis]) -> AxisAtoms:
    """Axes of which none goes with another."""
    return tuple((axis,) for axis in axes)
