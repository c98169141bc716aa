"""Calls of other people's FFI targets: the emitted program runs where the target is registered."""

from __future__ import annotations

import numpy as np
import pytest

from shardc import api
from shardc.ops import custom_calls, register_call
from tests.tolerance import assert_near

jax = pytest.importorskip("jax")

TARGET = "lapack_sgetrf_of_mine"

PROGRAM = f"""module {{
  sdy.mesh @m = <["x"=2, "y"=4]>
  func.func @main(%a: tensor<8x4x4xf32> {{sdy.sharding = #sdy.sharding<@m, [{{"x"}}, {{}}, {{}}]>}})
      -> (tensor<8x4x4xf32>, tensor<8x4xi32>, tensor<8xi32>) {{
    %0:3 = stablehlo.custom_call @{TARGET}(%a)
        : (tensor<8x4x4xf32>) -> (tensor<8x4x4xf32>, tensor<8x4xi32>, tensor<8xi32>)
    return %0#0, %0#1, %0#2 : tensor<8x4x4xf32>, tensor<8x4xi32>, tensor<8xi32>
  }}
}}
"""


def test_a_call_of_several_results_on_split_data_runs() -> None:
    from jaxlib import lapack

    register_call(TARGET, custom_calls.batched)
    targets = {name: handler for name, handler, *_ in _registrations(lapack)}
    jax.ffi.register_ffi_target(TARGET, targets["lapack_sgetrf_ffi"], platform="cpu")
    x = np.random.default_rng(0).normal(size=(8, 4, 4)).astype(np.float32)
    program = api.compile(PROGRAM, language="mlir")
    factors, pivots, info = program.main(x)
    for i in range(8):
        packed = np.asarray(factors[i]).T  # LAPACK counts columns first
        lower, upper = np.tril(packed, -1) + np.eye(4), np.triu(packed)
        rows = list(range(4))
        for j, pivot in enumerate(np.asarray(pivots[i])):
            rows[j], rows[pivot - 1] = rows[pivot - 1], rows[j]
        assert_near(lower @ upper, x[i].T[rows], terms=4 * 4, magnitude=4 * float(np.abs(upper).max()))
    assert not np.any(info)


def _registrations(lapack) -> list[tuple]:
    jax.block_until_ready(jax.numpy.linalg.cholesky(jax.numpy.eye(2)))  # loads LAPACK's functions
    return [(name, handler) for name, handler, *_ in lapack.registrations()["cpu"]]
