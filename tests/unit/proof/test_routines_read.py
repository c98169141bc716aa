"""Emitted NumPy texts that call LAPACK or generate random bits are read back and proved; faults in them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from shardc.backend.numpy import emit
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.mlir import read
from shardc.graph import Graph
from shardc.passes.pipeline import run_to
from shardc.proof.prove import Verdict, prove
from shardc.proof.reading.text import prove_text
from shardc.semantics.lapack import lapack, result_types

CHOLESKY = """module {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(
    %a: tensor<4x3x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}
  ) -> tensor<4x3x3xf32> {
    %0:2 = stablehlo.custom_call @lapack_spotrf_ffi(%a) {
      mhlo.backend_config = {uplo = 76 : ui8},
      sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, j, k], [i]) {i=4, j=3, k=3}, custom>
    } : (tensor<4x3x3xf32>) -> (tensor<4x3x3xf32>, tensor<4xi32>)
    return %0#0 : tensor<4x3x3xf32>
  }
}
"""
BITS = """module {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(
    %s: tensor<2xui64>, %a: tensor<8x4xui32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}
  ) -> tensor<8x4xui32> {
    %state, %bits = stablehlo.rng_bit_generator %s, algorithm = DEFAULT
      : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8x4xui32>)
    %0 = stablehlo.add %a, %bits : tensor<8x4xui32>
    return %0 : tensor<8x4xui32>
  }
}
"""
PROGRAMS = {
    "lapack": (CHOLESKY, 'uplo=ord("L")', 'uplo=ord("U")'),
    "random bits": (BITS, 'rng_algorithm="DEFAULT"', 'rng_algorithm="THREE_FRY"'),
}


@cache
def _emitted(name: str) -> tuple[Graph, str]:
    module = read(PROGRAMS[name][0])
    whole = snapshot(module.clone()).graph
    run_to(make_context(), module, "local")
    return whole, emit(snapshot(module).graph)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_emitted_is_proved(name: str) -> None:
    proof = prove_text(*_emitted(name), "numpy")
    assert proof.verdict is Verdict.PROVED, proof.reason


@pytest.mark.parametrize("name", PROGRAMS)
def test_another_option_is_not(name: str) -> None:
    whole, text = _emitted(name)
    _, right, wrong = PROGRAMS[name]
    assert right in text, text
    assert prove_text(whole, text.replace(right, wrong), "numpy").verdict is not Verdict.PROVED


FACTOR = """func.func @main(%a: tensor<3x3xf32>) -> tensor<3x3xf32> {{
  %factor = {}
  %low = stablehlo.constant dense<[[true, {}, {}], [true, true, {}], [true, true, true]]> : tensor<3x3xi1>
  %zero = stablehlo.constant dense<0.0> : tensor<3x3xf32>
  %0 = stablehlo.select %low, %factor, %zero : tensor<3x3xi1>, tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}}
"""
OPERATION = "stablehlo.cholesky %a, lower = true : tensor<3x3xf32>"
CALL = """stablehlo.custom_call @lapack_spotrf_ffi(%a) {mhlo.backend_config = {uplo = 76 : ui8}}
    : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<i32>)"""


@pytest.mark.parametrize("above", ["false", "true"])
def test_a_factor_of_either_kind(above: str) -> None:
    """They are alike in their triangle; in the other one LAPACK leaves what was there."""
    texts = [FACTOR.format(each, *[above] * 3) for each in (OPERATION, CALL)]
    texts[1] = texts[1].replace("%factor =", "%factor, %info =")
    whole, local = (snapshot(read(text)).graph for text in texts)
    assert prove(whole, local).verdict is (Verdict.PROVED if above == "false" else Verdict.DIFFERS)


U, L, V, N, A, S = map(ord, "ULVNAS")
SQUARE, TALL = (2, 4, 4), (2, 5, 3)
CALLS = {
    "potrf": ([SQUARE], {"uplo": L}),
    "trsm": ([SQUARE, (2, 4, 3)], {"side": L, "uplo": L, "trans_x": N, "diag": N}),
    "getrf": ([TALL], {}),
    "geqrf": ([TALL], {}),
    "orgqr": ([TALL, (2, 3)], {}),
    "gehrd": ([SQUARE], {"low": 1, "high": 4}),
    "sytrd": ([SQUARE], {"uplo": L}),
    "geev": ([SQUARE], {"compute_left": V, "compute_right": N}),
    "gees": ([SQUARE], {"mode": V, "sort": N}),
    "syevd": ([SQUARE], {"mode": V, "uplo": L}),
    "gesdd": ([TALL], {"mode": S}),
    "gtsv": ([(2, 4), (2, 4), (2, 4), (2, 4, 3)], {}),
}


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize("name", CALLS)
def test_types_of_results(name: str, dtype: type) -> None:
    """They are those of what the routine gives."""
    shapes, options = CALLS[name]
    letter = "c" if dtype is np.complex64 else "s"
    same = {"orgqr": "ungqr", "sytrd": "hetrd", "syevd": "heevd"}
    target = f"lapack_{letter}{same.get(name, name) if letter == 'c' else name}_ffi"
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(dtype) + 1 for shape in shapes]
    if name in ("potrf", "syevd", "sytrd"):
        arrays = [x @ np.conj(np.swapaxes(x, 1, 2)) + 4 * np.eye(4, dtype=dtype) for x in arrays]
    found = lapack(target, *arrays, **options)
    wanted = [(array.shape, array.dtype) for array in found]
    assert result_types(target, [(array.shape, array.dtype) for array in arrays], options) == wanted
