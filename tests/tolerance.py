"""Assertions whose tolerances follow from terms, magnitudes and dtypes (shardc/interpret/tolerance.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shardc.graph import DTYPES, Graph
from shardc.interpret.compare import compare
from shardc.interpret.reference import GraphReference
from shardc.interpret.tolerance import bound


def assert_right(whole: Graph, local: Graph, arrays: Sequence[Any], got: Sequence[Any], text: str) -> None:
    """Results of what was compiled from `local` are as right as the single-device program `whole` is."""
    results = [np.asarray(array) for array in got]
    for result in compare(GraphReference(whole), local, arrays, results):
        assert result.same, f"{result}\n{text}"


def assert_computes(graph: Graph, arrays: Sequence[Any], got: Sequence[Any], text: str = "") -> None:
    """`got` is what another tool computes of the program `graph`, which computes `arrays` to results.

    Both are compared with the program in f64. What it does to roundings (a condition number, cancellation)
    shows in either: the tool may be off by a factor times what the program is off by, and the program by as
    many times what the tool is off by, each with the bound of the sums.
    """
    theirs = [np.asarray(array) for array in got]
    assert_right(graph, graph, arrays, theirs, text)
    for result in compare(_Measured(graph, theirs), graph, arrays):
        assert result.same, f"the other way round: {result}\n{text}"


class _Measured(GraphReference):
    """A program whose own error is taken for that of other results."""

    def __init__(self, graph: Graph, results: list[np.ndarray]) -> None:
        super().__init__(graph)
        self.results: list[np.ndarray] | None = results

    def own(self, arrays: Sequence[Any], seed: int | None = None) -> Any:
        (ours, decisions), theirs = super().own(arrays, seed), self.results
        self.results = None  # of other arrays, nearby, they are not known
        return ours if theirs is None else theirs, decisions


def assert_sums(
    got: np.ndarray, wanted: np.ndarray, terms: int, magnitude: float | np.ndarray, dtype: str = "f64"
) -> None:
    """`got` is made of sums of so many terms, whose magnitudes add up to `magnitude`, as `wanted` is."""
    rtol, atol = bound(terms, dtype), bound(terms, dtype) * np.broadcast_to(magnitude, np.shape(wanted))
    with np.errstate(invalid="ignore"):
        far = ~(np.abs(np.subtract(got, wanted)) <= atol + rtol * np.abs(wanted))
    np.testing.assert_array_equal(np.asarray(got)[far], np.asarray(wanted)[far])


def assert_near(
    got: Any, wanted: Any, terms: float = 16, magnitude: float | None = None, dtype: str = "", text: str = ""
) -> None:
    """`got` and `wanted` are two ways to compute the same, in `dtype` (the coarser of theirs).

    Each has the roundings of so many `terms`, in all sums on the way to an element (a function counts for
    some): of the element's size, and of numbers as large as `magnitude` (the largest element, at least 1:
    arguments are so large, and may cancel). Integers, NaN and infinities are equal.
    """
    one, other = np.asarray(got), np.asarray(wanted)
    assert one.shape == other.shape, f"{one.shape} is not {other.shape}\n{text}"
    if one.dtype.kind not in "fcV" or other.dtype.kind not in "fcV":
        np.testing.assert_array_equal(one, other, err_msg=text)
        return
    kinds = [dtype] if dtype else [_SHORT[array.dtype.name] for array in (one, other)]
    part = 2 * max(bound(terms, kind) for kind in kinds)
    one, other = (
        array.astype(np.complex128 if array.dtype.kind == "c" else np.float64) for array in (one, other)
    )
    largest = np.abs(other[np.isfinite(other)]).max(initial=1.0) if magnitude is None else magnitude
    np.testing.assert_allclose(one, other, rtol=part, atol=part * largest, err_msg=text)


def assert_printed(got: np.ndarray, wanted: np.ndarray, decimals: int) -> None:
    """`wanted` is `got` as somebody wrote it, cut off or rounded: off by a unit of the last decimal."""
    off = np.abs(np.subtract(got, wanted, dtype=np.float64)).max(initial=0.0)
    assert off <= 10.0**-decimals + bound(1, "f32", float(np.abs(wanted).max(initial=0.0)))


_SHORT = {np.dtype(dtype).name: name for name, (_, dtype) in DTYPES.items()}


def assert_product(got: np.ndarray, a: np.ndarray, b: np.ndarray, dtype: str = "f32") -> None:
    """`got` is the matrix product a @ b, summed in any order in `dtype`."""
    exact, magnitude = a.astype(np.float64) @ b, np.abs(a) @ np.abs(b)
    error = np.abs(got - exact)
    assert (error <= bound(a.shape[-1], dtype) * magnitude).all(), f"off by {error.max():.1e}"
