"""Batches of LAPACK's routines with options, split over the batch: both targets, without a collective."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shardc import api
from shardc.diagnostics import ShardcError
from shardc.frontend.jax import lower
from tests.tolerance import assert_near

jax = pytest.importorskip("jax")
lax, P = jax.lax, jax.sharding.PartitionSpec

VALUES = {"compute_left_eigenvectors": False, "compute_right_eigenvectors": False}


def multiplied(**options: bool) -> Any:
    def run(x: Any) -> Any:
        vectors, scales = jax.vmap(lambda a: jax.numpy.linalg.qr(a, mode="raw"))(x)
        return lax.linalg.ormqr(vectors.mT, scales, x, **options)

    return run


def magnitudes(vectors: Any) -> Any:
    """An eigenvector is one up to a complex factor."""
    return jax.numpy.abs(vectors)


FUNCTIONS = {
    "product": multiplied(left=False, transpose=False),
    "product with the transpose": multiplied(left=True, transpose=True),
    "hessenberg": lax.linalg.hessenberg,
    "tridiagonal": lambda x: lax.linalg.tridiagonal(x + x.mT, lower=True),
    "schur form": lambda x: list(map(magnitudes, lax.linalg.schur(x))),
    "eigenvalues": lambda x: lax.linalg.eig(x, **VALUES)[0],
    "eigenvectors": lambda x: list(map(magnitudes, lax.linalg.eig(x))),
}


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_batch_that_is_split(name: str, dtype: Any) -> None:
    auto = (jax.sharding.AxisType.Auto,)
    mesh = jax.make_mesh((8,), ("d",), axis_types=auto)
    rng = np.random.default_rng(0)
    x = (
        rng.normal(size=(8, 4, 4)) + (1j * rng.normal(size=(8, 4, 4)) if dtype == np.complex64 else 0)
    ).astype(dtype)
    want = jax.tree.leaves(jax.jit(FUNCTIONS[name])(x))
    text = lower(FUNCTIONS[name], x, in_shardings=(jax.sharding.NamedSharding(mesh, P("d")),))
    for target in ("jax", "numpy"):
        program = api.compile(text, language="mlir", target=target)
        assert "all_" not in program.source and "ffi_call" not in program.source
        for got, right in zip(jax.tree.leaves(program.main(x)), want, strict=True):
            assert_near(got, right, terms=4**3 * 16)


def test_the_eigenvalues_that_schur_forms_come_with() -> None:
    x = np.random.default_rng(1).normal(size=(2, 5, 5)).astype(np.float32)
    program = api.compile(SCHUR, language="mlir")
    _, _, real, imaginary, _, _ = map(np.asarray, program.main(x))
    form = np.asarray(lax.linalg.schur(x)[0])
    assert (imaginary != 0).any() and (imaginary == 0).any()
    assert_near(real, np.diagonal(form, axis1=1, axis2=2), terms=25)
    for got, matrix in zip(real + 1j * imaginary, x, strict=True):
        values, vectors = np.linalg.eig(matrix.astype(np.float64))
        size = np.linalg.cond(vectors) * np.linalg.norm(matrix)  # Bauer and Fike, 1960
        assert_near(np.sort_complex(got), np.sort_complex(values), 16 * 5**3, size, "f32")


@pytest.mark.parametrize("target", ["jax", "numpy"])
def test_an_order_of_eigenvalues_is_refused(target: str) -> None:
    """The function that chooses those which come first is not in the text."""
    sorted_ = SCHUR.replace("sort = 78", "sort = 83")
    with pytest.raises(ShardcError, match=r":3:3: error: .*_sgees_ffi with an order of eigenvalues"):
        api.compile(sorted_, language="mlir", target=target, file="f")
    with pytest.raises(ShardcError, match=r":3:3: error: .*_sgees_ffi with an order of eigenvalues"):
        api.trace(sorted_, language="mlir", file="f")


SCHUR = """func.func @main(%x: tensor<2x5x5xf32>) -> (tensor<2x5x5xf32>, tensor<2x5x5xf32>, tensor<2x5xf32>,
    tensor<2x5xf32>, tensor<2xi32>, tensor<2xi32>) {
  %0:6 = stablehlo.custom_call @lapack_sgees_ffi(%x)
      {mhlo.backend_config = {mode = 86 : ui8, sort = 78 : ui8}}
      : (tensor<2x5x5xf32>) -> (tensor<2x5x5xf32>, tensor<2x5x5xf32>, tensor<2x5xf32>,
         tensor<2x5xf32>, tensor<2xi32>, tensor<2xi32>)
  return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5 : tensor<2x5x5xf32>, tensor<2x5x5xf32>, tensor<2x5xf32>,
      tensor<2x5xf32>, tensor<2xi32>, tensor<2xi32>
}
"""


EIGENVALUES = """func.func @main(%x: tensor<3x3xf32>) -> (tensor<3xf32>, tensor<OTHER>) {
  %0:3 = stablehlo.custom_call @lapack_ssyevd_ffi(%x)
      {mhlo.backend_config = {mode = 86 : ui8, uplo = 76 : ui8}}
      : (tensor<3x3xf32>) -> (tensor<3x3xf32>, tensor<3xf32>, tensor<i32>)
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %found = stablehlo.compare EQ, %0#2, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %nan = stablehlo.constant dense<0x7FC00000> : tensor<3xf32>
  %values = stablehlo.select %found, %0#1, %nan : tensor<i1>, tensor<3xf32>
  %vectors = stablehlo.negate %0#0 : tensor<3x3xf32>
  return %values, %RETURNED : tensor<3xf32>, tensor<OTHER>
}
"""


@pytest.mark.parametrize(
    ("returned", "type", "stays"),
    [("values", "3xf32", False), ("0#2", "i32", True), ("found", "i1", True), ("vectors", "3x3xf32", True)],
)
def test_a_routine_stays_where_more_is_used_than_jax_has(returned: str, type: str, stays: bool) -> None:
    text = EIGENVALUES.replace("RETURNED", returned).replace("OTHER", type)
    program = api.compile(text, language="mlir")
    assert ("syevd(x)" in program.source) is stays
    x = np.array([[2, 1, 0], [1, 2, 0], [0, 0, 5]], np.float32)
    assert_near(np.asarray(program.main(x)[0]), np.array([1, 3, 5], np.float32), terms=3**3)
