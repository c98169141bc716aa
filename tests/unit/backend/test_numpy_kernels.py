"""Which array functions NumPy programs call, and what they say of ties, NaN and the order in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shardc
from shardc.options import Options
from tests.tolerance import assert_near

ARGMAX = "mesh m[x=4]\n\ndef main(v: f32[2, 4096@x]) -> i32[2]:\n    return {name}(v, axis=1)\n"


@pytest.mark.parametrize(("name", "kernel"), [("argmax", "greatest"), ("argmin", "least")])
def test_an_extreme_of_a_split_dimension_is_found_by_numpy(name: str, kernel: str):
    compiled = shardc.compile(ARGMAX.format(name=name), options=Options(target="numpy"))
    assert f"ops.{kernel}(" in compiled.source and "reduce_with" not in compiled.source
    rng = np.random.default_rng(0)
    for low in (0, 1, 2):
        v = rng.integers(low, 3, (2, 4096)).astype(np.float32)
        np.testing.assert_array_equal(compiled.main(v), getattr(np, name)(v, 1))
        v[1, 3000] = np.nan
        np.testing.assert_array_equal(compiled.main(v), getattr(np, name)(v, 1))


REGION = """
func.func @main(%v: tensor<4x8x{t}>, %i: tensor<4x8xi32>) -> (tensor<4x{t}>, tensor<4xi32>) {{
  %a = stablehlo.constant dense<{start}> : tensor<{t}>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.reduce(%v init: %a), (%i init: %z) across dimensions = [1] :
    (tensor<4x8x{t}>, tensor<4x8xi32>, tensor<{t}>, tensor<i32>) -> (tensor<4x{t}>, tensor<4xi32>)
  reducer(%p: tensor<{t}>, %q: tensor<{t}>) (%j: tensor<i32>, %k: tensor<i32>) {{
    %g = stablehlo.compare GT, %p, %q : (tensor<{t}>, tensor<{t}>) -> tensor<i1>
    %e = stablehlo.compare EQ, %p, %q : (tensor<{t}>, tensor<{t}>) -> tensor<i1>
    %l = stablehlo.compare LT, %j, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %b = stablehlo.and %e, %l : tensor<i1>
    %o = stablehlo.or %g, %b : tensor<i1>
    %m = stablehlo.select %g, %p, %q : tensor<i1>, tensor<{t}>
    %n = stablehlo.select %o, %j, %k : tensor<i1>, tensor<i32>
    stablehlo.return %m, %n : tensor<{t}>, tensor<i32>
  }}
  return %r#0, %r#1 : tensor<4x{t}>, tensor<4xi32>
}}
"""


@pytest.mark.parametrize(
    ("dtype", "start", "kernel"), [("f32", "0xFF800000", "reduce_with"), ("i32", "-2147483648", "greatest")]
)
def test_a_region_that_leaves_nan_to_its_order_is_run_as_it_is(dtype: str, start: str, kernel: str):
    text = REGION.format(t=dtype, start=start)
    compiled = shardc.compile(text, options=Options(target="numpy", file="r.mlir"))
    assert f"ops.{kernel}(" in compiled.source
    rng = np.random.default_rng(1)
    v = rng.integers(0, 4, (4, 8)).astype(np.float32 if dtype == "f32" else np.int32)
    i = rng.integers(0, 99, (4, 8)).astype(np.int32)
    best, place = compiled.main(v, i)
    np.testing.assert_array_equal(best, v.max(1))
    np.testing.assert_array_equal(place, np.where(v == v.max(1, keepdims=True), i, 99).min(1))


@pytest.mark.parametrize("letters", ["abcd,aecd->acbe", "abc,dce->abde", "abc,abd->dc"])
def test_products_lie_row_after_row(letters: str):
    terms, _, out = letters.partition("->")
    sizes = dict(zip("abcde", (2, 3, 4, 5, 6), strict=True))
    first, second = terms.split(",")
    shapes = [", ".join(str(sizes[letter]) for letter in term) for term in (first, second, out)]
    text = (
        f"def main(x: f32[{shapes[0]}], y: f32[{shapes[1]}]) -> f32[{shapes[2]}]:\n"
        f'    return einsum("{letters}", x, y)\n'
    )
    compiled = shardc.compile(text, options=Options(target="numpy"))
    assert "np.einsum(" in compiled.source and "optimize=True" in compiled.source
    rng = np.random.default_rng(2)
    x, y = (rng.random([sizes[letter] for letter in term]).astype(np.float32) for term in (first, second))
    found: Any = compiled.main(x, y)
    assert_near(found, np.einsum(letters, x, y), terms=64)
    assert found.flags.c_contiguous


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2", "float8_e4m3b11fnuz"])
@pytest.mark.parametrize("target", ["jax", "numpy"])
def test_numbers_of_few_bits_are_sorted_as_jax_does_with_nan(dtype: str, target: str):
    jax = pytest.importorskip("jax")
    v = np.array([[1, np.nan, -2, 0, 3, -1, np.nan, -7]]).astype(jax.numpy.dtype(dtype))
    compiled = shardc.from_jax(jax.numpy.sort, v, target=target)
    got, want = (np.asarray(sort(v)).astype(np.float32) for sort in (compiled.main, jax.numpy.sort))
    np.testing.assert_array_equal(got, want)
