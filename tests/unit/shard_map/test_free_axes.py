"""shard_map over some axes of the mesh: the compiler splits its blocks over the others."""

from __future__ import annotations

from typing import Any

import pytest

import shardc
from tests.unit.shard_map.conftest import filled

jax = pytest.importorskip("jax")
jnp, lax, P = jax.numpy, jax.lax, jax.sharding.PartitionSpec
SPLIT = P("x")


def mesh(*sizes: int) -> Any:
    auto = (jax.sharding.AxisType.Auto,) * len(sizes)
    return jax.make_mesh(sizes, ("x", "y", "z")[: len(sizes)], axis_types=auto)


def over(*names: str, sizes: tuple[int, ...] = (2, 4)) -> Any:
    """A decorator: shard_map over these axes, with in_specs and out_specs."""

    def decorate(function: Any, in_specs: Any = SPLIT, out_specs: Any = SPLIT) -> Any:
        return jax.shard_map(
            function, mesh=mesh(*sizes), in_specs=in_specs, out_specs=out_specs, axis_names=set(names)
        )

    return decorate


BODIES = {
    "elementwise": lambda v: jnp.sin(v) * 2,
    "psum": lambda v: v + lax.psum(v, "x"),
    "all_gather": lambda v: lax.all_gather(v, "x", tiled=True),
    "psum_scatter": lambda v: lax.psum_scatter(v, "x", tiled=True),
    "all_to_all": lambda v: lax.all_to_all(v, "x", 0, 0, tiled=True),
    "ppermute": lambda v: lax.ppermute(v, "x", [(0, 1)]),
    "axis_index": lambda v: v * lax.axis_index("x"),
    "softmax": lambda v: jax.nn.softmax(v, axis=1),
    "reductions": lambda v: jnp.sum(v, 1) + v.max(1) + v[:, 0],
    "argmax": lambda v: jnp.argmax(v, 1),
    "cumsum": lambda v: jnp.cumsum(v, 1),
    "iota": lambda v: v * jnp.arange(16.0) + jnp.ones((4, 16)),
    "branch": lambda v: lax.cond(lax.axis_index("x") == 0, lambda u: u + 1, lambda u: u * 2, v),
    "loop": lambda v: lax.fori_loop(0, 3, lambda i, c: jnp.tanh(c) + lax.psum(c, "x"), v),
    "constraint": lambda v: lax.with_sharding_constraint(v * 2, P(None, "y")),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_body(agree: Any, name: str) -> None:
    """The operand is split over y outside; only all_to_all of rows and the like could need it whole."""
    split = jax.sharding.NamedSharding(mesh(2, 4), P(None, "y"))
    assert agree(over("x")(BODIES[name]), filled(8, 16), in_shardings=(split,)) == []


def test_nothing_is_gathered(agree: Any) -> None:
    """A layer whose weights y splits: one sum over y, none of it for the shard_map."""
    split = jax.sharding.NamedSharding(mesh(2, 4), P(None, "y"))
    layer = over("x")(lambda v, w: jnp.tanh(v @ w) @ w.T, (P("x"), P()))
    arguments = filled(8, 16), filled(16, 32)
    assert agree(layer, *arguments, in_shardings=(None, split)) == []
    source = shardc.from_jax(layer, *arguments, in_shardings=(None, split)).source
    assert source.count("lax.psum(") == 1 and "all_gather" not in source


def test_a_gradient(agree: Any) -> None:
    """Where tanh is not yet 1, beside which its derivative would be rounding alone."""
    split = jax.sharding.NamedSharding(mesh(2, 4), P(None, "y"))
    layer = over("x")(lambda v, w: jnp.tanh(v @ w / 64), (P("x"), P()))
    loss = lambda v, w: (layer(v, w) ** 2).sum()  # noqa: E731
    agree(jax.grad(loss, argnums=(0, 1)), filled(8, 16), filled(16, 32), in_shardings=(None, split))


def test_two_of_three_axes(agree: Any) -> None:
    split = jax.sharding.NamedSharding(mesh(2, 2, 2), P(("x", "y"), "z"))
    body = over("x", "z", sizes=(2, 2, 2))(lambda v: lax.psum(v @ v.T, "z"), P("x", "z"), P("x"))
    agree(body, filled(16, 16), in_shardings=split)


def test_sizes_that_the_other_axes_do_not_divide(agree: Any) -> None:
    body = over("x")(lambda v: jnp.sin(v).sum(1))
    agree(lambda v, w: body(v) + w, filled(10, 6), filled(10))


def test_in_automatic_code(agree: Any) -> None:
    both = jax.sharding.NamedSharding(mesh(2, 4), P("x", "y"))
    ring = over("x")(lambda u: lax.psum_scatter(u @ u.T, "x", tiled=True))
    agree(
        lambda v, w: jnp.tanh(ring(jnp.cos(v) @ w)).sum(0),
        filled(8, 16),
        filled(16, 32),
        in_shardings=(both, None),
    )


def test_in_a_loop(agree: Any) -> None:
    turn = over("x")(lambda u: lax.ppermute(jnp.sin(u), "x", [(0, 1), (1, 0)]))
    split = jax.sharding.NamedSharding(mesh(2, 4), P(None, "y"))
    agree(lambda v: lax.fori_loop(0, 3, lambda i, c: turn(c), v), filled(8, 16), in_shardings=split)


def _inner(body: Any, in_specs: Any, out_specs: Any) -> Any:
    return lambda v: jax.shard_map(body, in_specs=in_specs, out_specs=out_specs, axis_names={"y"})(jnp.sin(v))


NESTED = {
    "inner sum": (lambda w: lax.psum(w, "y"), P("y"), P()),
    "over all axes": (lambda w: lax.psum(w, ("x", "y")) + lax.axis_index("x") * w, P("y"), P("y")),
    "other dimension": (lambda w: lax.psum(w, "y"), P(None, "y"), P()),
    "positions": (lambda w: w * lax.axis_index(("y", "x")), P("y"), P("y")),
}


@pytest.mark.parametrize("name", NESTED)
def test_nested(agree: Any, name: str) -> None:
    assert agree(over("x")(_inner(*NESTED[name])), filled(16, 16)) == []


def test_nested_with_an_axis_left_over(agree: Any) -> None:
    outer = over("x", sizes=(2, 2, 2))(_inner(lambda w: lax.psum(w, "y"), P(None, "y"), P()))
    split = jax.sharding.NamedSharding(mesh(2, 2, 2), P("z", "x"))
    agree(lambda v: jnp.cos(outer(v * 2)), filled(16, 16), in_shardings=split)
