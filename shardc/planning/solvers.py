"""Shortest paths, from several nodes at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

TOGETHER = 2_000_000  # edges, each seen from all starts, that are looked at in one go: some megabytes


@dataclass(frozen=True)
class Edges:
    """The edges of a graph: the nodes that each leads from and to, and its length, 0 or more."""

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    lengths: Vector

    def only(self, kept: NDArray[np.bool_]) -> Edges:
        """Some of the edges."""
        return Edges(self.sources[kept], self.targets[kept], self.lengths[kept])


def shortest_paths(size: int, edges: Edges, starts: NDArray[np.int64]) -> Matrix:
    """Shortest paths from each of `starts` (rows) to each of `size` nodes; else infinite.

    All edges are gone on along from all nodes that have been reached, until no path is shorter for it: of
    graphs in which few edges lead everywhere, that takes few turns (Bellman and Ford).
    """
    found = np.full((len(starts), size), np.inf)
    found[np.arange(len(starts)), starts] = 0.0
    order = np.argsort(edges.targets, kind="stable")
    sources, lengths = edges.sources[order], edges.lengths[order]
    reached, first = np.unique(edges.targets[order], return_index=True)
    rows = max(1, TOGETHER // max(1, len(order)))
    for start in range(0, len(starts) if len(order) else 0, rows):
        part = found[start : start + rows]  # a view
        while True:
            before = part[:, reached]
            least = np.minimum(before, np.minimum.reduceat(part[:, sources] + lengths, first, axis=1))
            if np.array_equal(least, before):
                break
            part[:, reached] = least
    return found
