"""Reductions, cumulative operations, sorting and searching."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from corpus.case import case

CASES = {
    "sums": case(lambda x: [x.sum(), x.sum(0), x.sum(1), x.mean(), x.mean(1)], "f32[8@x, 16@y]"),
    "extremes": case(lambda x: [x.max(), x.max(0), x.min(1), jnp.ptp(x), x.max((0, 1))], "f32[8@x, 16@y]"),
    "product": case(lambda x: [x.prod(), x.prod(0)], "f32[8@x, 4@y]"),
    "moments": case(lambda x: [x.std(), x.var(0), jnp.average(x, 1), jnp.linalg.norm(x)], "f32[8@x, 16@y]"),
    "any_all": case(
        lambda x: [(x > 1).any(), (x > -1).all(0), jnp.count_nonzero(x > 0, 1)], "f32[8@x, 16@y]"
    ),
    "arg": case(lambda x: [jnp.argmax(x, 0), jnp.argmin(x, 1), jnp.argmax(x)], "f32[8@x, 16@y]"),
    "argmax_ties": case(lambda x: [jnp.argmax(x, 1), jnp.argmin(x, 1)], "i32<3[8@x, 16@y]"),
    "max_of_integers": case(lambda x: [x.max(0), x.sum(1), x.min()], "i32<9[8@x, 16@y]"),
    "int_bits": case(
        lambda x: [
            lax.reduce(x, jnp.int32(0), lax.bitwise_or, (0,)),
            lax.reduce(x, jnp.int32(-1), lax.bitwise_and, (1,)),
        ],
        "i32<64[8@x, 16@y]",
    ),
    "two_at_once": case(
        lambda x, y: lax.reduce(
            (x, y),
            (jnp.float32(0), jnp.float32(0)),
            lambda a, b: (a[0] + b[0], jnp.maximum(a[1], b[1])),
            (0,),
        ),
        "f32[8@x, 16@y]",
        "f32[8@x, 16@y]",
    ),
    "cumulative": case(
        lambda x: [jnp.cumsum(x, 0), jnp.cumsum(x, 1), jnp.cumprod(x, 1), lax.cummax(x, 0), lax.cummin(x, 1)],
        "f32[8@x, 16@y]",
    ),
    "cumsum_backwards": case(lambda x: lax.cumsum(x, 0, reverse=True), "f32[16@x+y, 4]"),
    "cumlogsumexp": case(lambda x: lax.cumlogsumexp(x, 1), "f32[8@x, 16@y]"),
    "associative_scan": case(lambda x: lax.associative_scan(jnp.multiply, x, axis=1), "f32[8@x, 16@y]"),
    "sort": case(
        lambda x: [jnp.sort(x, 0), jnp.sort(x, 1), jnp.sort(x, 1, descending=True)], "f32[8@x, 16@y]"
    ),
    "sort_alone": case(lambda x: jnp.sort(x), "f32[32@x+y]"),
    "argsort": case(lambda x: jnp.argsort(x, 1), "f32[8@x, 16@y]"),
    "lexsort": case(lambda x, y: lax.sort((x, y), num_keys=2), "i32<4[8@x, 16]", "f32[8@x, 16@y]"),
    "top_k": case(lambda x: lax.top_k(x, 3), "f32[8@x, 16@y]"),
    "top_k_ties": case(lambda x: lax.top_k(x, 5), "i32<3[4, 16@y]"),
    "median": case(lambda x: [jnp.median(x, 1), jnp.quantile(x, 0.25, axis=0)], "f32[8@x, 16@y]"),
    "histogram": case(lambda x: jnp.histogram(x, 4)[0], "f32[16@x]"),
    "searchsorted": case(lambda x, v: jnp.searchsorted(jnp.sort(x), v), "f32[16@y]", "f32[8@x]"),
    "unique": case(lambda x: jnp.unique(x, size=8), "i32<9[16@x]"),
    "bincount": case(lambda i: jnp.bincount(i, length=8), "i32<8[32@x+y]"),
    "pool": case(
        lambda x: [
            lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME"),
            lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "VALID"),
        ],
        "f32[4@x, 8, 8, 4@y]",
    ),
    "pool_split": case(
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
        "f32[4@x, 8@y, 8, 4]",
    ),
}
