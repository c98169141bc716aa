"""Windows, gathers and other indexing on four devices: equal to XLA's of the same text."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from tests.e2e.test_same_as_xla import NUMBERS, by_shardc, by_xla, program
from tests.tolerance import assert_near

FIRST_OF_WINDOWS = {
    "multiply": ("1", "i8"),
    "maximum": ("-128", "i8"),
    "minimum": ("65535", "ui16"),
    "and": ("-1", "i32"),
    "add": ("0", "i16"),
}


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("name", FIRST_OF_WINDOWS)
def test_windows_from_a_neutral_integer(name: str, x64: bool) -> None:
    """lax knows sums alone by their number, the others by the number of JAX's own default dtype."""
    start, dtype = FIRST_OF_WINDOWS[name]
    body = f"""%c = stablehlo.constant dense<{start}> : tensor<{dtype}>
    %0 = "stablehlo.reduce_window"(%x, %c) ({{
    ^bb0(%a: tensor<{dtype}>, %b: tensor<{dtype}>):
      %p = stablehlo.{name} %a, %b : tensor<{dtype}>
      stablehlo.return %p : tensor<{dtype}>
    }}) {{window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 2, 1>,
        padding = dense<[[1, 0], [0, 0]]> : tensor<2x2xi64>}}
        : (tensor<8x8x{dtype}>, tensor<{dtype}>) -> tensor<4x8x{dtype}>
    return %0 : tensor<4x8x{dtype}>"""
    text = program(body, f"tensor<4x8x{dtype}>", f"8x8x{dtype}")
    array = NUMBERS.astype({"i8": np.int8, "ui16": np.uint16, "i32": np.int32, "i16": np.int16}[dtype])
    with jax.enable_x64(x64):
        np.testing.assert_array_equal(by_shardc(text, [array], "jax")[0], by_xla(text, [array])[0])


BATCHED = {
    "gather": """%0 = "stablehlo.gather"(%x, %y) {dimension_numbers = #stablehlo.gather<offset_dims = [2],
        collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [2],
        start_index_map = [2, 1], index_vector_dim = 0>, slice_sizes = array<i64: 1, 1, 3>}
        : (tensor<4x6x8xf32>, tensor<2x5x4xi32>) -> tensor<5x4x3xf32>
    return %0 : tensor<5x4x3xf32>""",
    "scatter": """%u = stablehlo.constant dense<2.0> : tensor<5x4x3xf32>
    %0 = "stablehlo.scatter"(%x, %y, %u) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %p = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %p : tensor<f32>
    }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1],
        input_batching_dims = [0], scatter_indices_batching_dims = [2], scatter_dims_to_operand_dims = [2, 1],
        index_vector_dim = 0>}
        : (tensor<4x6x8xf32>, tensor<2x5x4xi32>, tensor<5x4x3xf32>) -> tensor<4x6x8xf32>
    return %0 : tensor<4x6x8xf32>""",
}


@pytest.mark.parametrize("target", ["jax", "numpy"])
@pytest.mark.parametrize("name", BATCHED)
def test_index_vectors_before_the_batches(name: str, target: str) -> None:
    """JAX has the vectors last, which moves the batching dimensions of the indices."""
    body = BATCHED[name]
    text = program(body, body.rsplit(" : ", 1)[1], "4x6x8xf32 2x5x4xi32")
    text = text.replace('[{"a"}, {"b"}]', '[{"a"}, {}, {"b"}]').replace('[{}, {"a"}]', '[{}, {"b"}, {"a"}]')
    random = np.random.default_rng(0)
    arrays = [random.random((4, 6, 8), np.float32), random.integers(0, 9, (2, 5, 4)).astype(np.int32)]
    (got,), (wanted,) = by_shardc(text, arrays, target), by_xla(text, arrays)
    assert_near(got, wanted)
