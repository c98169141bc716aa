"""A training step of transformer layers as Llama has them, written out one after the other, for the ablation.

Grouped heads, a root mean square before attention and before the gated product; weights are split over both
mesh axes, rows of the batch over the first. Lowered for a mesh of 4 x 2 devices, of which none is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BATCH, LENGTH, WIDTH, HEADS = 16, 16, 64, 4

INTO, OUT = ("d", "m"), ("m", "d")
"""How the rows and columns of weights are split that are multiplied into the layer, and out of it."""

WEIGHTS = {
    **dict.fromkeys(("q",), ((WIDTH, WIDTH), INTO)),
    **dict.fromkeys(("k", "v"), ((WIDTH, WIDTH // 2), INTO)),
    **dict.fromkeys(("gate", "up"), ((WIDTH, 2 * WIDTH), INTO)),
    "o": ((WIDTH, WIDTH), OUT),
    "down": ((2 * WIDTH, WIDTH), OUT),
    **dict.fromkeys(("before", "between"), ((WIDTH,), ())),
}
"""Shape and split of a layer's weights."""


def text(layers: int) -> str:
    """The step of so many layers as JAX lowers it."""
    import jax
    from jax.sharding import AbstractMesh, AxisType, NamedSharding
    from jax.sharding import PartitionSpec as P

    mesh = AbstractMesh((4, 2), ("d", "m"), axis_types=(AxisType.Auto,) * 2)

    def given(shape: tuple[int, ...], split: tuple[str, ...]) -> Any:
        return jax.ShapeDtypeStruct(shape, "float32", sharding=NamedSharding(mesh, P(*split)))

    weights = [{name: given(*each) for name, each in WEIGHTS.items()} for _ in range(layers)]
    data = given((BATCH, LENGTH, WIDTH), ("d",))
    return jax.jit(_step).trace(weights, data, data).lower(lowering_platforms=("cpu",)).as_text()


def _step(weights: Any, x: Any, y: Any) -> Any:
    import jax

    def loss(weights: Any) -> Any:
        made = x
        for layer in weights:
            made = _layer(layer, made)
        return ((made - y) ** 2).mean()

    value, gradients = jax.value_and_grad(loss)(weights)
    return jax.tree.map(lambda weight, gradient: weight - 0.1 * gradient, weights, gradients), value


def _layer(weights: Mapping[str, Any], x: Any) -> Any:
    import jax
    import jax.numpy as jnp

    def normal(x: Any, scale: Any) -> Any:
        return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * scale

    h, grouped = normal(x, weights["before"]), (BATCH, LENGTH, 2, WIDTH // HEADS)
    q = (h @ weights["q"]).reshape(BATCH, LENGTH, 2, 2, WIDTH // HEADS)
    k, v = ((h @ weights[name]).reshape(grouped) for name in ("k", "v"))
    scores = jnp.einsum("btghd,bsgd->bghts", q, k) / (WIDTH // HEADS) ** 0.5
    seen = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
    taken = jnp.einsum("bghts,bsgd->btghd", jax.nn.softmax(jnp.where(seen, scores, -1e9)), v)
    x = x + taken.reshape(BATCH, LENGTH, WIDTH) @ weights["o"]
    h = normal(x, weights["between"])
    return x + (jax.nn.silu(h @ weights["gate"]) * (h @ weights["up"])) @ weights["down"]
