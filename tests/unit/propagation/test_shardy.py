"""Agreement with jaxlib's Shardy, value for value."""

from __future__ import annotations

from random import Random
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pinned import with_pinned_jax

LAYERS = ("basic", "aggressive", "op", "user")
FEATURES = {
    "plain": (),
    "priorities": ("priorities", "barrier"),
    "control": ("while", "case", "opt", "constraint"),
    "groups": ("group", "constraint", "while"),
    "calls": ("calls", "constraint", "opt"),
    "manual": ("manual", "constraint", "while"),
    "meshes": ("meshes", "unreduced", "constraint"),
    "meshes and calls": ("meshes", "calls", "constraint", "opt"),
    "all": ("while", "case", "opt", "constraint", "group", "calls", "barrier", "unreduced"),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("first", range(0, 20, 5))
@pytest.mark.parametrize("features", FEATURES)
def test_random_programs(features: str, first: int, shardy: ModuleType, programs: ModuleType) -> None:
    for seed in range(first, first + 5):
        text = programs.Program(Random(seed), frozenset(FEATURES[features])).text(2 + seed % 8)
        for layer in LAYERS:
            theirs, ours = shardy.compare(text, layer)
            assert ours == theirs, text
        theirs, ours = shardy.compare_pass(text)
        assert ours == theirs, text


@with_pinned_jax
@pytest.mark.slow
@settings(max_examples=20_000, deadline=None)
@given(random=st.randoms(use_true_random=False), features=st.sampled_from(sorted(FEATURES)))
def test_many_random_programs(
    random: Random, features: str, shardy: ModuleType, programs: ModuleType
) -> None:
    text = programs.Program(random, frozenset(FEATURES[features])).text(random.randint(2, 12))
    theirs, ours = shardy.compare(text)
    assert ours == theirs, text


def _jax_programs() -> dict[str, Any]:
    import jax
    import jax.numpy as jnp

    def mlp(x, w1, w2):  # type: ignore[no-untyped-def]
        return jnp.maximum(x @ w1, 0) @ w2

    def step(x, w1, w2):  # type: ignore[no-untyped-def]
        loss = lambda w: (mlp(x, *w) ** 2).mean()  # noqa: E731
        return jax.tree.map(lambda w, g: w - 0.1 * g, (w1, w2), jax.grad(loss)((w1, w2)))

    def attention(x, w, o):  # type: ignore[no-untyped-def]
        q, k, v = jnp.split((x @ w).reshape(4, 8, 3, 4, 4), 3, axis=2)
        scores = jnp.einsum("bqxhd,bkxhd->bhqk", q, k)
        scores = jnp.where(jnp.tril(jnp.ones((8, 8), bool)), scores, -1e9)
        return jnp.einsum("bhqk,bkxhd->bqhd", jax.nn.softmax(scores), v).reshape(4, 8, 16) @ o

    def scan(x, w):  # type: ignore[no-untyped-def]
        return jax.lax.scan(lambda h, w: (jnp.tanh(h @ w), h.sum()), x, w)

    def conv(x, k):  # type: ignore[no-untyped-def]
        return jax.lax.conv(x, k, (1, 1), "SAME").sum((2, 3))

    def embed(table, ids):  # type: ignore[no-untyped-def]
        return jnp.sort(table[ids], axis=-1).argmax(-1)

    f, i = jnp.float32, jnp.int32
    return {
        "mlp": (mlp, [((8, 16), f, ("a", None)), ((16, 32), f, (None, "b")), ((32, 16), f, None)]),
        "step": (step, [((8, 16), f, ("a", None)), ((16, 32), f, (None, "b")), ((32, 16), f, ("b", None))]),
        "attention": (
            attention,
            [((4, 8, 16), f, ("a", None, None)), ((16, 48), f, (None, "b")), ((16, 16), f, None)],
        ),
        "scan": (scan, [((8, 16), f, ("a", None)), ((3, 16, 16), f, (None, None, "b"))]),
        "conv": (conv, [((4, 3, 8, 8), f, ("a",)), ((8, 3, 3, 3), f, ("b",))]),
        "embed": (embed, [((32, 16), f, (None, "b")), ((8,), i, ("a",))]),
    }


@pytest.mark.parametrize("name", ["mlp", "step", "attention", "scan", "conv", "embed"])
def test_jax_programs(name: str, shardy: ModuleType) -> None:
    import jax
    from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec

    function, args = _jax_programs()[name]
    mesh = AbstractMesh((2, 4), ("a", "b"), axis_types=(AxisType.Auto,) * 2)
    shardings = [None if spec is None else NamedSharding(mesh, PartitionSpec(*spec)) for _, _, spec in args]
    avals = [
        jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)
        for (shape, dtype, _), sharding in zip(args, shardings, strict=True)
    ]
    text = jax.jit(function).trace(*avals).lower(lowering_platforms=("cpu",)).as_text()
    assert "sdy.sharding" in text
    for layer in LAYERS:
        theirs, ours = shardy.compare(text, layer)
        assert ours == theirs
    theirs, ours = shardy.compare_pass(text)
    assert ours == theirs
