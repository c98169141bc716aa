"""Each of JAX's collectives, and the device's number, as jax.shard_map prints them."""

from __future__ import annotations

from typing import Any

import pytest

from shardc.diagnostics import ShardcError
from tests.unit.shard_map.conftest import filled

jax = pytest.importorskip("jax")
jnp, lax, P = jax.numpy, jax.lax, jax.sharding.PartitionSpec

BOTH, X, Y = P("x", "y"), P("x"), P("y")
RING = [(i, (i + 1) % 8) for i in range(8)]


def mapped(function: Any, out_specs: Any = BOTH, in_specs: Any = BOTH, **options: Any) -> Any:
    auto = (jax.sharding.AxisType.Auto,) * 2
    mesh = jax.make_mesh((2, 4), ("x", "y"), axis_types=auto)
    return jax.shard_map(function, mesh=mesh, in_specs=in_specs, out_specs=out_specs, **options)


PROGRAMS = {
    "psum": (lambda v: lax.psum(v, "x"), P(None, "y")),
    "psum of a tuple": (lambda v: lax.psum((v, v + 1), ("x", "y")), P()),
    "psum of a number": (lambda v: v * lax.psum(1, "x"), BOTH),
    "pmax, minor axis first": (lambda v: lax.pmax(v, ("y", "x")), P()),
    "pmin": (lambda v: lax.pmin(v, "y"), X),
    "pmean": (lambda v: lax.pmean(v, "x"), P(None, "y")),
    "all_gather": (lambda v: lax.all_gather(v, "y"), P("x", None, "y")),
    "all_gather tiled": (lambda v: lax.all_gather(v, ("y", "x"), axis=1, tiled=True), BOTH),
    "all_gather invarying": (lambda v: lax.all_gather(v, "y", axis=1, tiled=True, to="invarying"), X),
    "psum_scatter": (lambda v: lax.psum_scatter(v, "y", scatter_dimension=1), P(("x", "y"))),
    "psum_scatter tiled": (lambda v: lax.psum_scatter(v, ("x", "y"), tiled=True), P(("y", "x"))),
    "all_to_all": (lambda v: lax.all_to_all(v, "y", 1, 0), BOTH),
    "all_to_all tiled": (lambda v: lax.all_to_all(v, "y", 1, 0, tiled=True), BOTH),
    "all_to_all in place": (lambda v: lax.all_to_all(v, "y", 0, 0, tiled=True), BOTH),
    "ppermute": (lambda v: lax.ppermute(v, "y", [(0, 1), (1, 2)]), BOTH),
    "ppermute over both": (lambda v: lax.ppermute(v, ("y", "x"), RING), BOTH),
    "ppermute of nothing": (lambda v: v + lax.ppermute(v, "y", []), BOTH),
    "pshuffle": (lambda v: lax.pshuffle(v, "y", [1, 0, 3, 2]), BOTH),
    "axis_index": (lambda v: v * lax.axis_index("x") + lax.axis_index(("y", "x")), BOTH),
    "axis_index of another type": (
        lambda v: v * lax.axis_index("y").astype(jnp.uint8).astype(jnp.float32),
        BOTH,
    ),
    "pcast": (lambda v: lax.pcast(1.0, ("x", "y"), to="varying") * v, BOTH),
    "psum of integers": (lambda v: lax.psum((v > 0.5).astype(jnp.int32), "y"), X),
    "groups": (lambda v: lax.all_gather(v, "y", axis_index_groups=[[0, 1], [2, 3]], tiled=True), BOTH),
    "groups with a stride": (
        lambda v: lax.all_to_all(v, "y", 0, 1, axis_index_groups=[[0, 2], [1, 3]], tiled=True),
        BOTH,
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("vma", [True, False], ids=("checked", "unchecked"))
def test_a_collective(agree: Any, name: str, vma: bool) -> None:
    function, out_specs = PROGRAMS[name]
    assert agree(mapped(function, out_specs, check_vma=vma), filled(16, 16)) == []


def summed_in_turns(v: Any) -> Any:
    """What is summed begins as the same on all devices; from the second turn on it varies."""

    def turn(c: Any, _: None) -> Any:
        return jnp.sin(v) * lax.psum(c, "y"), None

    start = lax.pcast(jnp.ones(v.shape), ("x", "y"), to="varying")
    return lax.scan(turn, start, length=3)[0]


def branching_turns(v: Any) -> Any:
    """Which branch a turn takes is kept for the derivative, where the branches have collectives too."""

    def turn(c: Any, t: Any) -> Any:
        return lax.cond(t % 2 == 0, lambda c: c * lax.psum(c, "y"), jnp.sin, c), None

    return lax.scan(turn, v, jnp.arange(3))[0]


def branch_in_a_branch(v: Any) -> Any:
    """JAX says that what decides in the branch is the same on all devices, also on those that
    do not come there."""

    def turn(i: Any, c: Any) -> Any:
        return lax.cond(i == 1, jnp.sin, lambda c: c * 2, c)

    return lax.cond(lax.axis_index("y") == 0, lambda v: lax.fori_loop(0, 3, turn, v), jnp.cos, v)


GRADIENTS = {
    "a branch in a branch": (branch_in_a_branch, BOTH),
    "branches in a loop": (branching_turns, BOTH),
    "psum in a loop": (summed_in_turns, BOTH),
    "psum": (lambda v: lax.psum(jnp.sin(v), "y"), X),
    "all_gather": (lambda v: lax.all_gather(v, "y", tiled=True) * v[:1], BOTH),
    "psum_scatter": (lambda v: lax.psum_scatter(v * v, "y", tiled=True), BOTH),
    "ppermute": (lambda v: lax.ppermute(v * v, "y", [(0, 1), (1, 2)]), BOTH),
    "all_to_all": (lambda v: lax.all_to_all(v * v, "y", 1, 0, tiled=True), BOTH),
}


@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.parametrize("vma", [True, False], ids=("checked", "unchecked"))
def test_a_gradient(agree: Any, name: str, vma: bool) -> None:
    function, out_specs = GRADIENTS[name]
    body = mapped(function, out_specs, check_vma=vma)
    agree(jax.grad(lambda v: (body(v) ** 2).sum()), filled(16, 16), targets=("jax",))


def test_axes_of_one_device(agree: Any) -> None:
    auto = (jax.sharding.AxisType.Auto,) * 3
    mesh = jax.make_mesh((2, 4, 1), ("x", "y", "z"), axis_types=auto)

    def body(v: Any) -> Any:
        return lax.psum(v, "z"), lax.all_gather(v, "z", tiled=True) * lax.axis_index(("z", "y"))

    specs = (X, P("x", ("z", "y")))
    agree(jax.shard_map(body, mesh=mesh, in_specs=P("x", "z"), out_specs=specs), filled(8, 16))


def test_per_device_of_an_axis_of_one_device(agree: Any) -> None:
    """JAX prints the collectives in automatic code then."""
    mesh = jax.make_mesh((1, 4), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * 2)

    def body(v: Any) -> Any:
        sent = lax.ppermute(v, "x", [(0, 0)]) * (1 + lax.axis_index("x")) - lax.ppermute(v, "x", [])
        return lax.psum(v, "x") + sent + lax.all_gather(v, "x", tiled=True)

    agree(jax.shard_map(body, mesh=mesh, in_specs=X, out_specs=X, axis_names={"x"}), filled(8, 16))


def test_on_one_device(agree: Any) -> None:
    """JAX prints no mesh then, and the device's number all the same."""
    one = jax.make_mesh((1, 1), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * 2)

    def body(v: Any) -> Any:
        return lax.cond(lax.axis_index(("x", "y")) == 0, jnp.sin, jnp.cos, v) * (1 + lax.axis_index("y"))

    agree(jax.shard_map(body, mesh=one, in_specs=BOTH, out_specs=BOTH), filled(4, 4))


def test_a_barrier_of_what_varies_and_of_what_does_not(agree: Any) -> None:
    """As remat puts one. In JAX's types, each result of one barrier varies as all of its operands do."""

    def body(v: Any) -> Any:
        same, rows, blocks = lax.optimization_barrier((lax.psum(v, ("x", "y")), lax.psum(v, "y"), v))
        return same, rows + same, blocks * same

    specs = (P(), X, BOTH)
    agree(mapped(body, specs, check_vma=False), filled(8, 16))
    agree(lambda v: jax.checkpoint(mapped(body, specs, check_vma=False))(v), filled(8, 16))


def test_a_loop_beside_an_axis_of_one_device(agree: Any) -> None:
    """What a loop carries does not come to vary over an axis of size 1 that an argument names."""
    mesh = jax.make_mesh((1, 4), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * 2)

    def body(v: Any) -> Any:
        return lax.scan(lambda c, _: (jnp.sin(c) + lax.psum(c, "y"), c.sum()), v, None, length=3)[1][None]

    split = jax.sharding.NamedSharding(mesh, P("x"))
    function = jax.shard_map(body, mesh=mesh, in_specs=P(None, "y"), out_specs=Y, axis_names={"y"})
    agree(function, filled(8, 16), in_shardings=(split,))


def test_groups_that_lie_along_no_axis(agree: Any) -> None:
    groups = [[0, 3], [1, 2]]
    function = mapped(lambda v: lax.all_gather(v, "y", axis_index_groups=groups, tiled=True))
    with pytest.raises(
        ShardcError, match=r"the groups of all_gather do not lie along axes of mesh mesh\[x=2, y=4\]"
    ):
        agree(function, filled(8, 16))


def test_a_library_call(agree: Any) -> None:
    """LAPACK's calls say how arrays lie in memory; blocks are as they are."""
    body = jax.shard_map(
        lambda v: jnp.linalg.cholesky(v @ v.swapaxes(-1, -2) + 3 * jnp.eye(4)),
        mesh=jax.make_mesh((2, 4), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * 2),
        in_specs=P("x"),
        out_specs=P("x"),
    )
    assert agree(body, filled(4, 4, 4)) == []


def test_the_gradient_of_a_sum_is_a_sum(agree: Any) -> None:
    """Without check_vma the transpose of a psum is one of what is the same on all devices."""
    total = mapped(lambda v: lax.psum(v * (1 + lax.axis_index("x")), "x"), P(None, "y"), check_vma=False)
    assert agree(jax.grad(lambda v: (total(v) ** 2).sum()), filled(8, 16)) == []
