"""shard_map programs as JAX prints them, with its replica groups, against JAX on 8 CPU devices."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

jnp, lax, P = jax.numpy, jax.lax, jax.sharding.PartitionSpec

ARRAY = np.arange(128, dtype=np.float32).reshape(8, 16)


@pytest.fixture
def mesh():
    if len(jax.devices()) < 8:
        pytest.skip("needs 8 devices")
    return jax.sharding.Mesh(np.array(jax.devices()[:8]).reshape(2, 4), ("x", "y"))


def test_collectives(check, mesh):
    def body(a):
        return (
            lax.psum(a * lax.axis_index("x"), "x"),
            lax.all_gather(a, "y", tiled=True, axis=1),
            lax.all_gather(a, "x"),
            lax.ppermute(a, "y", [(0, 1), (2, 0)]),
            lax.psum_scatter(a, "x", tiled=True),
            lax.all_to_all(a, "y", 0, 1, tiled=True),
            lax.pmax(a, ("x", "y")),
            lax.pmean(a, "y"),
        )

    out = P("x", "y")
    specs = (P(None, "y"), P("x", None), P(None, "x", "y"), out, out, out, P(), P("x", None))
    check(jax.shard_map(body, mesh=mesh, in_specs=out, out_specs=specs, check_vma=False), ARRAY)


def test_ring_in_a_loop(check, mesh):
    def body(a):
        def step(_, carry):
            total, block = carry
            return total + block, lax.ppermute(block, "y", [(i, (i + 1) % 4) for i in range(4)])

        return lax.fori_loop(0, 4, step, (jnp.zeros_like(a), a))[0]

    spec = P("x", "y")
    check(jax.shard_map(body, mesh=mesh, in_specs=spec, out_specs=spec), ARRAY)


def test_manual_over_one_axis(check, mesh):
    mapped = jax.shard_map(
        lambda a: lax.psum(a, "x"), mesh=mesh, in_specs=P("x"), out_specs=P(), axis_names={"x"}
    )
    check(jax.jit(mapped), ARRAY)


def test_a_conditional_on_the_device(check, mesh):
    def body(a):
        return lax.cond(lax.axis_index("y") % 2 == 0, jnp.negative, lambda a: a + 1, a)

    spec = P("x", "y")
    check(jax.shard_map(body, mesh=mesh, in_specs=spec, out_specs=spec), ARRAY)
