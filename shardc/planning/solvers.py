"""What planning asks of scipy, with types (it has none), and imported only when asked: that takes a while."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def sparse(entries: Sequence[float], places: Sequence[tuple[int, int]], shape: tuple[int, int]) -> Any:
    """A matrix that holds `entries` at `places`, (row, column); those at one place are added."""
    where = tuple(zip(*places, strict=True)) if places else ((), ())
    return importlib.import_module("scipy.sparse").csr_array((entries, where), shape=shape)


def dijkstra(graph: Any, count: int) -> Matrix:
    """Shortest paths between the first `count` nodes of a sparse matrix of lengths; else infinite."""
    paths = importlib.import_module("scipy.sparse.csgraph").dijkstra(graph, indices=range(count))
    return np.asarray(paths, dtype=np.float64)[:, :count]


def milp(costs: Vector, **options: Any) -> Any:
    """scipy.optimize.milp."""
    return importlib.import_module("scipy.optimize").milp(costs, **options)
