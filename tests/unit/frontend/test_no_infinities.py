"""Functions that speak of infinities, on floats that have none: what NumPy says of the same values."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import shardc
from shardc.diagnostics import ShardcError

X = np.array([1.5, -2.0, np.nan, 448.0], ml_dtypes.float8_e4m3fn)


def test_isinf_and_nan_to_num() -> None:
    text = "def main(x: f8e4m3fn[4]):\n    return isinf(x), isposinf(x), isneginf(x), nan_to_num(x)\n"
    *infinite, plain = shardc.compile(text, target="numpy").main(X)
    assert not np.any(infinite) and [one.shape for one in infinite] == [(4,)] * 3
    assert plain.astype(np.float32).tolist() == [1.5, -2.0, 0.0, 448.0]


def test_infinities_of_eight_bits() -> None:
    text = "def main(x: f8e5m2[4]):\n    return isinf(x), isposinf(x), isneginf(x)\n"
    x = np.array([np.inf, -np.inf, np.nan, 2], ml_dtypes.float8_e5m2)
    found = [one.astype(int).tolist() for one in shardc.compile(text, target="numpy").main(x)]
    assert found == [[1, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]]


def test_a_complex_number_is_not_above_or_below() -> None:
    with pytest.raises(ShardcError, match="has no order"):
        shardc.compile("def main(x: c64[4]):\n    return isposinf(x)\n")


def test_extremes_without_nan() -> None:
    text = "def main(x: f8e4m3fn[4]):\n    return nanmax(x), nanmin(x), nanmax(x[2:3])\n"
    found = [float(one) for one in shardc.compile(text, target="numpy").main(X)]
    assert found[:2] == [448.0, -2.0] and np.isnan(found[2])
