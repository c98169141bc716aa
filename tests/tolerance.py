"""Assertions whose tolerances follow from terms, magnitudes and dtypes (shardc/interpret/tolerance.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shardc.graph import Graph
from shardc.interpret.compare import compare
from shardc.interpret.reference import GraphReference
from shardc.interpret.tolerance import bound


def assert_right(whole: Graph, local: Graph, arrays: Sequence[Any], got: Sequence[Any], text: str) -> None:
    """Results of what was compiled from `local` are as right as the single-device program `whole` is."""
    results = [np.asarray(array) for array in got]
    for result in compare(GraphReference(whole), local, arrays, results):
        assert result.same, f"{result}\n{text}"


def assert_sums(
    got: np.ndarray, wanted: np.ndarray, terms: int, magnitude: float | np.ndarray, dtype: str = "f64"
) -> None:
    """`got` is made of sums of so many terms, whose magnitudes add up to `magnitude`, as `wanted` is."""
    rtol, atol = bound(terms, dtype), bound(terms, dtype) * np.broadcast_to(magnitude, np.shape(wanted))
    with np.errstate(invalid="ignore"):
        far = ~(np.abs(np.subtract(got, wanted)) <= atol + rtol * np.abs(wanted))
    np.testing.assert_array_equal(np.asarray(got)[far], np.asarray(wanted)[far])


def assert_product(got: np.ndarray, a: np.ndarray, b: np.ndarray, dtype: str = "f32") -> None:
    """`got` is the matrix product a @ b, summed in any order in `dtype`."""
    exact, magnitude = a.astype(np.float64) @ b, np.abs(a) @ np.abs(b)
    error = np.abs(got - exact)
    assert (error <= bound(a.shape[-1], dtype) * magnitude).all(), f"off by {error.max():.1e}"
