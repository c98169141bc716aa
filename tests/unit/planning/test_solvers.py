"""Shortest paths, against those of a node at a time."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardc.planning import solvers
from shardc.planning.solvers import Edges, shortest_paths

NODES = 7
EDGES = st.dictionaries(
    st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)),
    st.integers(0, 2**40).map(lambda number: number / 2**20),
    max_size=30,
)


def edges(lengths: dict[tuple[int, int], float]) -> Edges:
    order = sorted(lengths, key=lambda ends: ends[1])
    ends = np.array(order, np.int64).reshape(-1, 2)
    return Edges(ends[:, 0], ends[:, 1], np.array([lengths[pair] for pair in order], np.float64))


def dijkstra(lengths: dict[tuple[int, int], float], start: int) -> list[float]:
    found = [np.inf] * NODES
    heap = [(0.0, start)]
    while heap:
        length, node = heappop(heap)
        if length < found[node]:
            found[node] = length
            for (source, target), more in lengths.items():
                if source == node:
                    heappush(heap, (length + more, target))
    return found


@given(
    EDGES, st.lists(st.integers(0, NODES - 1)), st.sampled_from([1, 100]), st.sampled_from([1, 4, 2 * NODES])
)
def test_paths_are_the_shortest(
    lengths: dict[tuple[int, int], float], starts: list[int], limit: int, most: int
) -> None:
    """Also where there is one start at a time, and where all edges are gone along in every turn or in none.
    Lengths are whole numbers of 2^-20: their sums are exact."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solvers, "TOGETHER", limit)
        patch.setattr(solvers, "MOST", most)
        found = shortest_paths(NODES, edges(lengths), np.array(starts, np.int64))
    assert found.shape == (len(starts), NODES)
    assert found.tolist() == [dijkstra(lengths, start) for start in starts]


def test_what_is_infinitely_long_leads_nowhere() -> None:
    lengths = {(0, 1): np.inf, (0, 2): 1.0, (2, 1): np.inf}
    assert shortest_paths(3, edges(lengths), np.array([0])).tolist() == [[0, np.inf, 1]]


def test_from_some_nodes() -> None:
    lengths = {(0, 2): 1.0, (2, 1): 2.0, (1, 0): 4.0}
    assert shortest_paths(3, edges(lengths), np.array([1])).tolist() == [[4, 0, 5]]


def test_of_edges_and_starts_there_may_be_none() -> None:
    assert shortest_paths(2, edges({}), np.array([1])).tolist() == [[np.inf, 0]]
    assert shortest_paths(2, edges({(0, 1): 1.0}), np.array([], np.int64)).shape == (0, 2)
