"""Programs whose mesh is not the user's, where that is set or types of arrays name it."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest

import shardc
from shardc.jaxside.warned import ShardcWarning
from tests.unit.jaxside.conftest import same

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
lax = pytest.importorskip("jax.lax")
sharding = pytest.importorskip("jax.sharding")
Mesh, NamedSharding, P = sharding.Mesh, sharding.NamedSharding, sharding.PartitionSpec


def mesh_of(pod, axis_type):
    """The devices of the pod from the last to the first, on axes of that type."""
    return Mesh(pod.mesh.devices[::-1], pod.mesh.axis_names, axis_types=(axis_type,) * 2)


def is_cut(function, *args):
    return "model_0" in function.lower(*args).source


@pytest.fixture
def auto(pod):
    return mesh_of(pod, sharding.AxisType.Auto)


@pytest.fixture
def x(auto, draw):
    return jax.device_put(draw(16, 8), NamedSharding(auto, P("data", "model")))


def exchanged(mesh):
    return lambda x: jnp.sin(lax.with_sharding_constraint(x, NamedSharding(mesh, P("model", "data"))))


@pytest.mark.parametrize("is_set", [True, False])
def test_results_are_on_the_users_mesh(auto, x, is_set):
    plain = exchanged(auto)
    f = shardc.jit(plain)
    with jax.set_mesh(auto) if is_set else contextlib.nullcontext():
        assert is_cut(f, x)
        once = f(x)
        assert once.sharding == NamedSharding(auto, P("model", "data"))
        same(once, plain(x))
        same(f(once) + x, plain(plain(x)) + x)
        same(jax.grad(lambda x: (f(x) * x).sum())(x), jax.grad(lambda x: (plain(x) * x).sum())(x))


def test_in_other_functions_of_the_mesh_that_is_set(auto, x):
    """There JAX traces, and the mesh tells no devices."""
    plain = exchanged(auto)
    f = shardc.jit(plain)
    xs = jnp.stack([x, x])

    def steps(f, x):
        return lax.scan(lambda c, y: (f(c) * y, None), x, xs)[0] + jax.checkpoint(f)(x)

    with jax.set_mesh(auto):
        same(jax.jit(lambda x: steps(f, x))(x), steps(plain, x))
        same(jax.vmap(f)(xs), jax.vmap(plain)(xs))


@pytest.mark.parametrize("is_set", [True, False])
def test_explicit_axes(pod, draw, is_set):
    mesh = mesh_of(pod, sharding.AxisType.Explicit)
    x = jax.device_put(draw(16, 8), NamedSharding(mesh, P("data", "model")))

    def plain(x):
        return sharding.reshard(jnp.sin(x), NamedSharding(mesh, P("model", "data")))

    f = shardc.jit(plain)
    with jax.set_mesh(mesh) if is_set else contextlib.nullcontext():
        assert is_cut(f, x)
        same(f(x), plain(x))
        assert f(x).sharding == plain(x).sharding
        if is_set:
            assert jax.jit(lambda x: f(x) * 2)(x).sharding == plain(x).sharding


@pytest.fixture
def explicit(pod):
    """The mesh as jax.make_mesh makes it, which is set."""
    with jax.set_mesh(pod.explicit):
        yield pod.explicit


@pytest.mark.parametrize("is_exchanged", [True, False])
def test_explicit_axes_in_other_functions(explicit, draw, is_exchanged):
    """The function names axes only, and JAX traces around it: nothing tells the devices but what is set."""
    x, xs = (sharding.reshard(draw(*n, 16, 8), P(*(None,) * len(n), "data", "model")) for n in ((), (3,)))
    spec = P("model", "data") if is_exchanged else P("data", "model")

    def plain(x):
        return sharding.reshard(jnp.sin(x) * 2, spec)

    def uses(f):
        def turn(carry, _):
            return sharding.reshard(f(carry), P("data", "model")), None

        return (
            jax.jit(lambda x: f(x) * 2)(x),
            jax.vmap(f)(xs),
            jax.grad(lambda x: (f(x) ** 2).sum())(x),
            lax.scan(turn, x, None, 2)[0],
        )

    f = shardc.jit(plain)
    assert is_cut(f, x) == is_exchanged
    mine, theirs = uses(f), uses(plain)
    same(mine, theirs)
    assert [one.sharding for one in mine] == [one.sharding for one in theirs]


def test_specs_of_explicit_axes(explicit, draw):
    """Options say how arrays lie that come from elsewhere; their types say nothing of it."""
    x, w = draw(16, 8), draw(8, 32)
    specs = P("data"), P(None, "model")
    mine, theirs = (
        jit(lambda x, w: jnp.tanh(x @ w), in_shardings=specs)(x, w) for jit in (shardc.jit, jax.jit)
    )
    same(mine, theirs)
    assert mine.sharding == theirs.sharding


def test_axes_of_which_some_are_explicit(pod, draw):
    """Where they are, JAX says of scalars in sorts and reductions that they are whole over those."""
    types = sharding.AxisType.Explicit, sharding.AxisType.Auto
    mesh = Mesh(pod.mesh.devices, pod.mesh.axis_names, axis_types=types)
    x = jax.device_put(draw(16, 8), NamedSharding(mesh, P("data", "model")))

    def plain(x):
        return jnp.sort(x, 1), jnp.argmax(x, 1), lax.top_k(x, 2)[0], jnp.sin(x), jnp.reshape(x, (16, 2, 4))

    with jax.set_mesh(mesh):
        mine, theirs = shardc.jit(plain)(x), jax.jit(plain)(x)
        same(mine, theirs)
        assert mine[3].sharding == x.sharding


def test_a_result_over_parts_of_axes(auto, draw):
    """JAX has no such array on the mesh that is set: it is gathered, and a warning says so."""
    x = jax.device_put(draw(16, 8), NamedSharding(auto, P("model", "data")))

    def plain(x):
        return {"key": jax.random.split(jax.random.key(0), 2), "x": x + 1, "y": jnp.reshape(x, (2, 8, 8))}

    f = shardc.jit(plain)
    with jax.set_mesh(auto):
        assert is_cut(f, x)
        with pytest.warns(ShardcWarning, match=r"result 2, float32\[2,8,8\], .* 192 bytes per device"):
            found = f(x)
        same(found, plain(x))
        same(found["y"] * 2, plain(x)["y"] * 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ShardcWarning)
        assert f(x)["y"].sharding.mesh.axis_names == ("data", "model_0", "model_1")
        np.testing.assert_array_equal(f(x)["y"], plain(x)["y"])


def test_arrays_on_another_mesh_than_the_one_that_is_set(pod, draw):
    mesh = mesh_of(pod, sharding.AxisType.Auto)
    other = Mesh(mesh.devices.reshape(8), ("all",), axis_types=(sharding.AxisType.Auto,))
    x = jax.device_put(draw(16, 8), NamedSharding(mesh, P("data", "model")))
    f = shardc.jit(lambda x: jnp.tanh(x @ x.T))
    with jax.set_mesh(other):
        found = f(x)
    same(found, jnp.tanh(x @ x.T))
    assert found.sharding.mesh == mesh
