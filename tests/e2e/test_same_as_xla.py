"""Attributes that change what an operation means: programs on four devices equal XLA's of the same text."""

from __future__ import annotations

import re
from typing import Any

import jax
import numpy as np
import pytest
from jax._src.interpreters import mlir
from jax._src.lib.mlir import ir  # pyright: ignore[reportPrivateImportUsage]
from jax.extend import backend
from jaxlib import xla_client

import shardc
from shardc.diagnostics import ShardcError, collecting
from shardc.options import Options
from tests.tolerance import assert_near

ODD = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0], np.float32)
SQUARE = np.resize(ODD, (8, 8))
TIES = np.random.default_rng(0).integers(0, 3, (8, 8)).astype(np.float32)
NUMBERS = np.arange(64, dtype=np.int32).reshape(8, 8)
WAVES = np.sin(np.arange(64, dtype=np.float32)).reshape(8, 8)


def whole(text: str) -> str:
    """The program without mesh and shardings."""
    text = re.sub(r"sdy\.mesh[^\n]*\n", "", text)
    return re.sub(r" \{sdy\.sharding = #sdy\.sharding<@m, \[.*?\]>\}", "", text)


def by_xla(text: str, arrays: list[np.ndarray]) -> list[np.ndarray]:
    device = jax.devices()[0]
    with mlir.make_ir_context():
        module = ir.Module.parse(whole(text))
        devices = xla_client.DeviceList((device,))
        done = backend.get_backend("cpu").compile_and_load(module, devices, xla_client.CompileOptions())
    results = done.execute_sharded([jax.device_put(array, device) for array in arrays])
    return [np.asarray(blocks[0]) for blocks in results.disassemble_into_single_device_arrays()]


def by_shardc(text: str, arrays: list[np.ndarray], target: str) -> list[np.ndarray]:
    with collecting():
        source = shardc.compile(text, Options(target=target)).source
    names: dict[str, Any] = {"__name__": "emitted"}
    exec(compile(source, "emitted", "exec"), names)
    results = names["main"](*arrays)
    return [np.asarray(array) for array in (results if isinstance(results, (tuple, list)) else [results])]


def program(body: str, results: str, types: str = "8x8xf32 8x8xf32") -> str:
    shardings = ('[{"a"}, {"b"}]', '[{}, {"a"}]')
    params = ", ".join(
        f"%{name}: tensor<{type}> {{sdy.sharding = #sdy.sharding<@m, {sharding}>}}"
        for name, type, sharding in zip("xy", types.split(), shardings, strict=False)
    )
    return f'sdy.mesh @m = <["a"=2, "b"=2]>\nfunc.func @main({params}) -> ({results}) {{\n{body}\n}}\n'


def sorting(comparator: str, dimension: int) -> str:
    types = "tensor<8x8xf32>, tensor<8x8xi32>"
    body = f"""%0:2 = "stablehlo.sort"(%x, %y) ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
      {comparator}
      stablehlo.return %p : tensor<i1>
    }}) {{dimension = {dimension} : i64, is_stable = true}} : ({types}) -> ({types})
    return %0#0, %0#1 : {types}"""
    return program(body, types, "8x8xf32 8x8xi32")


def compared(name: str, direction: str, a: str, b: str, kind: str = "FLOAT", type: str = "f32") -> str:
    pair = f"(tensor<{type}>, tensor<{type}>) -> tensor<i1>"
    return f"%{name} = stablehlo.compare {direction}, %{a}, %{b}, {kind} : {pair}\n"


COMPARATORS = {
    "total": compared("p", "LT", "a", "b", "TOTALORDER"),
    "total, falling": compared("p", "GT", "a", "b", "TOTALORDER"),
    "swapped": compared("p", "LT", "b", "a"),
    "two keys": compared("l", "LT", "a", "b")
    + compared("e", "EQ", "a", "b")
    + compared("m", "LT", "c", "d", "SIGNED", "i32")
    + "%n = stablehlo.and %e, %m : tensor<i1>\n%p = stablehlo.or %n, %l : tensor<i1>",
    "two keys by select": compared("l", "LT", "a", "b")
    + compared("e", "EQ", "a", "b")
    + compared("m", "LT", "c", "d", "SIGNED", "i32")
    + "%p = stablehlo.select %e, %m, %l : tensor<i1>, tensor<i1>",
}
REFUSED_BY_JAX = {
    "other key": "%c1 = stablehlo.constant dense<1.0> : tensor<f32>\n"
    "%c9 = stablehlo.constant dense<9.0> : tensor<f32>\n"
    + compared("i", "EQ", "a", "c1")
    + compared("j", "EQ", "b", "c1")
    + "%k = stablehlo.select %i, %c9, %a : tensor<i1>, tensor<f32>\n"
    "%l = stablehlo.select %j, %c9, %b : tensor<i1>, tensor<f32>\n" + compared("p", "LT", "k", "l"),
    "only of equals": compared("l", "LT", "a", "b")
    + compared("m", "LT", "c", "d", "SIGNED", "i32")
    + "%p = stablehlo.and %l, %m : tensor<i1>",
    "second": compared("p", "LT", "c", "d", "SIGNED", "i32"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["jax", "numpy"])
@pytest.mark.parametrize("dimension", [0, 1])
@pytest.mark.parametrize("name", COMPARATORS)
def test_sorts(name: str, dimension: int, target: str) -> None:
    text = sorting(COMPARATORS[name], dimension)
    arrays = [SQUARE if name.startswith("total") else TIES, -NUMBERS]
    for got, wanted in zip(by_shardc(text, arrays, target), by_xla(text, arrays), strict=True):
        np.testing.assert_array_equal(got.view(np.int32), wanted.view(np.int32))


@pytest.mark.parametrize("name", REFUSED_BY_JAX)
def test_sorts_by_something_else(name: str) -> None:
    """No order of the operands: NumPy runs the comparator, JAX has no sort that could."""
    text = sorting(REFUSED_BY_JAX[name], 1)
    with pytest.raises(ShardcError, match="JAX sorts only by the first operands"):
        by_shardc(text, [TIES, -NUMBERS], "jax")
    if name != "only of equals":  # which is no order
        found = by_shardc(text, [TIES, -NUMBERS], "numpy")
        for got, wanted in zip(found, by_xla(text, [TIES, -NUMBERS]), strict=True):
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["jax", "numpy"])
@pytest.mark.parametrize("kind", ["FLOAT", "TOTALORDER"])
@pytest.mark.parametrize("direction", ["EQ", "NE", "LT", "LE", "GT", "GE"])
def test_comparisons(direction: str, kind: str, target: str) -> None:
    body = f"%0 = stablehlo.compare {direction}, %x, %y, {kind} : "
    body += "(tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xi1>\nreturn %0 : tensor<8x8xi1>"
    text = program(body, "tensor<8x8xi1>")
    arrays = [SQUARE, SQUARE.T.copy()]
    np.testing.assert_array_equal(by_shardc(text, arrays, target)[0], by_xla(text, arrays)[0])


ALGORITHM = (
    "<lhs_precision_type = {0}, rhs_precision_type = {0}, accumulation_type = f32, lhs_component_count = 1, "
    "rhs_component_count = 1, num_primitive_operations = {1}, allow_imprecise_accumulation = false>"
)


@pytest.mark.parametrize(
    ("dtype", "parts", "name"),
    [("bf16", 1, "BF16_BF16_F32"), ("bf16", 6, "BF16_BF16_F32_X6"), ("tf32", 3, "TF32_TF32_F32_X3")],
)
def test_the_algorithm_of_a_product_is_passed_on(dtype: str, parts: int, name: str) -> None:
    body = "%0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], algorithm = "
    body += ALGORITHM.format(dtype, parts)
    body += " : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>\nreturn %0 : tensor<8x8xf32>"
    text = program(body, "tensor<8x8xf32>")
    with collecting():
        assert f'precision="{name}"' in shardc.compile(text, Options()).source
    if dtype == "bf16":  # XLA's CPU has no tf32
        got, wanted = by_shardc(text, [WAVES, WAVES], "jax")[0], by_xla(text, [WAVES, WAVES])[0]
        assert_near(got, wanted, terms=8, magnitude=8)
    with pytest.raises(ShardcError, match="JAX has no algorithm of products <lhs_precision_type = bf16"):
        by_shardc(text.replace(f"= {dtype}", "= bf16").replace("count = 1", "count = 3"), [], "jax")


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("mode = #stablehlo.result_accuracy_mode<HIGHEST>", "lax.tanh(x, accuracy=lax.AccuracyMode.HIGHEST)"),
        ("mode = #stablehlo.result_accuracy_mode<DEFAULT>", "jnp.tanh(x)"),
        (
            "atol = 1.000000e-03, rtol = 0.000000e+00, ulps = 10, "
            "mode = #stablehlo.result_accuracy_mode<TOLERANCE>",
            "lax.tanh(x, accuracy=lax.Tolerance(atol=0.001, rtol=0.0, ulps=10))",
        ),
    ],
)
def test_the_accuracy_of_a_function_is_passed_on(said: str, written: str) -> None:
    attribute = f"{{result_accuracy = #stablehlo.result_accuracy<{said}>}}"
    body = f"%0 = stablehlo.tanh %x {attribute} : tensor<8x8xf32>\nreturn %0 : tensor<8x8xf32>"
    text = program(body, "tensor<8x8xf32>", "8x8xf32")
    with collecting():
        assert written in shardc.compile(text, Options()).source
    assert_near(by_shardc(text, [WAVES], "jax")[0], np.tanh(WAVES))


def test_searches_among_nans() -> None:
    """JAX compares in the total order after it has made NaNs equal."""
    edges = np.array([-1.0, 0.0, 2.0, np.nan], np.float32)
    values = np.array([-5.0, -0.0, 1.0, np.nan, -np.nan, 7.0, 0.0, 2.0], np.float32)
    text = "mesh m[a=4]\ndef main(e: f32[4@a], v: f32[8]) -> i32[8]:\n    return searchsorted(e, v)\n"
    for target in ("jax", "numpy"):
        found = by_shardc(text, [edges, values], target)[0]
        np.testing.assert_array_equal(found, np.searchsorted(edges, np.abs(values) * np.sign(values)))


@pytest.mark.parametrize("target", ["jax", "numpy"])
@pytest.mark.parametrize("function", ["argmax", "argmin"])
def test_the_first_nan_is_the_extreme(function: str, target: str) -> None:
    """Also beside what would be it without: a maximum over devices loses a NaN on CPUs."""
    x = np.zeros((8, 3), np.float32)
    x[0, 0], x[3, 0], x[5, 0] = np.inf, -np.inf, np.nan
    x[6, 1], x[7, 1] = np.nan, np.nan
    text = f"mesh m[a=4]\ndef main(x: f32[8@a, 3]) -> i32[3]:\n    return {function}(x, axis=0)\n"
    np.testing.assert_array_equal(by_shardc(text, [x], target)[0], [5, 6, 0])


WHOLE_NUMBERS = np.array([0, 1, -1, 2, -2, 7, -(2**31), 2**31 - 1], np.int32)


@pytest.mark.parametrize("target", ["jax", "numpy"])
def test_powers_of_integers(target: str) -> None:
    """A negative exponent gives 0, except for the bases 1 and -1."""
    body = "%0 = stablehlo.power %x, %y : tensor<8x8xi32>\nreturn %0 : tensor<8x8xi32>"
    text = program(body, "tensor<8x8xi32>", "8x8xi32 8x8xi32")
    x = np.repeat(WHOLE_NUMBERS[:, None], 8, axis=1)
    y = np.repeat(np.array([[0, 1, -1, 2, -2, 3, -(2**31), 31]], np.int32), 8, axis=0)
    np.testing.assert_array_equal(by_shardc(text, [x, y], target)[0], by_xla(text, [x, y])[0])


@pytest.mark.parametrize("target", ["jax", "numpy"])
@pytest.mark.parametrize("dimension", [-1, -2])
def test_sorts_along_a_dimension_counted_from_the_back(dimension: int, target: str) -> None:
    """XLA sorts by -2 only now and then, so it is asked for what that means."""
    text, plain = (sorting(COMPARATORS["swapped"], each) for each in (dimension, dimension + 2))
    arrays = [TIES, -NUMBERS]
    for got, wanted in zip(by_shardc(text, arrays, target), by_xla(plain, arrays), strict=True):
        np.testing.assert_array_equal(got, wanted)
    with pytest.raises(ShardcError, match="sort has dimension -3, which is no dimension"):
        by_shardc(text.replace(f"dimension = {dimension}", "dimension = -3"), arrays, target)


@pytest.mark.parametrize("x64", [False, True])
def test_windows_from_a_value_that_is_not_neutral(x64: bool) -> None:
    """lax takes the first value in the dtype of the elements, whichever dtype JAX gives to a number."""
    body = """%c = stablehlo.constant dense<0.25> : tensor<f32>
    %0 = "stablehlo.reduce_window"(%x, %c) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %p = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %p : tensor<f32>
    }) {window_dimensions = array<i64: 3, 2>, window_strides = array<i64: 2, 2>,
        padding = dense<[[-1, 1], [-1, -1]]> : tensor<2x2xi64>}
        : (tensor<8x8xf32>, tensor<f32>) -> tensor<3x3xf32>
    return %0 : tensor<3x3xf32>"""
    text = program(body, "tensor<3x3xf32>", "8x8xf32")
    with jax.enable_x64(x64):
        np.testing.assert_array_equal(by_shardc(text, [WAVES], "jax")[0], by_xla(text, [WAVES])[0])


def test_random_bits_from_a_state_that_jax_has_not() -> None:
    body = """%0, %1 = stablehlo.rng_bit_generator %x, algorithm = PHILOX
        : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4x8xui32>)
    return %0, %1 : tensor<3xui64>, tensor<4x8xui32>"""
    text = program(body, "tensor<3xui64>, tensor<4x8xui32>", "3xui64").replace('[{"a"}, {"b"}]', "[{}]")
    state = np.array([1, 2, 3], np.uint64)
    with jax.enable_x64(True):
        for got, wanted in zip(by_shardc(text, [state], "numpy"), by_xla(text, [state]), strict=True):
            np.testing.assert_array_equal(got, wanted)
    with pytest.raises(ShardcError, match=r"from a state of u64\[2\] or u32\[4\], not of u64\[3\]"):
        by_shardc(text, [state], "jax")


GROUPED = {
    "batch groups": (
        "8x6x6x3",
        "3x3x3x4",
        "4x6x6x4",
        "batch_group_count = 2",
        '[{"a", "b", "c"}, {}, {}, {}]',
    ),
    "feature groups": (
        "2x6x6x8",
        "3x3x4x4",
        "2x6x6x4",
        "feature_group_count = 2",
        '[{}, {}, {}, {"a", "b", "c"}]',
    ),
}


@pytest.mark.parametrize("target", ["numpy", "jax"])
@pytest.mark.parametrize("name", GROUPED)
def test_parts_of_groups_of_a_convolution(name: str, target: str) -> None:
    """More devices than groups: each has a part of one group."""
    lhs, kernel, result, groups, sharding = GROUPED[name]
    counts = {"batch_group_count": 1, "feature_group_count": 1, groups.split(" = ")[0]: int(groups[-1])}
    text = f"""sdy.mesh @m = <["a"=2, "b"=2, "c"=2]>
func.func @main(%x: tensor<{lhs}xf32> {{sdy.sharding = #sdy.sharding<@m, {sharding}>}},
    %k: tensor<{kernel}xf32>) -> (tensor<{result}xf32>) {{
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
    window = {{stride = [1, 1], pad = [[1, 1], [1, 1]]}}
    {{{", ".join(f"{key} = {count} : i64" for key, count in counts.items())}}}
    : (tensor<{lhs}xf32>, tensor<{kernel}xf32>) -> tensor<{result}xf32>
  return %0 : tensor<{result}xf32>
}}
"""
    random = np.random.default_rng(0)
    arrays = [random.random([*map(int, shape.split("x"))], np.float32) for shape in (lhs, kernel)]
    (got,), (wanted,) = by_shardc(text, arrays, target), by_xla(text, arrays)
    assert_near(got, wanted)


SHARDED = "{{sdy.sharding = #sdy.sharding<@m, {}>}}"
ROWS = 'sdy.mesh @m = <["a"=2, "b"=2]>\nfunc.func @main(%x: tensor<300x2xf32> ' + SHARDED.format(
    '[{"a"}, {}]'
)
TAKES_ROWS = (
    "{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], "
    "start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}"
)
PUTS_ROWS = (
    "{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
    "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}"
)
NARROW = {
    "gather": f"""{ROWS}, %i: tensor<3x1xT>) -> tensor<3x2xf32> {{
  %0 = "stablehlo.gather"(%x, %i) {TAKES_ROWS} : (tensor<300x2xf32>, tensor<3x1xT>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}}""",
    "scatter": f"""{ROWS}, %i: tensor<3x1xT>, %u: tensor<3x2xf32>) -> tensor<300x2xf32> {{
  %0 = "stablehlo.scatter"(%x, %i, %u) ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %r = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %r : tensor<f32>
  }}) {PUTS_ROWS} : (tensor<300x2xf32>, tensor<3x1xT>, tensor<3x2xf32>) -> tensor<300x2xf32>
  return %0 : tensor<300x2xf32>
}}""",
    "slice and update": f"""{ROWS}, %i: tensor<T>, %u: tensor<160x2xf32>)
    -> (tensor<100x2xf32>, tensor<300x2xf32>) {{
  %c = stablehlo.constant dense<0> : tensor<T>
  %0 = stablehlo.dynamic_slice %x, %i, %c, sizes = [100, 2]
    : (tensor<300x2xf32>, tensor<T>, tensor<T>) -> tensor<100x2xf32>
  %1 = stablehlo.dynamic_update_slice %x, %u, %i, %c
    : (tensor<300x2xf32>, tensor<160x2xf32>, tensor<T>, tensor<T>) -> tensor<300x2xf32>
  return %0, %1 : tensor<100x2xf32>, tensor<300x2xf32>
}}""",
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["jax", "numpy"])
@pytest.mark.parametrize("dtype", ["i8", "ui8", "i16"])
@pytest.mark.parametrize("name", NARROW)
def test_indices_too_narrow_for_the_rows(name: str, dtype: str, target: str) -> None:
    """Neither the last row nor the start of a block is a number of 8 bits.

    XLA gets numbers of 32 bits: slices by an i8 have a limit of 8 bits there, and its process ends.
    """
    text, plain = (
        NARROW[name].replace("xT>", f"x{each}>").replace("<T>", f"<{each}>") for each in (dtype, "i32")
    )
    index = np.array(2 if name.startswith("slice") else [[1], [3], [120]], np.int32)
    rows = {"gather": [], "scatter": [3], "slice and update": [160]}[name]
    random = np.random.default_rng(0)
    table, *updates = [random.random((count, 2), np.float32) for count in (300, *rows)]
    narrow = index.astype({"i8": np.int8, "ui8": np.uint8, "i16": np.int16}[dtype])
    found = by_shardc(text, [table, narrow, *updates], target)
    for got, wanted in zip(found, by_xla(plain, [table, index, *updates]), strict=True):
        assert_near(got, wanted)


BOOLS = np.random.default_rng(0).random((8, 8)) < 0.3
WINDOWED = """"stablehlo.reduce_window"(%x, %c) ({{
    ^bb0(%a: tensor<i1>, %b: tensor<i1>):
      %p = stablehlo.{op} %a, %b : tensor<i1>
      stablehlo.return %p : tensor<i1>
    }}) {{window_dimensions = array<i64: {size}, 1>, padding = dense<[[{low}, 0], [0, 0]]> : tensor<2x2xi64>}}
        : (tensor<8x8xi1>, tensor<i1>) -> tensor<8x8xi1>"""
COMBINED = {
    "reduced": "stablehlo.reduce(%x init: %c) applies stablehlo.{op} across dimensions = [0] "
    ": (tensor<8x8xi1>, tensor<i1>) -> tensor<8xi1>",
    "running": WINDOWED.replace("{size}", "8").replace("{low}", "7"),
    "windows": WINDOWED.replace("{size}", "3").replace("{low}", "2"),
    "scattered": """"stablehlo.scatter"(%x, %i, %u) ({{
    ^bb0(%a: tensor<i1>, %b: tensor<i1>):
      %p = stablehlo.{op} %a, %b : tensor<i1>
      stablehlo.return %p : tensor<i1>
    }}) {{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
        scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}
        : (tensor<8x8xi1>, tensor<2x1xi32>, tensor<2x8xi1>) -> tensor<8x8xi1>""",
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["jax", "numpy"])
@pytest.mark.parametrize("op", ["add", "multiply", "maximum", "minimum", "and", "or"])
@pytest.mark.parametrize("name", COMBINED)
def test_bools_combined(name: str, op: str, target: str) -> None:
    """A sum of bools is whether one is true: emitted programs counted, or ended in a TypeError."""
    shape = "8" if name == "reduced" else "8x8"
    neutral = "true" if op in ("multiply", "minimum", "and") else "false"
    body = f"""%c = stablehlo.constant dense<{neutral}> : tensor<i1>
    %i = stablehlo.constant dense<[[6], [1]]> : tensor<2x1xi32>
    %u = stablehlo.slice %x [0:2, 0:8] : (tensor<8x8xi1>) -> tensor<2x8xi1>
    %0 = {COMBINED[name].format(op=op)}
    return %0 : tensor<{shape}xi1>"""
    text = program(body, f"tensor<{shape}xi1>", "8x8xi1")
    (got,), (wanted,) = by_shardc(text, [BOOLS], target), by_xla(text, [BOOLS])
    assert got.dtype == bool
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("target", ["jax", "numpy"])
def test_angles_of_complex_numbers(target: str) -> None:
    """NumPy's arctan2 takes none: its program ended in a TypeError."""
    body = "%0 = stablehlo.atan2 %x, %y : tensor<8x8xcomplex<f32>>\nreturn %0 : tensor<8x8xcomplex<f32>>"
    text = program(body, "tensor<8x8xcomplex<f32>>", "8x8xcomplex<f32> 8x8xcomplex<f32>")
    arrays = [
        (WAVES + 1j * np.cos(WAVES)).astype(np.complex64),
        (1 + WAVES.T - 2j * WAVES).astype(np.complex64),
    ]
    (got,), (wanted,) = by_shardc(text, arrays, target), by_xla(text, arrays)
    assert_near(got, wanted)
