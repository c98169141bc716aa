"""Shortest paths: of small graphs our own, of large ones by scipy, which takes a while to import."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from math import inf

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


SMALL = 600_000  # edges seen from all starts together: a quarter of a second, what importing scipy takes


class Seen:
    """What this process has looked at without scipy: once it is much, scipy takes less, also to import."""

    edges = 0


def dijkstra(size: int, edges: Mapping[tuple[int, int], float], starts: Sequence[int], count: int) -> Matrix:
    """Shortest paths from each of `starts` to the first `count` of `size` nodes; else infinite.

    Edges are lengths above 0, by the nodes from and to. The two ways agree to the last bit where sums of
    lengths are exact.
    """
    Seen.edges += len(starts) * len(edges)
    if Seen.edges > SMALL:
        places, lengths = np.array([*edges], np.int32).reshape(-1, 2).T, np.array([*edges.values()])
        graph = importlib.import_module("scipy.sparse").csr_array((lengths, tuple(places)), (size, size))
        paths = importlib.import_module("scipy.sparse.csgraph").dijkstra(graph, indices=starts)
        return np.asarray(paths, dtype=np.float64)[:, :count]
    after: list[list[tuple[int, float]]] = [[] for _ in range(size)]
    for (source, target), length in edges.items():
        after[source].append((target, length))
    return np.array([_from(start, after)[:count] for start in starts], dtype=np.float64)


def _from(start: int, after: Sequence[Sequence[tuple[int, float]]]) -> list[float]:
    """The shortest paths from one node to all."""
    found = [inf] * len(after)
    found[start] = 0.0
    open_nodes = [(0.0, start)]
    while open_nodes:
        length, node = heappop(open_nodes)
        if length > found[node]:
            continue
        for target, step in after[node]:
            if length + step < found[target]:
                found[target] = length + step
                heappush(open_nodes, (length + step, target))
    return found
