"""Loops, branches, scans, calls, vmap, random bits."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from corpus.case import case


@jax.jit
def _layer(x, w):
    return jnp.tanh(x @ w)


def _scan_mlp(x, ws):
    return lax.scan(lambda h, w: (jnp.tanh(h @ w), h.sum()), x, ws)


def _rnn(x, w, u):
    def cell(h, t):
        h = jnp.tanh(t @ w + h @ u)
        return h, h

    return lax.scan(cell, jnp.zeros((8, 16)), x)[1]


def _newton(x):
    return lax.while_loop(
        lambda c: jnp.max(jnp.abs(c * c - 2)) > 1e-3, lambda c: 0.5 * (c + 2 / c), jnp.abs(x) + 1
    )


def _key(k):
    return jax.random.wrap_key_data(k)


CASES = {
    "calls": case(lambda x, w: _layer(_layer(x, w), w), "f32[8@x, 16]", "f32[16, 16@y]"),
    "fori": case(lambda x: lax.fori_loop(0, 5, lambda i, a: a * 0.5 + i, x), "f32[8@x, 16@y]"),
    "fori_reads": case(lambda x: lax.fori_loop(0, 8, lambda i, a: a + x[i], x[0]), "f32[8@x, 16@y]"),
    "fori_writes": case(
        lambda x: lax.fori_loop(0, 8, lambda i, a: a.at[i].set(a[i] * i), x), "f32[8@x, 16@y]"
    ),
    "while_data": case(_newton, "f32[8@x, 16@y]"),
    "while_sum": case(
        lambda x: lax.while_loop(lambda c: c[1].sum() < 1e3, lambda c: (c[0] + 1, c[1] * 2), (0, jnp.abs(x))),
        "f32[8@x, 16@y]",
    ),
    "cond": case(
        lambda p, x: lax.cond(p > 3, lambda v: v @ v.T, lambda v: v @ v.T * 0 - 1, x),
        "i32[]",
        "f32[8@x, 16@y]",
    ),
    "cond_data": case(lambda x: lax.cond(x.sum() > 0, jnp.sin, lambda v: -v, x), "f32[8@x, 16@y]"),
    "switch": case(
        lambda i, x: lax.switch(i, [lambda v: v, lambda v: v * 2, lambda v: v.sum() + v], x),
        "i32<3[]",
        "f32[8@x, 16@y]",
    ),
    "scan": case(lambda x: lax.scan(lambda c, a: (c + a, c * a), x[0], x), "f32[8, 16@y]"),
    "scan_split": case(lambda x: lax.scan(lambda c, a: (c + a, c * a), x[0], x), "f32[8@x, 16@y]"),
    "scan_mlp": case(_scan_mlp, "f32[8@x, 16]", "f32[4, 16, 16@y]"),
    "scan_gradient": case(
        jax.grad(lambda ws, x: jnp.mean(_scan_mlp(x, ws)[0] ** 2)), "f32[4, 16, 16@y]", "f32[8@x, 16]"
    ),
    "scan_reverse": case(
        lambda x: lax.scan(lambda c, a: (0.5 * c + a, c), x[0], x, reverse=True), "f32[8, 16@y]"
    ),
    "rnn": case(
        _rnn,
        "f32[5, 8@x, 4]",
        "f32[4, 16@y]",
        "f32[16, 16@y]",
    ),
    "map": case(lambda x: lax.map(lambda r: jnp.sort(r), x), "f32[8@x, 16@y]"),
    "nested_loops": case(
        lambda x: lax.fori_loop(
            0, 3, lambda i, a: lax.fori_loop(0, i + 1, lambda j, b: b + jnp.cos(b) * j, a), x
        ),
        "f32[8@x, 16@y]",
    ),
    "vmap_grad": case(
        jax.vmap(jax.grad(lambda w, x: jnp.tanh(x @ w).sum()), (None, 0)), "f32[16, 4@y]", "f32[8@x, 16]"
    ),
    "hessian": case(jax.hessian(lambda x: jnp.sum(jnp.sin(x) * x**2)), "f32[16@y]"),
    "jvp": case(
        lambda x, t: jax.jvp(lambda v: jnp.tanh(v @ v.T), (x,), (t,)), "f32[8@x, 16@y]", "f32[8@x, 16@y]"
    ),
    "checkpoint": case(
        jax.grad(lambda x: jax.checkpoint(lambda y: jnp.sin(jnp.sin(y) @ jnp.ones((16, 16))))(x).sum()),
        "f32[8@x, 16@y]",
    ),
    "random_normal": case(lambda k, x: x + jax.random.normal(_key(k), (8, 16)), "u32[2]", "f32[8@x, 16@y]"),
    "random_kinds": case(
        lambda k: [
            jax.random.uniform(_key(k), (8, 4)),
            jax.random.randint(_key(k), (8,), 0, 9),
            jax.random.bernoulli(_key(k), 0.3, (8, 4)),
            jax.random.categorical(_key(k), jnp.zeros((4, 8))),
            jax.random.permutation(_key(k), 8),
        ],
        "u32[2]",
    ),
    "dropout": case(
        lambda k, x, w: jnp.where(jax.random.bernoulli(_key(k), 0.5, x.shape), x, 0) @ w,
        "u32[2]",
        "f32[8@x, 16]",
        "f32[16, 8@y]",
    ),
    "random_bits": case(
        lambda k, x: lax.rng_bit_generator(k, (8, 16), dtype=jnp.uint32)[1] + x, "u32[4]", "u32[8@x, 16@y]"
    ),
}
