"""Shortest paths, from several nodes at once."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

TOGETHER = 2_000_000  # edges, each seen from all starts, that are looked at in one go: some megabytes


class Edges(Struct, frozen=True):
    """The edges of a graph: the nodes that each leads from and to, and its length, 0 or more."""

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    lengths: Vector

    def only(self, kept: NDArray[np.bool_]) -> Edges:
        """Some of the edges."""
        return Edges(self.sources[kept], self.targets[kept], self.lengths[kept])


def shortest_paths(size: int, edges: Edges, starts: NDArray[np.int64], known: Matrix | None = None) -> Matrix:
    """Shortest paths from each of `starts` (rows) to each of `size` nodes; else infinite.

    Edges are gone on along from all nodes to which a path has become shorter, until there is none: of graphs
    in which few edges lead everywhere, that takes few turns (Bellman and Ford). Paths that are `known`, over
    some of the edges, are where it begins.
    """
    found = np.full((len(starts), size), np.inf) if known is None else known.copy()
    found[np.arange(len(starts)), starts] = 0.0
    order = np.argsort(edges.targets, kind="stable")
    sources, targets, lengths = edges.sources[order], edges.targets[order], edges.lengths[order]
    rows = max(1, TOGETHER // max(1, len(order)))
    for start in range(0, len(starts), rows):
        part = found[start : start + rows]  # a view
        shorter = starts[start : start + rows] if known is None else np.arange(size)
        while len(shorter):
            due = np.zeros(size, dtype=np.bool_)
            due[shorter] = True
            taken = np.flatnonzero(due[sources])
            if not len(taken):
                break
            ends = targets[taken]
            first = np.flatnonzero(np.diff(ends, prepend=-1))
            reached = ends[first]
            before = part[:, reached]
            ways = part[:, sources[taken]] + lengths[taken]
            least = np.minimum(before, np.minimum.reduceat(ways, first, axis=1))
            part[:, reached] = least
            shorter = reached[(least < before).any(axis=0)]
    return found
