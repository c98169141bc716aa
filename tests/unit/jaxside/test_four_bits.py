"""jnp.int4 and jnp.uint4 as weights and caches: moved and converted as jax.jit does, else refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shardc
from shardc.diagnostics import ShardcError
from tests.unit.jaxside.conftest import same

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
lax = pytest.importorskip("jax.lax")

L, D, G = 3, 32, 8


def _int4(*shape: int) -> Any:
    return np.random.default_rng(shape).integers(-8, 8, shape).astype(jnp.int4)


def _layers(x: Any, q: Any, scales: Any) -> Any:
    """Weights of 4 bits with a scale for every group of G rows, a layer a turn."""

    def layer(h: Any, own: Any) -> Any:
        rows = own[0].astype(jnp.float32).reshape(D // G, G, D) * own[1][:, None]
        return jnp.tanh(h @ rows.reshape(D, D)), None

    return lax.scan(layer, x, (q, scales))[0]


def _cache(x: Any, q: Any, scales: Any) -> Any:
    """A row is quantised and written, and all are read."""
    new = jnp.clip(jnp.round(x[:1] * 3), -8, 7).astype(jnp.int4)
    written = lax.dynamic_update_slice(q[0], new, (3, 0))
    return written, written.astype(jnp.float32).sum(0), q.at[0, jnp.array([1, 5])].set(q[1, :2])


def _unpacked(x: Any, q: Any, scales: Any) -> Any:
    """Two in a byte, and back."""
    packed = lax.bitcast_convert_type(q[0].reshape(D, D // 2, 2), jnp.int8)
    return packed, x @ lax.bitcast_convert_type(packed, jnp.uint4).reshape(D, D).astype(jnp.float32)


@pytest.mark.parametrize("function", [_layers, _cache, _unpacked])
def test_as_jax_jit(pod, draw, function):
    x, q = pod.put(draw(8, D)), pod.put(_int4(L, D, D), None, None, "model")
    scales = pod.put(draw(L, D // G, D), None, None, "model")
    same(shardc.jit(function)(x, q, scales), jax.jit(function)(x, q, scales))


REFUSED = {
    "add": lambda q: q + q,
    "dot_general": lambda q: lax.dot(q, q, preferred_element_type=jnp.int32),
    "sort": lambda q: jnp.sort(q, axis=0),
    "maximum": lambda q: jnp.max(q, axis=0),
    "negate": lambda q: -q,
}


@pytest.mark.parametrize("name", REFUSED)
def test_nothing_is_computed(pod, name):
    with pytest.raises(
        ShardcError, match=rf"{name} of i4\[.*: nothing is computed .*\n(.*\n)*.*convert to i8"
    ):
        shardc.jit(REFUSED[name])(pod.put(_int4(D, D), "data"))
