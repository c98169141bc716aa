"""Products of jax.experimental.sparse's matrices, whose elements and whose other operand are split."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shardc
from tests.unit.jaxside.conftest import same

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
sparse = pytest.importorskip("jax.experimental.sparse")


@pytest.fixture
def matrix() -> Any:
    """A matrix of 16 x 12 with 64 elements, as BCSR."""
    rng = np.random.default_rng(3)
    dense = np.zeros(16 * 12, np.float32)
    dense[rng.permutation(dense.size)[:64]] = rng.standard_normal(64)
    return sparse.BCSR.fromdense(dense.reshape(16, 12))


@pytest.mark.parametrize("spec", [(None, "model"), ("data", None), ()], ids=str)
def test_a_product_with_a_bcsr_matrix(pod: Any, matrix: Any, spec: tuple[str | None, ...]) -> None:
    def loss(data: Any, x: Any) -> Any:
        return jnp.sum(jnp.sin(sparse.BCSR((data, matrix.indices, matrix.indptr), shape=matrix.shape) @ x))

    data, x = pod.put(matrix.data, "data"), pod.put(np.ones((12, 8), np.float32), *spec)
    function = jax.value_and_grad(loss, (0, 1))
    same(shardc.jit(function)(data, x), jax.jit(function)(matrix.data, np.ones((12, 8), np.float32)))


def test_columns_stay_split(pod: Any, matrix: Any) -> None:
    x = pod.put(np.ones((12, 8), np.float32), None, "model")
    assert shardc.jit(lambda x: matrix @ x).lower(x).cost().bytes == 0
