"""Functions that speak of infinities, on floats that have none: what NumPy says of the same values."""

from __future__ import annotations

import ml_dtypes
import numpy as np

import shardc

X = np.array([1.5, -2.0, np.nan, 448.0], ml_dtypes.float8_e4m3fn)


def test_isinf_and_nan_to_num() -> None:
    text = "def main(x: f8e4m3fn[4]):\n    return isinf(x), nan_to_num(x)\n"
    infinite, plain = shardc.compile(text, target="numpy").main(X)
    assert not np.any(infinite) and infinite.shape == (4,)
    assert plain.astype(np.float32).tolist() == [1.5, -2.0, 0.0, 448.0]


def test_extremes_without_nan() -> None:
    text = "def main(x: f8e4m3fn[4]):\n    return nanmax(x), nanmin(x), nanmax(x[2:3])\n"
    found = [float(one) for one in shardc.compile(text, target="numpy").main(X)]
    assert found[:2] == [448.0, -2.0] and np.isnan(found[2])
