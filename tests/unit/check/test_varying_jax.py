"""Programs that JAX's shard_map prints: what its check_vma accepts is accepted, what is wrong is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from shardc.check.varying import check_graph
from shardc.diagnostics import ShardcError, collecting
from shardc.dialects.snapshot import snapshot
from shardc.frontend.mlir import read

jax = pytest.importorskip("jax")
jnp, lax, P = jax.numpy, jax.lax, jax.sharding.PartitionSpec

MESH = jax.sharding.AbstractMesh((4, 2), ("i", "j"))
IJ = P("i", "j")
RING = [(0, 1), (1, 2), (2, 3), (3, 0)]


def check(f: Callable[..., Any], in_spec: Any, out_spec: Any, vma: bool = True) -> list[str]:
    """The warnings about what JAX prints for a shard_map of f over a f32[8, 16]."""
    mapped = jax.shard_map(f, mesh=MESH, in_specs=in_spec, out_specs=out_spec, check_vma=vma)
    traced = jax.jit(mapped).trace(jax.ShapeDtypeStruct((8, 16), "float32"))
    graph = snapshot(read(traced.lower(lowering_platforms=("cpu",)).as_text(), "f.mlir")).graph
    with collecting() as warnings:
        assert check_graph(graph)
    return [w.message for w in warnings]


ACCEPTED = {
    "psum": (lambda a: lax.psum(a, ("i", "j")), IJ, P()),
    "psum over one axis": (lambda a: lax.psum(a, "j"), IJ, P("i")),
    "pmean of pmax": (lambda a: lax.pmean(lax.pmax(a, "j"), "i"), IJ, P()),
    "psum_scatter": (lambda a: lax.psum_scatter(a, "j", scatter_dimension=0, tiled=True), IJ, P(("i", "j"))),
    "all_gather": (lambda a: lax.all_gather(a, "i", tiled=True), IJ, P("i", "j")),
    "all_gather to invarying": (
        lambda a: lax.all_gather(a, "i", tiled=True, to="invarying"),
        IJ,
        P(None, "j"),
    ),
    "all_to_all": (lambda a: lax.all_to_all(a, "i", 1, 0, tiled=True), P("i"), P(None, "i")),
    "ppermute": (lambda a: lax.ppermute(a, "i", RING), IJ, IJ),
    "axis_index i": (lambda a: a * lax.axis_index("i"), P(), P("i")),
    "axis_index j": (lambda a: a * lax.axis_index("j"), P(), P("j")),
    "axis_index of both": (lambda a: a * lax.axis_index(("j", "i")), P("i"), P(("i", "j"))),
    "a loop": (lambda a: lax.fori_loop(0, 3, lambda _, x: lax.psum(x, "j") / 2 + a, a), IJ, IJ),
    "a scan": (lambda a: lax.scan(lambda c, x: (c + lax.psum(x, "j"), c), a[0] * 0, a)[0], IJ, P(("i", "j"))),
    "a branch": (lambda a: lax.cond(lax.psum(a[0, 0], "j") > 0, lambda: a, lambda: -a), IJ, IJ),
    "softmax": (
        lambda a: (
            jnp.exp(a - lax.pmax(a.max(1, keepdims=True), "j"))
            / lax.psum(jnp.exp(a).sum(1, keepdims=True), "j")
        ),
        IJ,
        IJ,
    ),
    "a nested call": (lambda a: jax.jit(jax.nn.relu)(lax.psum(a, "j")), IJ, P("i")),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_jax_accepts(name: str):
    f, in_spec, out_spec = ACCEPTED[name]
    assert check(f, in_spec, out_spec) == []


REFUSED = {
    "no psum": (lambda a: a, IJ, P("i"), "varies over j"),
    "psum over another axis": (lambda a: lax.psum(a, "i"), IJ, P("i"), "varies over j"),
    "ppermute instead": (lambda a: lax.ppermute(a, "j", [(0, 1)]), IJ, P("i"), "varies over j"),
    "axis_index": (lambda a: a + lax.axis_index("j"), P("i"), P("i"), "varies over j"),
    "in one turn of a loop": (
        lambda a: lax.fori_loop(0, 3, lambda k, x: x + a, lax.psum(a, "j")),
        IJ,
        P("i"),
        "varies over j",
    ),
    "a branch that some devices take": (
        lambda a: lax.cond(lax.axis_index("j") > 0, lambda: 2 * a, lambda: a),
        P("i"),
        P("i"),
        "varies over j",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_though_jax_is_told_not_to_check(name: str):
    f, in_spec, out_spec, message = REFUSED[name]
    with pytest.raises(ShardcError, match=message):
        check(f, in_spec, out_spec, vma=False)


def test_a_psum_of_copies():
    (message,) = check(lambda a: lax.psum(a, "j"), P("i"), P("i"), vma=False)
    assert message.startswith(
        "psum over j of a value that is the same over j, so it becomes 2 times as large"
    )
