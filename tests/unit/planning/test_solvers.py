"""Shortest paths, with scipy and without."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardc.planning import solvers

NODES = 7
EDGES = st.dictionaries(
    st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)),
    st.integers(1, 2**40).map(lambda number: number / 2**20),
    max_size=30,
)


@given(EDGES, st.integers(1, NODES))
def test_both_ways_agree(edges: dict[tuple[int, int], float], count: int) -> None:
    """Lengths are whole numbers of 2^-20, as those of reshards are: their sums are exact."""
    with pytest.MonkeyPatch.context() as patch:
        found = []
        for limit in (0, 10**9):
            patch.setattr(solvers, "SMALL", limit - 1)
            found.append(solvers.dijkstra(NODES, edges, range(count), count))
    assert found[0].shape == (count, count)
    np.testing.assert_array_equal(found[0], found[1])


def test_from_some_nodes() -> None:
    lengths = {(0, 2): 1.0, (2, 1): 2.0, (1, 0): 4.0}
    assert solvers.dijkstra(3, lengths, [1], 3).tolist() == [[4, 0, 5]]


def test_a_way_through_a_node_beyond_the_count() -> None:
    assert solvers.dijkstra(3, {(0, 2): 1.0, (2, 1): 2.0, (0, 1): 4.0}, [0, 1], 2).tolist() == [
        [0, 3],
        [np.inf, 0],
    ]
