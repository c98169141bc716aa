"""Large constants as text."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from shardc.backend.numpy.target import TARGET
from shardc.backend.python.literals import array
from shardc.backend.python.writer import Writer
from shardc.graph import Dense


def again(data: np.ndarray, dtype: str) -> tuple[str, np.ndarray]:
    text = array(Dense(data, data.shape), dtype, TARGET).text
    return text, eval(text, {"np": np, "base64": base64})


@pytest.mark.parametrize("diagonal", [-9, -3, -1, 0, 1, 5, 12, 30])
@pytest.mark.parametrize(("numpy", "dtype"), [("float32", "f32"), ("bool", "bool"), ("int32", "i32")])
@pytest.mark.parametrize("shape", [(12, 9), (1, 1, 9, 13), (10, 10)])
def test_triangles(shape, numpy, dtype, diagonal):
    rows, columns = shape[-2:]
    data = np.tri(rows, columns, diagonal).astype(numpy).reshape(shape)
    text, found = again(data, dtype)
    np.testing.assert_array_equal(found, data, strict=True)
    assert ("np.tri(" in text) or not data.any()


@pytest.mark.parametrize("place", [(0, 0), (3, 8), (9, 9), (9, 0)])
def test_what_is_no_triangle(place):
    data = np.tri(10, 10, dtype=np.float32)
    data[place] = 2
    text, found = again(data, "f32")
    assert "np.tri(" not in text
    np.testing.assert_array_equal(found, data, strict=True)
    negative = np.where(np.tri(10, 10), np.float32(1), np.float32(-0.0))
    assert "np.tri(" not in again(negative, "f32")[0]


def test_long_rows_of_numbers_share_lines():
    data = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    text, found = again(data, "f32")
    np.testing.assert_array_equal(found, data, strict=True)
    writer = Writer()
    writer.statement("table = ", array(Dense(data, data.shape), "f32", TARGET))
    assert text.endswith(".reshape((8, 8))") and len(writer.text().splitlines()) < 20
    assert again(np.arange(4.0).reshape(2, 2), "f64")[0] == "np.array([[0.0, 1.0], [2.0, 3.0]], np.float64)"


@pytest.mark.parametrize("shape", [(0,), (0, 2), (2, 0), (3, 0, 2), (0, 100)])
def test_shapes_without_elements(shape):
    data = np.zeros(shape, np.float32)
    np.testing.assert_array_equal(again(data, "f32")[1], data, strict=True)
