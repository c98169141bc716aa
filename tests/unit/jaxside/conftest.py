"""Eight CPU devices, and arrays on them."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.tolerance import assert_near


@pytest.fixture
def pod() -> SimpleNamespace:
    """A mesh of 2 x 4 devices: `way(*spec)` is a sharding on it, `put(array, *spec)` an array."""
    jax = pytest.importorskip("jax")
    if len(jax.devices()) < 8:
        pytest.skip("needs 8 devices")
    from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

    devices = np.array(jax.devices()).reshape(2, 4)
    mesh = Mesh(devices, ("data", "model"), axis_types=(AxisType.Auto,) * 2)

    def way(*spec: Any) -> NamedSharding:
        return NamedSharding(mesh, PartitionSpec(*spec))

    def put(array: Any, *spec: Any) -> Any:
        return jax.device_put(array, way(*spec))

    return SimpleNamespace(mesh=mesh, way=way, put=put, explicit=jax.make_mesh((2, 4), ("data", "model")))


@pytest.fixture
def draw() -> Callable[..., np.ndarray]:
    """Different normal numbers for different shapes."""

    def drawn(*shape: int) -> np.ndarray:
        return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)

    return drawn


def same(got: Any, want: Any) -> None:
    """Both trees are equal: structure, types, numbers but for sums of 1024 terms."""
    import jax

    assert jax.tree.structure(got) == jax.tree.structure(want)
    for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        if jax.numpy.issubdtype(one.dtype, jax.dtypes.prng_key):
            one, other = jax.random.key_data(one), jax.random.key_data(other)
        assert_near(one, other, terms=1024)
