"""Windows, gathers and other indexing on four devices: equal to XLA's of the same text."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from tests.e2e.test_same_as_xla import NUMBERS, WAVES, by_shardc, by_xla, program
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


TAKEN = """%0 = stablehlo.dynamic_slice %x, %i, %j, sizes = [3, 2]
        : (tensor<8x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x2xf32>
    %1 = stablehlo.dynamic_slice %x, %i, %z, sizes = [5, 8]
        : (tensor<8x8xf32>, tensor<i32>, tensor<i32>) -> tensor<5x8xf32>
    %2 = stablehlo.dynamic_update_slice %x, %0, %j, %i
        : (tensor<8x8xf32>, tensor<3x2xf32>, tensor<i32>, tensor<i32>) -> tensor<8x8xf32>
    %3 = stablehlo.dynamic_update_slice %x, %1, %j, %i
        : (tensor<8x8xf32>, tensor<5x8xf32>, tensor<i32>, tensor<i32>) -> tensor<8x8xf32>
    %4 = stablehlo.dynamic_slice %x, %j, %z, sizes = [1, 8]
        : (tensor<8x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
    %5 = stablehlo.reshape %4 : (tensor<1x8xf32>) -> tensor<8xf32>
    %6 = stablehlo.dynamic_slice %x, %n, %z, sizes = [3, 8]
        : (tensor<8x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
    return %0, %1, %2, %3, %5, %6 : """
COUNTED = """%p = stablehlo.compare LT, %k, %z, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c = stablehlo.constant dense<SIZE> : tensor<i32>
    %q = stablehlo.add %c, %k : tensor<i32>
    %i = stablehlo.select %p, %q, %k : tensor<i1>, tensor<i32>
    """
SPLIT = 'tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}]>}'
STARTS = {
    "plain": "",
    "counted from the end": COUNTED.replace("SIZE", "8"),
    "counted from another end": COUNTED.replace("SIZE", "7"),
}
LITERALS = """%z = stablehlo.constant dense<0> : tensor<i32>
    %n = stablehlo.constant dense<-2> : tensor<i32>
    """


@pytest.mark.parametrize("target", ["jax", "numpy"])
@pytest.mark.parametrize("name", STARTS)
def test_starts_below_zero(name: str, target: str) -> None:
    """They are 0; JAX counts them from the end, also what was counted already."""
    types = (
        "tensor<3x2xf32>, tensor<5x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<3x8xf32>"
    )
    text = program(LITERALS + STARTS[name] + TAKEN + types, types, "8x8xf32")
    index = "k" if STARTS[name] else "i"
    text = text.replace("}) -> (", f"}}, %{index}: tensor<i32>, %j: tensor<i32>) -> (").replace(
        '[{"a"}, {"b"}]', "[{}, {}]"
    )
    for i, j in ((-1, -3), (-8, 7), (-9, -20), (3, 4), (20, -(2**31))):
        arrays = [WAVES, np.array(i, np.int32), np.array(j, np.int32)]
        for got, wanted in zip(by_shardc(text, arrays, target), by_xla(text, arrays), strict=True):
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("target", ["jax", "numpy"])
@pytest.mark.parametrize("dtype", ["i8", "ui8", "i16"])
def test_starts_too_narrow_for_a_whole_dimension(dtype: str, target: str) -> None:
    """What StableHLO says: XLA forces an i8 into the last start as an i8, which is 43 of 299."""
    body = """%0 = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 2]
        : (tensor<300x2xf32>, tensor<T>, tensor<T>) -> tensor<1x2xf32>
    %1 = stablehlo.dynamic_update_slice %x, %0, %i, %i
        : (tensor<300x2xf32>, tensor<1x2xf32>, tensor<T>, tensor<T>) -> tensor<300x2xf32>
    %2 = stablehlo.reshape %0 : (tensor<1x2xf32>) -> tensor<2xf32>
    return %2, %1 : tensor<2xf32>, tensor<300x2xf32>"""
    text = program(body, "tensor<2xf32>, tensor<300x2xf32>", "300x2xf32")
    text = text.replace('[{"a"}, {"b"}]', "[{}, {}]").replace("}) -> (", "}, %i: tensor<T>) -> (", 1)
    table = np.arange(600, dtype=np.float32).reshape(300, 2)
    for place in (120, 0, -1, -90):
        if place >= 0 or dtype != "ui8":
            index = np.array(place, {"i8": np.int8, "ui8": np.uint8, "i16": np.int16}[dtype])
            row, same = by_shardc(text.replace("<T>", f"<{dtype}>"), [table, index], target)
            np.testing.assert_array_equal(row, table[max(place, 0)])
            np.testing.assert_array_equal(same, table)


PLACED = """%1 = "stablehlo.scatter"(TABLE, %i, %y) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %p = stablehlo.COMBINE %a, %b : tensor<f32>
      stablehlo.return %p : tensor<f32>
    }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
        scatter_dims_to_operand_dims = [0], index_vector_dim = 0>}
        : (tensor<8xf32>, tensor<1xi32>, tensor<f32>) -> tensor<8xf32>
    """
ZEROS = "%z = stablehlo.constant dense<0.0> : tensor<8xf32>\n    "
SUM = "%2 = stablehlo.add %x, %1 : tensor<8xf32>\n    return %2 : tensor<8xf32>"


@pytest.mark.parametrize("target", ["jax", "numpy"])
@pytest.mark.parametrize("place", [0, 4, 7, 8, -1])
@pytest.mark.parametrize(
    "body",
    [
        PLACED.replace("TABLE", "%x").replace("COMBINE", "multiply") + "return %1 : tensor<8xf32>",
        ZEROS + PLACED.replace("TABLE", "%z").replace("COMBINE", "add") + SUM,
    ],
    ids=["into them", "into zeros that are added"],
)
def test_one_place_of_blocks_of_a_whole_array(body: str, place: int, target: str) -> None:
    """XLA merged the slice that cuts the block with that of the place, whoever has it."""
    text = program(body, SPLIT, "8xf32 f32").replace('[{"a"}, {"b"}]', "[{}]").replace('[{}, {"a"}]', "[]")
    text = text.replace("}) -> (", "}, %i: tensor<1xi32>) -> (", 1)
    arrays = [np.arange(1, 9, dtype=np.float32), np.float32(0.5), np.array([place], np.int32)]
    (got,), (wanted,) = by_shardc(text, arrays, target), by_xla(text, arrays)
    np.testing.assert_array_equal(got, wanted)
