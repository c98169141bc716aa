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


_SHORT = {np.dtype(dtype).name: name for name, (_, dtype) in DTYPES.items()}


def assert_product(got: np.ndarray, a: np.ndarray, b: np.ndarray, dtype: str = "f32") -> None:
    """`got` is the matrix product a @ b, summed in any order in `dtype`."""
    exact, magnitude = a.astype(np.float64) @ b, np.abs(a) @ np.abs(b)
    error = np.abs(got - exact)
    assert (error <= bound(a.shape[-1], dtype) * magnitude).all(), f"off by {error.max():.1e}"
