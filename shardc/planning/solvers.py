"""Shortest paths, from several nodes at once."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

TOGETHER = 1 << 15  # edges, each seen from all starts, in one go: what a processor has near
MOST = 4  # all edges are gone along at once where one in so many nodes may have become nearer


class Edges(Struct, frozen=True):
    """The edges of a graph, in the order of their targets: the nodes that each leads from and to, and its
    length, 0 or more."""

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    lengths: Vector

    def only(self, kept: NDArray[np.bool_]) -> Edges:
        """Some of the edges."""
        return Edges(self.sources[kept], self.targets[kept], self.lengths[kept])


def shortest_paths(size: int, edges: Edges, starts: NDArray[np.int64]) -> Matrix:
    """Shortest paths from each of `starts` (rows) to each of `size` nodes; else infinite.

    Edges are gone on along from all nodes to which a path has become shorter, until there is none: of graphs
    in which few edges lead everywhere, that takes few turns (Bellman and Ford).
    """
    found = np.full((len(starts), size), np.inf)
    found[np.arange(len(starts)), starts] = 0.0
    sources, targets, lengths = edges.sources, edges.targets, edges.lengths
    every = _firsts(targets)
    rows = max(1, TOGETHER // max(1, len(targets)))
    for start in range(0, len(starts), rows):
        part = found[start : start + rows]  # a view
        shorter = starts[start : start + rows]
        while len(shorter):
            if MOST * len(shorter) > size:
                first, ends, ways = every, targets, part.take(sources, axis=1) + lengths
            else:
                due = np.zeros(size, dtype=np.bool_)
                due[shorter] = True
                taken = np.flatnonzero(due.take(sources))
                ends = targets.take(taken)
                first, ways = _firsts(ends), part.take(sources.take(taken), axis=1) + lengths.take(taken)
            if not len(first):
                break
            reached = ends.take(first)
            before, least = part.take(reached, axis=1), np.minimum.reduceat(ways, first, axis=1)
            nearer = least < before
            part[:, reached] = np.where(nearer, least, before)
            shorter = reached[nearer.any(axis=0)]
    return found


def _firsts(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where in ascending numbers another one begins."""
    return np.flatnonzero(np.diff(numbers, prepend=-1))
