"""What is around a function that shardc.jit compiles: captured arrays, meshes, JAX's settings."""

from __future__ import annotations

import gc
from functools import partial

import numpy as np
import pytest

import shardc
from tests.unit.jaxside.conftest import same

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
Mesh, NamedSharding, P = jax.sharding.Mesh, jax.sharding.NamedSharding, jax.sharding.PartitionSpec


def test_captured_arrays_stay_split(pod, draw):
    w, params = pod.put(draw(16, 32), None, "model"), {"b": pod.put(draw(32), "model")}

    def layer(n, x, *, scale):
        return jnp.tanh(x @ w + params["b"]) * scale * n

    x = draw(8, 16)
    options = {"static_argnums": 0, "in_shardings": pod.way("data")}
    program = shardc.jit(lambda n, x: layer(n, x, scale=3.0), **options).lower(2, x)
    assert program.in_shardings == (pod.way("data"),)
    assert program.out_shardings == pod.way("data", "model")
    step = shardc.jit(layer, static_argnums=0)
    source = step.lower(2, x, scale=3.0).source
    assert "def device_main(w, params_b, x, scale):" in source
    assert "jnp.array(" not in source
    same(step(2, x, scale=3.0), layer(2, x, scale=3.0))
    same(
        jax.grad(lambda x: step(2, x, scale=3.0).sum())(x),
        jax.grad(lambda x: layer(2, x, scale=3.0).sum())(x),
    )


@pytest.mark.parametrize("target", ["jax", "numpy"])
@pytest.mark.parametrize("order", [1, -1])
def test_from_jax_takes_captured_arrays_first(pod, draw, target, order):
    mesh = Mesh(pod.mesh.devices[::order, ::order], pod.mesh.axis_names, axis_types=pod.mesh.axis_types)
    w, b = jax.device_put(draw(16, 32), NamedSharding(mesh, P(None, "model"))), draw(32)
    x, rows = draw(8, 16), NamedSharding(mesh, P("data"))

    def layer(x):
        return jnp.tanh(x @ w + b)

    program = shardc.from_jax(layer, x, in_shardings=rows, target=target)
    same(program.main(x), layer(x))
    (captured,) = program.captured
    assert captured is w
    assert "def main(w, x):" in program.source
    assert [name for name, _ in program.interface.parameters] == ["w", "x"]
    same(program.module.main(w, x), layer(x))


def test_other_captured_arrays_are_constants_of_from_jax(draw):
    w = jnp.asarray(draw(3))
    program = shardc.from_jax(lambda x: x * w, draw(4, 3))
    assert program.captured == ()
    assert "def main(x):" in program.source
    same(program.main(draw(4, 3)), draw(4, 3) * w)


def test_explicit_meshes_inside_other_transformations(pod, draw):
    """The mesh of the traced function around has no devices."""
    compiled, x = shardc.jit(jnp.sin), jax.device_put(draw(8, 16), NamedSharding(pod.explicit, P("data")))
    got = jax.jit(lambda x: compiled(x) + 1)(x)
    assert jax.typeof(got).sharding.spec == P("data", None)
    same(got, jnp.sin(x) + 1)
    with jax.set_mesh(pod.explicit):
        for transformed in (
            lambda f: jax.jit(lambda x: f(x) + 1)(x),
            lambda f: jax.jit(jax.grad(lambda x: f(x).sum()))(x),
        ):
            assert transformed(compiled).sharding == transformed(jnp.sin).sharding
            same(transformed(compiled), transformed(jnp.sin))


def test_other_devices_in_other_jitted_code(pod, draw):
    turned = Mesh(pod.mesh.devices[::-1], pod.mesh.axis_names, axis_types=pod.mesh.axis_types)
    compiled = shardc.jit(lambda x: jax.lax.with_sharding_constraint(x * 2, P("data")))
    with jax.set_mesh(turned):
        got = jax.jit(lambda x: compiled(x) + 1)(draw(8, 4))
    assert got.sharding == NamedSharding(turned, P("data"))
    same(got, draw(8, 4) * 2 + 1)


def test_wide_numbers_are_those_of_the_function_alone(pod, draw):
    def wide(x):
        with jax.enable_x64(True):
            return x.astype(jnp.float64).sum()

    with jax.enable_x64(True):
        x = pod.put(np.arange(8.0), "data")
        same(shardc.jit(lambda x: x * 2)(x), x * 2)
    same(shardc.jit(wide)(pod.put(draw(8), "data")), wide(draw(8)))
    assert jnp.arange(3.0).dtype == jnp.float32


def test_numbers_of_32_bits_among_wide_ones(pod, draw):
    """What JAX would make of 64 bits there by itself has the type that the function says."""
    functions = (
        lambda x: jax.lax.argmax(x, 1, jnp.int32),
        lambda x: jax.lax.sort_key_val(x, jax.lax.broadcasted_iota(jnp.int32, x.shape, 1))[1],
        lambda x: jax.nn.one_hot(jax.lax.argmax(x, 1, jnp.int32), 4, dtype=jnp.float32),
    )
    x = draw(8, 4)
    with jax.enable_x64(True):
        placed = pod.put(x, "data")
        for function in functions:
            got, want = shardc.jit(function)(placed), function(x)
            assert got.dtype == want.dtype
            same(got, want)


def test_one_hot_beside_wide_numbers(pod, draw):
    """JAX's own default has 64 bits where a program gives such numbers."""

    def function(x):
        return jax.nn.one_hot(jax.lax.argmax(x, 1, jnp.int32), 4, dtype=jnp.float32), x.astype(jnp.float64)

    x = draw(8, 4)
    with jax.enable_x64(True):
        same(shardc.jit(function)(pod.put(x, "data")), function(x))


def test_one_device(draw):
    device = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    same(shardc.jit(lambda x: x * 2, in_shardings=device)(draw(8, 4)), draw(8, 4) * 2)


def test_what_made_a_nan_is_found(pod, draw):
    with jax.debug_nans(True), pytest.raises(FloatingPointError, match=r"nan.* encountered in log"):
        shardc.jit(lambda x: jnp.log(-abs(x)))(pod.put(draw(8), "data"))


def test_captured_arrays_are_called_as_where_they_are_held(pod):
    table, scale = pod.put(np.ones((8, 4), np.float32), "data"), pod.put(np.ones(4, np.float32), "model")

    def layer(x):
        return x @ table

    def made(weights):
        return partial(lambda bias, x: layer(x) * weights["scale"] + bias, 1.0)

    class Model:
        def __init__(self):
            self.kernel = table

        def apply(self, x):
            return x @ self.kernel

    def parameters(function):
        source = shardc.jit(function).lower(np.ones((4, 8), np.float32)).source
        return source.partition("def device_main(")[2].partition(")")[0]

    assert parameters(made({"scale": scale})) == "table, weights_scale, x"
    assert parameters(Model().apply) == "kernel, x"


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_is_not_collected_in_a_first_call(pod, draw, enabled):
    found = []

    def step(x):
        found.append(gc.isenabled())
        if x.shape == (16, 4):
            raise ZeroDivisionError
        return x * 2

    function, x = shardc.jit(step), pod.put(draw(8, 4), "data")
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        same(function(x), x * 2)
        assert gc.isenabled() is enabled
        with pytest.raises(ZeroDivisionError):
            function(pod.put(draw(16, 4), None, "model"))
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()
    assert found == [False, False]
