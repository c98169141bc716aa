"""Elementwise functions, dtypes, and functions of jax.nn."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from corpus.case import case

CASES = {
    "unary": case(
        lambda x: [
            f(x)
            for f in (jnp.exp, jnp.sin, jnp.cos, jnp.tanh, jnp.floor, jnp.ceil, jnp.round, jnp.abs, jnp.sign)
        ],
        "f32[8@x, 16@y]",
    ),
    "unary_positive": case(
        lambda x: [
            f(jnp.abs(x) + 0.5) for f in (jnp.log, jnp.sqrt, lax.rsqrt, jnp.cbrt, jnp.log1p, jnp.expm1)
        ],
        "f32[8@x, 16@y]",
    ),
    "special": case(
        lambda x: (
            [
                f(x)
                for f in (
                    lax.erf,
                    lax.erfc,
                    jnp.arctan,
                    jnp.arcsinh,
                    jnp.sinh,
                    jnp.cosh,
                    jnp.square,
                    jnp.isinf,
                )
            ]
            + [lax.erf_inv(jnp.tanh(x)), lax.lgamma(jnp.abs(x) + 1), lax.digamma(jnp.abs(x) + 1)]
        ),
        "f32[8@x, 16@y]",
    ),
    "binary": case(
        lambda x, y: [
            x + y,
            x - y,
            x * y,
            x / (jnp.abs(y) + 1),
            jnp.maximum(x, y),
            jnp.minimum(x, y),
            jnp.abs(x) ** y,
            jnp.arctan2(x, y),
            jnp.hypot(x, y),
            jnp.logaddexp(x, y),
            x < y,
        ],
        "f32[8@x, 16]",
        "f32[8, 16@y]",
    ),
    "integers": case(
        lambda x, y: [
            x + y,
            x * y,
            x // (y + 1),
            x % (y + 1),
            x & y,
            x | y,
            x ^ y,
            ~x,
            x << y,
            x >> 1,
            lax.population_count(x),
            lax.clz(x),
            jnp.gcd(x, y),
        ],
        "i32<100[16@x]",
        "i32<5[16@y]",
    ),
    "unsigned": case(
        lambda x: [x >> 3, x * jnp.uint32(2654435761), x < jnp.uint32(5), jnp.sum(x)], "u32<100[16@x+y]"
    ),
    "small_integers": case(
        lambda x, y: [x + y, x.astype(jnp.int32) @ y.T.astype(jnp.int32)], "i8[8@x, 4]", "i8[8, 4@y]"
    ),
    "bools": case(
        lambda x, y: [x & y, x | ~y, x ^ y, jnp.any(x, 0), jnp.all(y, 1)], "bool[8@x, 4@y]", "bool[8@x, 4]"
    ),
    "complex": case(
        lambda x: [x * x, jnp.real(x), jnp.imag(x), jnp.conj(x), jnp.abs(x), x @ x.T, x.sum()],
        "c64[8@x, 4@y]",
    ),
    "bf16": case(
        lambda x, w: [x @ w, jax.nn.softmax(x), jnp.tanh(x), x.sum(0)],
        "bf16[8@x, 16@y]",
        "bf16[16@y, 8]",
    ),
    "fp8": case(
        lambda x, w: [
            lax.dot(x, w, preferred_element_type=jnp.float32),
            x.max(0),
            jnp.tanh(w) * 2,
            x.astype(jnp.float8_e5m2),
            jax.nn.softmax(w, 0),
        ],
        "f8e4m3fn[8@x, 16@y]",
        "f8e5m2[16@y, 8]",
    ),
    "f16": case(lambda x, w: jax.nn.gelu(x @ w) * x, "f16[8@x, 8]", "f16[8, 8@y]"),
    "casts": case(
        lambda x: [
            x.astype(jnp.bfloat16),
            x.astype(jnp.int32),
            (x > 0).astype(jnp.float32).sum(),
            lax.bitcast_convert_type(x, jnp.int32),
            lax.reduce_precision(x, 5, 10),
        ],
        "f32[8@x, 16@y]",
    ),
    "where_clip": case(
        lambda x, y: [jnp.where(x > y, x, -jnp.inf), jnp.clip(x, -0.5, 0.5), jnp.nan_to_num(x / 0.0)],
        "f32[8@x, 16]",
        "f32[16@y]",
    ),
    "activations": case(
        lambda x: [
            f(x)
            for f in (
                jax.nn.relu,
                jax.nn.gelu,
                jax.nn.silu,
                jax.nn.sigmoid,
                jax.nn.softplus,
                jax.nn.elu,
                jax.nn.selu,
                jax.nn.leaky_relu,
                jax.nn.hard_swish,
                jax.nn.mish,
                jax.nn.relu6,
            )
        ],
        "f32[8@x, 16@y]",
    ),
    "gelu_exact": case(lambda x: jax.nn.gelu(x, approximate=False), "f32[8@x, 16@y]"),
    "softmaxes": case(
        lambda x: [
            jax.nn.softmax(x, 0),
            jax.nn.log_softmax(x, 1),
            jax.nn.logsumexp(x, 1),
            jax.nn.standardize(x),
        ],
        "f32[8@x, 16@y]",
    ),
    "one_hot": case(lambda i: jax.nn.one_hot(i, 12), "i32<12[16@y]"),
    "layer_norm": case(
        lambda x, g, b: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * g + b,
        "f32[8@x, 16@y]",
        "f32[16]?",
        "f32[16]?",
    ),
    "uneven": case(lambda x, w: jnp.tanh(x @ w).sum(0), "f32[8, 14]?", "f32[14, 6]?"),
    "barrier": case(lambda x: lax.optimization_barrier((x, x + 1)), "f32[8@x, 16@y]"),
    "composite": case(lambda x: lax.composite(lambda y: jnp.sin(y) * 2, "my.sin")(x), "f32[8@x, 16@y]"),
}
