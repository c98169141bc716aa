"""Arguments from .npz files, where NumPy forgets some dtypes."""

from __future__ import annotations

import io

import ml_dtypes
import numpy as np
import pytest

from shardc.graph import TensorType
from shardc.interpret.arguments import saved_as


@pytest.mark.parametrize("dtype", ["bf16", "f32", "i8", "bool"])
def test_what_was_saved_comes_back(dtype: str) -> None:
    type = TensorType((2, 3), dtype)
    array = np.arange(6).reshape(2, 3).astype(type.numpy)
    file = io.BytesIO()
    np.savez(file, x=array)
    file.seek(0)
    found = saved_as(np.load(file)["x"], type)
    assert found.dtype == type.numpy
    assert np.array_equal(found, array)


def test_bytes_of_another_size_stay() -> None:
    array = np.arange(4).astype(ml_dtypes.bfloat16).view("V2")
    assert saved_as(array, TensorType((4,), "f32")).dtype == array.dtype
