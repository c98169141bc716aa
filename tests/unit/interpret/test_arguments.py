"""Arguments from .npz files, where NumPy forgets some dtypes."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from shardc.cli.arrays import read_arrays, write_arrays
from shardc.graph import TensorType
from shardc.interpret.arguments import saved_as


@pytest.mark.parametrize("dtype", ["bf16", "f8e4m3fn", "f8e5m2", "f32", "i8", "bool"])
def test_what_was_saved_comes_back(dtype: str, tmp_path: Path) -> None:
    type = TensorType((2, 3), dtype)
    array = np.arange(6).reshape(2, 3).astype(type.numpy)
    np.savez(tmp_path / "numpy.npz", x=array)
    write_arrays(str(tmp_path / "own.npz"), {"x": array})
    for name in ("numpy.npz", "own.npz"):
        found = saved_as(read_arrays(str(tmp_path / name))["x"], type)
        assert found.dtype == type.numpy
        assert np.array_equal(found, array)


def test_bytes_of_another_size_stay() -> None:
    array = np.arange(4).astype(ml_dtypes.bfloat16).view("V2")
    assert saved_as(array, TensorType((4,), "f32")).dtype == array.dtype
