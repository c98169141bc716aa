"""Kernels that work on many elements at a time give what the definition of the operation says of each."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest

from shardc.graph.attrs import ConvDims, GatherDims, ScatterDims
from shardc.semantics import contraction, indexing, ops
from tests.tolerance import assert_near

Shape = tuple[int, ...]


def convolved(image: Any, kernel: Any, dims: ConvDims, strides: Shape, padding: list[tuple[int, int]]) -> Any:
    """Of one group, output by output."""
    image = np.transpose(image, (dims.input_batch, dims.input_feature, *dims.input_spatial))
    kernel = np.transpose(
        kernel, (dims.kernel_output_feature, dims.kernel_input_feature, *dims.kernel_spatial)
    )
    image = np.pad(image, ((0, 0), (0, 0), *padding))
    window = kernel.shape[2:]
    counts = [(n - k) // s + 1 for n, k, s in zip(image.shape[2:], window, strides, strict=True)]
    result = np.zeros((image.shape[0], kernel.shape[0], *counts), image.dtype)
    for place in np.ndindex(*counts):
        ends = [slice(p * s, p * s + k) for p, s, k in zip(place, strides, window, strict=True)]
        part = image[(slice(None), slice(None), *ends)]
        axes = [*range(1, part.ndim)]
        result[(slice(None), slice(None), *place)] = np.tensordot(part, kernel, (axes, axes))
    order = np.argsort((dims.output_batch, dims.output_feature, *dims.output_spatial))
    return np.transpose(result, order)


@pytest.mark.parametrize("windows", [1, 50, 1 << 20])
@pytest.mark.parametrize("seed", range(12))
def test_convolutions_in_any_order_of_dimensions(monkeypatch: pytest.MonkeyPatch, windows: int, seed: int):
    monkeypatch.setattr(contraction, "WINDOWS", windows)
    draw, rng = Random(seed), np.random.default_rng(seed)
    spatial = draw.randint(0, 3)
    lhs, rhs, out = (draw.sample(range(spatial + 2), spatial + 2) for _ in range(3))
    dims = ConvDims(lhs[0], lhs[1], (*lhs[2:],), rhs[0], rhs[1], (*rhs[2:],), out[0], out[1], (*out[2:],))
    sizes = [(draw.randint(3, 6), draw.randint(1, 3)) for _ in range(spatial)]
    image, kernel = np.zeros(spatial + 2, int), np.zeros(spatial + 2, int)
    image[dims.input_batch], image[dims.input_feature] = draw.choice([1, 2, 4]), 3
    kernel[dims.kernel_input_feature], kernel[dims.kernel_output_feature] = 3, 2
    for i, (size, window) in enumerate(sizes):
        image[dims.input_spatial[i]], kernel[dims.kernel_spatial[i]] = size, window
    strides = tuple(draw.randint(1, 2) for _ in sizes)
    padding = [(draw.randint(0, 2), draw.randint(0, 1)) for _ in sizes]
    x, w = rng.integers(-4, 5, image), rng.integers(-4, 5, kernel)
    given = {"dimension_numbers": dims, "window_strides": strides, "padding": padding}
    np.testing.assert_array_equal(ops.convolution(x, w, **given), convolved(x, w, dims, strides, padding))


ROWS = ScatterDims((1,), (0,), (), (), (0,), 1)
COLUMNS = ScatterDims((0,), (1,), (), (), (1,), 1)
COMBINE = {
    "sum": lambda a, b: a + b,
    "max": max,
    "min": min,
    "prod": lambda a, b: a * b,
    "set": lambda a, b: b,
}


@pytest.mark.parametrize("kind", COMBINE)
@pytest.mark.parametrize(("places", "count"), [(2, 40), (40, 40), (40, 3), (5, 0)])
@pytest.mark.parametrize("width", [1, 3, 40])
@pytest.mark.parametrize("dims", [ROWS, COLUMNS])
@pytest.mark.parametrize("order", ["C", "F"])
def test_scatters_combine_updates_in_their_order(
    kind: str, places: int, count: int, width: int, dims: ScatterDims, order: Any
):
    rng = np.random.default_rng(places)
    table = rng.random((places, width), np.float32).astype(np.float32, order)
    index = rng.integers(-1, places + 1, (count, 1))
    rows = rng.random((count, width), np.float32)
    expected = table.copy()
    for (where,), row in zip(index, rows, strict=True):
        if 0 <= where < places:
            expected[where] = [COMBINE[kind](a, b) for a, b in zip(expected[where], row, strict=True)]
    if dims is COLUMNS:
        table, rows, expected = table.T, rows.T, expected.T
    before = table.copy()
    (found,) = ops.scatter([table], index, [rows], kind=kind, scatter_dimension_numbers=dims)
    assert_near(found, expected, terms=count)
    np.testing.assert_array_equal(table, before)
    again = ops.scatter([table], index, [rows], kind=kind, scatter_dimension_numbers=dims)
    assert found.tobytes() == again[0].tobytes()


@pytest.mark.parametrize("sizes", [(1, 4, 5), (1, 2, 5), (1, 4, 3)])
def test_gathers_take_whole_dimensions_and_parts(sizes: Shape):
    table, index = np.arange(120).reshape(6, 4, 5), np.array([[5], [0], [9], [-1]])
    dims = GatherDims((1, 2), (0,), (), (), (0,), 1)
    found = ops.gather(table, index, dimension_numbers=dims, slice_sizes=sizes)
    places = np.clip(index[:, 0], 0, 5)
    np.testing.assert_array_equal(found, table[places, : sizes[1], : sizes[2]])


def picked(pairs: list[tuple[float, int]], sign: int) -> tuple[float, int]:
    """As JAX's argmax (1) and argmin (-1) reduce."""
    best, place = pairs[0]
    for value, other in pairs[1:]:
        stays = sign * best > sign * value or best != best
        first = stays or (best == value and place < other)
        best, place = (best if stays else value), (place if first else other)
    return best, place


VALUES = {
    "numbers": np.random.default_rng(0).random((5, 7)).astype(np.float32),
    "ties": np.random.default_rng(1).integers(0, 3, (5, 7)).astype(np.float32),
    "integers": np.random.default_rng(2).integers(-3, 3, (5, 7)).astype(np.int32),
    "nan": np.where(np.random.default_rng(3).random((5, 7)) < 0.3, np.nan, 1).astype(np.float32),
    "least": np.full((5, 7), -np.inf, np.float32),
    "none": np.zeros((5, 0), np.float32),
}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(("kernel", "sign"), [(ops.greatest, 1), (ops.least, -1)])
@pytest.mark.parametrize("lying", ["sorted", "mixed", "lines", "mixed lines"])
def test_extremes_and_their_places(values: Any, axis: int, kernel: Any, sign: int, lying: str):
    values = values if axis else values.T
    places = np.random.default_rng(4).permutation(values.size).reshape(values.shape).astype(np.int32)
    if lying == "sorted":
        places = np.sort(places, axis)
    if "lines" in lying:
        line = np.arange(2, 2 + values.shape[axis], dtype=np.int32)
        line = np.roll(line, 2) if "mixed" in lying else line
        places = np.broadcast_to(line if axis else line[:, None], values.shape)
    least = -sign * 10 if values.dtype.kind == "i" else -sign * np.inf
    start, place = values.dtype.type(least), np.int32(3)
    best, found = kernel(values, places, start, place, axis=axis)
    lines = zip(*(np.moveaxis(array, axis, 1) for array in (values, places)), strict=True)
    expected = [picked([(start, int(place)), *zip(*line, strict=True)], sign) for line in lines]
    np.testing.assert_array_equal(best, [value for value, _ in expected])
    np.testing.assert_array_equal(found, [where for _, where in expected])
    assert (best.dtype, found.dtype) == (values.dtype, np.int32)


def test_narrow_rows_are_combined_as_wide_ones(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(5)
    for count, width in product((3, 50), (2, 8)):
        table, rows = rng.integers(0, 9, (4, width)), rng.integers(0, 9, (count, width))
        index = rng.integers(0, 4, (count, 1))
        found: list[Any] = []
        for narrow in (0, 32):
            monkeypatch.setattr(indexing, "NARROW", narrow)
            found += ops.scatter([table], index, [rows], kind="sum", scatter_dimension_numbers=ROWS)
        np.testing.assert_array_equal(*found)
