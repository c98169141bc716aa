"""Gather, scatter, dynamic slices, embedding lookups."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from corpus.case import case

WINDOW = lax.ScatterDimensionNumbers((0,), (), (0,))

CASES = {
    "take_rows": case(lambda t, i: t[i], "f32[32, 8@y]", "i32<32[8@x]"),
    "take_split_rows": case(lambda t, i: jnp.take(t, i, axis=0), "f32[32@y, 8]", "i32<32[4@x, 6]"),
    "take_clip": case(lambda t, i: jnp.take(t, i, axis=0, mode="clip"), "f32[32@y, 8]", "i32<40[8@x]"),
    "take_columns": case(lambda t, i: jnp.take(t, i, axis=1), "f32[8@x, 32@y]", "i32<32[6]"),
    "take_along": case(lambda x, i: jnp.take_along_axis(x, i[:, None], 1), "f32[8@x, 16@y]", "i32<16[8@x]"),
    "take_along_rows": case(lambda x, i: jnp.take_along_axis(x, i, 0), "f32[8@x, 16@y]", "i32<8[3, 16@y]"),
    "pairs": case(lambda x, i, j: x[i, j], "f32[8@x, 16@y]", "i32<8[6]", "i32<16[6]"),
    "fill": case(lambda x, i: x.at[i].get(mode="fill", fill_value=-jnp.inf), "f32[8@x, 4]", "i32<12[8@y]"),
    "masked_vocab": case(lambda t, i: jnp.sum(t[i] * 2, -1), "f32[32@x+y, 8]", "i32<32[16]"),
    "set_row": case(lambda x, i: x.at[i].set(0.0), "f32[8@x, 16@y]", "i32<8[]"),
    "set_rows": case(
        lambda x, i, u: x.at[i].set(u, unique_indices=True), "f32[8@x, 16@y]", "i32<1[1]", "f32[1, 16@y]"
    ),
    "add_rows": case(lambda x, i, u: x.at[i].add(u), "f32[8@x, 16]", "i32<8[16@y]", "f32[16@y, 16]"),
    "add_rows_split": case(lambda x, i, u: x.at[i].add(u), "f32[32@y, 16]", "i32<32[16@x]", "f32[16@x, 16]"),
    "max_rows": case(lambda x, i, u: x.at[i].max(u), "f32[8@x, 16]", "i32<8[16@y]", "f32[16@y, 16]"),
    "multiply_rows": case(lambda x, i: x.at[i].multiply(2.0), "f32[8@x, 4@y]", "i32<8[3]"),
    "subtract_and_apply": case(
        lambda x, i: x.at[i].subtract(2.0).at[i].apply(jnp.sin), "f32[8@x, 4@y]", "i32<8[3]"
    ),
    "add_pairs": case(lambda x, i, j: x.at[i, j].add(1.0), "f32[8@x, 16@y]", "i32<8[6]", "i32<16[6]"),
    "segment_sum": case(lambda x, i: jax.ops.segment_sum(x, i, 4), "f32[16@x, 4@y]", "i32<4[16@x]"),
    "segment_max": case(lambda x, i: jax.ops.segment_max(x, i, 4), "f32[16@x, 4@y]", "i32<4[16@x]"),
    "segment_prod": case(lambda x, i: jax.ops.segment_prod(x, i, 4), "f32[16@x, 4@y]", "i32<4[16@x]"),
    "embedding_gradient": case(
        jax.grad(lambda t, i, y: jnp.mean((t[i] - y) ** 2)), "f32[32@y, 8]", "i32<32[16@x]", "f32[16@x, 8]"
    ),
    "dynamic_slice": case(lambda x, i: lax.dynamic_slice(x, (i, 0), (3, 16)), "f32[8@x, 16@y]", "i32<5[]"),
    "dynamic_slice_two": case(
        lambda x, i, j: lax.dynamic_slice(x, (i, j), (3, 5)), "f32[8@x, 16@y]", "i32<9[]", "i32<16[]"
    ),
    "dynamic_index": case(lambda x, i: lax.dynamic_index_in_dim(x, i, 1), "f32[8@x, 16@y]", "i32<16[]"),
    "dynamic_update": case(
        lambda x, u, i: lax.dynamic_update_slice(x, u, (i, 0)), "f32[8@x, 16@y]", "f32[3, 16]", "i32<8[]"
    ),
    "dynamic_update_two": case(
        lambda x, u, i, j: lax.dynamic_update_slice(x, u, (i, j)),
        "f32[8@x, 16@y]",
        "f32[3, 5]?",
        "i32<8[]",
        "i32<16[]",
    ),
    "dynamic_update_constant": case(lambda x, u: x.at[2:4].set(u), "f32[8@x, 16@y]", "f32[2, 16]?"),
    "batched_gather": case(jax.vmap(lambda t, i: t[i]), "f32[8@x, 16@y]", "i32<16[8@x, 3]"),
    "batched_dynamic_slice": case(
        jax.vmap(lambda r, i: lax.dynamic_slice(r, (i,), (4,))), "f32[8@x, 16@y]", "i32<12[8@x]"
    ),
    "batched_dynamic_update": case(
        jax.vmap(lambda r, u, i: lax.dynamic_update_slice(r, u, (i,))),
        "f32[8@x, 16@y]",
        "f32[8@x, 3]",
        "i32<16[8@x]",
    ),
    "batched_windows_that_do_not_fit": case(
        jax.vmap(lambda r, u, i: lax.scatter_add(r, i[None], u, WINDOW, mode="drop")),
        "f32[8@x, 16@y]",
        "f32[8@x, 3]",
        "i32<16[8@x]",
    ),
    "compress": case(lambda x: jnp.nonzero(x > 0, size=4)[0], "f32[16@y]"),
}
