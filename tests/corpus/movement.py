"""Shapes: reshape, transpose, slices, padding, concatenation, rolling, tiling."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from corpus.case import case


def neighbours(x: jax.Array) -> jax.Array:
    """A stencil on what a tensor and its border are."""
    return x[2:, 1:-1] - 2.0 * x[:-2, 1:-1] + jnp.sin(x[1:-1, 2:]) * x[1:-1, :-2] - x[1:-1, 1:-1]


CASES = {
    "transpose": case(lambda x: [x.T, x + x.T], "f32[16@x, 16@y]"),
    "permute": case(lambda x: jnp.transpose(x, (2, 0, 1)) * 2, "f32[4@x, 8@y, 6]"),
    "reshape_split": case(lambda x: x.reshape(8, 4, 8), "f32[32@x+y, 8]"),
    "reshape_merge": case(lambda x: x.reshape(32, 8), "f32[8@x, 4@y, 8]"),
    "reshape_odd": case(lambda x: x.reshape(6, 16).sum(0), "f32[12@x, 8@y]"),
    "ravel": case(lambda x: x.ravel() * 2, "f32[8@x, 16@y]"),
    "squeeze_expand": case(lambda x: [x[:, None, :] + 1, x[None], x[:, :1].squeeze(1)], "f32[8@x, 16@y]"),
    "broadcast": case(
        lambda x, y: x[:, None] * y[None, :] + jnp.broadcast_to(y, (8, 16)), "f32[8@x]", "f32[16@y]"
    ),
    "slice_whole_dim": case(lambda x: [x[:, 2:5], x[:, ::2], x[:, -1]], "f32[8@x, 16]"),
    "slice_split_dim": case(lambda x: [x[1:7], x[::2], x[-1], x[4:]], "f32[8@x+y, 16]"),
    "concat": case(lambda x, y: jnp.concatenate([x, y], 0), "f32[8@x, 4]", "f32[16@x, 4]"),
    "concat_other_dim": case(lambda x, y: jnp.concatenate([x, y], 1), "f32[8@x, 4@y]", "f32[8@x, 8]"),
    "stack": case(lambda x, y: jnp.stack([x, y, x + y], 1), "f32[8@x, 4]", "f32[8, 4@y]"),
    "pad": case(
        lambda x: [jnp.pad(x, ((1, 2), (0, 0))), jnp.pad(x, 1, constant_values=-jnp.inf)], "f32[8@x, 16@y]"
    ),
    "pad_negative": case(lambda x: lax.pad(x, 0.0, ((-2, 2, 0), (1, -1, 1))), "f32[8@x, 16@y]"),
    "pad_modes": case(lambda x: [jnp.pad(x, 1, mode="edge"), jnp.pad(x, 1, mode="reflect")], "f32[8@x, 4@y]"),
    "interior": case(
        lambda x: [
            x.at[1:-1, 1:-1].set(x[:-2, 1:-1] + x[2:, 1:-1] * x[1:-1, 2:] - x[1:-1, :-2] / 2.0),
            x.at[:-1].add(2.0 * (x[1:] - x[:-1])),
            x.at[1:].max(jnp.maximum(x[:-1], 0.0)),
        ],
        "f32[16@x, 16@y]",
    ),
    "roll": case(lambda x: [jnp.roll(x, 3, 0), jnp.roll(x, -1, 1)], "f32[8@x, 16@y]"),
    "wrap_stencil": case(lambda x: neighbours(jnp.pad(x, 1, mode="wrap")), "f32[8@x, 16@y]"),
    "edge_stencil": case(lambda x: neighbours(jnp.pad(x, 1, mode="edge")), "f32[8@x, 16@y]"),
    "stencil_derivative": case(
        lambda x: [
            jax.grad(lambda u: jnp.sum(jnp.sin(neighbours(jnp.pad(u, 1)))))(x),
            jax.grad(lambda u: jnp.sum(jnp.sin(u.at[1:-1].add(u[2:] - u[1:-1] * u[:-2]))))(x),
            jax.grad(lambda u: jnp.sum(jnp.sin(jnp.pad(u, ((3, 0), (0, 0)))[:-3] * u)))(x),
        ],
        "f32[8@x, 16@y]",
    ),
    "edge_rows": case(
        lambda x: jnp.diff(jnp.pad(x, ((1, 0), (0, 0)), mode="edge"), axis=0), "f32[8@x, 16@y]"
    ),
    "window": case(
        lambda x, y: [jnp.concatenate([x, y], 1)[:, 3:], jnp.concatenate([x, y, x], 1)[:, 5:25]],
        "f32[8@x, 16@y]",
        "f32[8, 3]",
    ),
    "shifted": case(
        lambda x: [
            jnp.concatenate([jnp.zeros((1, 16)), x[:-1]]),
            jnp.concatenate([x[:, 2:], jnp.ones((8, 2))], 1),
            jnp.concatenate([jnp.zeros((1, 16)), x[1:]]),
            jax.grad(lambda u: jnp.sum(jnp.sin(jnp.concatenate([u[3:], jnp.zeros((3, 16))]) * u)))(x),
        ],
        "f32[8@x, 16@y]",
    ),
    "flip": case(lambda x: [jnp.flip(x, 0), jnp.rot90(x)], "f32[8@x, 16@y]"),
    "tile_repeat": case(
        lambda x: [jnp.tile(x, (2, 2)), jnp.repeat(x, 2, 0), jnp.repeat(x, 3, 1)], "f32[8@x, 4@y]"
    ),
    "split": case(lambda x: jnp.split(x, 4, axis=1), "f32[8@x, 16@y]"),
    "triangle": case(
        lambda x: [jnp.tril(x), jnp.triu(x, 1), jnp.eye(16) + x, jnp.diag(x)], "f32[16@x, 16@y]"
    ),
    "arange": case(lambda x: x + jnp.arange(16.0) + jnp.linspace(0.0, 1.0, 8)[:, None], "f32[8@x, 16@y]"),
    "meshgrid": case(lambda x, y: jnp.meshgrid(x, y), "f32[8@x]", "f32[16@y]"),
    "diff": case(lambda x: [jnp.diff(x, axis=0), jnp.gradient(x, axis=1)], "f32[8@x, 16@y]"),
    "big_constant": case(
        lambda x: x * jnp.asarray([[float(i * j % 7) for j in range(16)] for i in range(8)]), "f32[8@x, 16@y]"
    ),
    "empty": case(lambda x: [x[:0], x + 1], "f32[8@x, 4@y]"),
}
