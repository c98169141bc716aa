"""A small transformer in JAX, and transformer.onnx, what jax2onnx makes of it.

`python -m tests.exported.transformer` writes the file again (`pip install jax2onnx`, 0.17.1).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

FILE = Path(__file__).with_name("transformer.onnx")

LENGTH, HEADS, DEPTH, HIDDEN, LAYERS = 8, 4, 8, 16, 2
WIDTH = HEADS * DEPTH

SHAPES: dict[str, tuple[int, ...]] = {
    "scale1": (WIDTH,),
    "shift1": (WIDTH,),
    "wq": (WIDTH, HEADS, DEPTH),
    "wk": (WIDTH, HEADS, DEPTH),
    "wv": (WIDTH, HEADS, DEPTH),
    "wo": (HEADS, DEPTH, WIDTH),
    "scale2": (WIDTH,),
    "shift2": (WIDTH,),
    "w1": (WIDTH, HIDDEN),
    "w2": (HIDDEN, WIDTH),
}

Weights = dict[str, Any]


def weights() -> list[Weights]:
    """The weights of each layer, the same every time."""
    rng = np.random.default_rng(17)
    return [
        {name: (rng.standard_normal(s) / np.sqrt(s[0])).astype(np.float32) for name, s in SHAPES.items()}
        for _ in range(LAYERS)
    ]


def norm(x, scale, shift):
    centred = x - jnp.mean(x, -1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.var(x, -1, keepdims=True) + 1e-5) * scale + shift


def block(x, w: Weights):
    """Pre-norm causal attention, one head after the other in a dimension of its own, and GELU."""
    h = norm(x, w["scale1"], w["shift1"])
    q, k, v = (jnp.einsum("blw,whd->blhd", h, w[name]) for name in ("wq", "wk", "wv"))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.float32(np.sqrt(DEPTH))
    scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -1e9)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), v)
    x = x + jnp.einsum("bqhd,hdw->bqw", mixed, w["wo"])
    h = norm(x, w["scale2"], w["shift2"])
    return x + jax.nn.gelu(h @ w["w1"]) @ w["w2"]


def transformer(x, layers: list[Weights]):
    """All layers: x[batch, LENGTH, WIDTH]."""
    for layer in layers:
        x = block(x, layer)
    return x


def export(path: Path) -> None:
    """Write the model with a symbolic batch, its weights stored."""
    import onnx
    from jax2onnx import to_onnx  # pyright: ignore[reportMissingImports]

    layers = weights()
    onnx.save(to_onnx(lambda x: transformer(x, layers), [("B", LENGTH, WIDTH)]), path)


if __name__ == "__main__":
    export(FILE)
