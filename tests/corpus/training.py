"""Whole training steps and models."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from corpus.case import case


def _mlp(x, w1, b1, w2):
    return jax.nn.relu(x @ w1 + b1) @ w2


def _loss(w, x, y):
    return jnp.mean((_mlp(x, *w) - y) ** 2)


def _sgd(w1, b1, w2, x, y):
    loss, grads = jax.value_and_grad(_loss)((w1, b1, w2), x, y)
    return loss, jax.tree.map(lambda a, g: a - 0.1 * g, (w1, b1, w2), grads)


def _adam(w, m, v, x, y):
    g = jax.grad(lambda w: jnp.mean((jnp.tanh(x @ w) - y) ** 2))(w)
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    return w - 0.1 * m / (jnp.sqrt(v) + 1e-8), m, v


def _attention(q, k, v):
    return jax.nn.dot_product_attention(q, k, v, is_causal=True)


def _cross_entropy(x, w, labels):
    def loss(x, w):
        logits = x @ w
        right = jnp.take_along_axis(logits, labels[:, None], 1)[:, 0]
        return jnp.mean(jax.nn.logsumexp(logits, 1) - right)

    return jax.value_and_grad(loss, (0, 1))(x, w)


def _moe(x, wg, w1, w2):
    gate = jax.nn.softmax(x @ wg)
    best, chosen = lax.top_k(gate, 2)
    mask = jax.nn.one_hot(chosen, 4).sum(1) * gate
    hidden = jax.nn.relu(jnp.einsum("td,edf->tef", x, w1))
    return jnp.einsum("tef,efd,te->td", hidden, w2, mask) + best.sum()


def _decode(x, cache, wk, wq, i):
    cache = lax.dynamic_update_slice_in_dim(cache, (x @ wk)[:, None], i, 1)
    scores = jnp.einsum("bd,btd->bt", x @ wq, cache)
    scores = jnp.where(jnp.arange(cache.shape[1]) <= i, scores, -jnp.inf)
    return jnp.einsum("bt,btd->bd", jax.nn.softmax(scores), cache), cache


CASES = {
    "sgd_data_parallel": case(
        _sgd, "f32[16, 32]", "f32[32]", "f32[32, 4]", "f32[16@x+y, 16]", "f32[16@x+y, 4]"
    ),
    "sgd_tensor_parallel": case(
        _sgd, "f32[16, 32@y]", "f32[32@y]", "f32[32@y, 4]", "f32[16@x, 16]", "f32[16@x, 4]"
    ),
    "sgd_fully_sharded": case(
        _sgd, "f32[16@x+y, 32]", "f32[32@x+y]", "f32[32@x+y, 4]", "f32[16@x+y, 16]", "f32[16@x+y, 4]"
    ),
    "adam_zero": case(
        _adam, "f32[16, 8]", "f32[16@x+y, 8]", "f32[16@x+y, 8]", "f32[16@x+y, 16]", "f32[16@x+y, 8]"
    ),
    "attention_heads": case(_attention, *["f32[2@x, 8, 4@y, 8]"] * 3),
    "attention_sequence": case(_attention, *["f32[2, 8@y, 4, 8]"] * 3),
    "attention_gradient": case(
        jax.grad(lambda q, k, v: _attention(q, k, v).sum()), *["f32[2@x, 8, 4@y, 8]"] * 3
    ),
    "cross_entropy": case(_cross_entropy, "f32[8@x, 16]", "f32[16, 32@y]", "i32<32[8@x]"),
    "mixture_of_experts": case(_moe, "f32[8@x, 16]", "f32[16, 4]", "f32[4@y, 16, 8]", "f32[4@y, 8, 16]"),
    "decode": case(_decode, "f32[4@x, 8]", "f32[4@x, 16, 8@y]", "f32[8, 8@y]", "f32[8, 8@y]", "i32<16[]"),
    "decode_sequence": case(
        _decode, "f32[4@x, 8]", "f32[4@x, 16@y, 8]", "f32[8, 8]", "f32[8, 8]", "i32<16[]"
    ),
    "batch_norm": case(
        jax.grad(lambda g, x: jnp.sum(jnp.tanh((x - x.mean(0)) * lax.rsqrt(x.var(0) + 1e-5) * g))),
        "f32[16@y]",
        "f32[32@x, 16@y]",
    ),
    "pool_gradient": case(
        jax.grad(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME").sum()),
        "f32[4@x, 8, 8, 4@y]",
    ),
    "pool_gradient_halo": case(
        jax.grad(
            lambda x: jnp.sin(
                lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3), (1, 2, 2), ((0, 0), (1, 1), (0, 1)))
            ).sum()
        ),
        "f32[4, 16@x, 16@y]",
    ),
    "roll_gradient": case(
        jax.grad(lambda x: jnp.sum(jnp.tanh(jnp.roll(x, 3, 0) * x) + jnp.roll(x, -1, 1) ** 2)),
        "f32[8@x, 16@y]",
    ),
    "sort_gradient": case(jax.grad(lambda x: (jnp.sort(x, 1) * jnp.arange(16.0)).sum()), "f32[8@x, 16@y]"),
}
