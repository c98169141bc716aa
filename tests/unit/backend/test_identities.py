"""What gives what it is given is not in the emitted program, and what tells two numbers apart is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shardc
from tests.tolerance import assert_near

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
P = jax.sharding.PartitionSpec

RNG = np.random.default_rng(0)
X = RNG.normal(size=(8, 16)).astype(np.float32)


GONE = {
    "a first power": (lambda x: x ** jnp.float32(1) * 2, "**"),
    "nothing added to a sum": (lambda x: 0.0 + jnp.sum(x, axis=1), "0.0"),
    "nothing added to a difference": (lambda x: (1.0 - x) + 0.0, "0.0"),
    "nothing added to a product": (lambda x: 0.5 * (1.0 + jnp.cos(x)) + 0.0, "0.0"),
    "nothing added to powers": (lambda x: jnp.exp(x) + 0.0, "0.0"),
    "nothing added to sums side by side": (
        lambda x: jnp.stack([jnp.sum(x, 1), jnp.sum(x * x, 1)]) + 0.0,
        "0.0",
    ),
    "nothing added to every second number": (
        lambda x: x * jnp.arange(0, 32, 2, dtype=jnp.float32),
        "0.0",
    ),
    "a choice of equals": (lambda x: jnp.where(x > 0, x + 1, x + 1), "where"),
    "sums of one": (lambda x: jnp.sum(x[:, :1] * 2, axis=1, keepdims=True), "sum"),
    "a dimension taken away and added": (
        lambda x: x + jax.lax.expand_dims(jnp.squeeze(x[:, :1] * 2, 1), (1,)),
        "[:, 0][:, None]",
    ),
    "a place in its dimension again": (lambda x: jnp.sin(x)[:, 3][:, None] * x, "None"),
    "a number of numbers": (lambda x: x * -jnp.square(jnp.float32(0.5)), "square"),
    "a number times an array": (lambda x: jnp.einsum(",ab->ab", jnp.sum(x), x), "einsum"),
    "a product transposed": (lambda x: (x[0:4].T @ x[4:8]).T, ".T)"),
    "a transpose by way of more dimensions": (
        lambda x: jnp.exp(x)[:, :, None].transpose(1, 2, 0)[:, 0] * 2,
        "None",
    ),
    "the logarithm of one": (lambda x: x * jnp.log(jnp.float32(1) + jnp.float32(1) - 1), "log"),
    "a number in another shape": (lambda x: x * jnp.full((8,), 2.0, jnp.float32).reshape(8, 1), "None"),
    "padding that is negative": (lambda x: jax.lax.pad(x, np.float32(0), ((-1, 0, 0), (0, -2, 0))), "pad("),
    "an array transposed twice": (lambda x: x * jnp.cos(x).T.T, ".T"),
    "a condition as numbers": (lambda x: x * jnp.where(x > 0, jnp.float32(1), jnp.float32(0)), "where"),
    "the one place of a dimension": (
        lambda x: x + jax.grad(lambda y: jnp.sum(y[:, 0]))(jnp.exp(x)[:, :1]),
        ".at[",
    ),
    "the size of powers": (lambda x: jnp.log(jnp.abs(jnp.sum(jnp.exp(x), axis=0))), "abs("),
    "the derivative by a sum of powers over devices": (
        lambda x: jax.grad(lambda x: jnp.sum(jax.nn.logsumexp(x, axis=0)))(x),
        "where(mask",
    ),
    "a condition by way of integers": (lambda x: jnp.mean(x > 0, axis=1), "int32"),
    "bounds of an order": (lambda x: jnp.clip(jnp.argsort(x, axis=1), 0, 15), "clip"),
    "what is not negative counted from the end": (
        lambda x: x[0][jnp.maximum(0, x[1].astype(jnp.int32))],
        "< 0",
    ),
    "a new dimension beside a new dimension": (
        lambda x: jnp.exp(x[:, 0])[:, None][:, :, None] * jnp.ones((1, 2, 3), jnp.float32),
        "None][",
    ),
    "a slice of a slice": (lambda x: jnp.exp(x)[:, 1:][:, ::2] * 2, ":]["),
    "no elements of a slice of a slice": (
        lambda x: jnp.concatenate([jnp.exp(x)[:, 1:12:3][:, 2:2], x], axis=1),
        ":][",
    ),
    "a negative added": (lambda x: jnp.cos(x) + -jnp.sum(jnp.sin(x)), "-jnp"),
    "two negatives added": (lambda x: -jnp.cos(x) + -jnp.sin(x), "+"),
    "a negative taken away": (lambda x: jnp.cos(x) - -jnp.sin(x), "- "),
    "what has no elements among what is joined": (
        lambda x: jnp.concatenate([jnp.exp(x)[:, :0], jnp.cos(x), jnp.sin(x)[:, 3:3]], axis=1),
        "concatenate",
    ),
    "what has no elements made longer": (
        lambda x: x * jnp.pad(jnp.exp(x)[:, :0], ((0, 0), (0, 16)), constant_values=2.0),
        "exp",
    ),
    "a product with ones": (
        lambda x: jnp.einsum("ab,ac->abc", jnp.ones((8, 3), jnp.float32), x),
        "einsum",
    ),
    "bounds of places": (lambda x: jnp.clip(jax.lax.top_k(x, 3)[1], 0, 15), "clip"),
    "whether places are in a dimension": (
        lambda x: jnp.take_along_axis(x[:4].reshape(4, 2, 8), jax.lax.top_k(x[4:], 2)[1][..., None] // 8, 1),
        "where",
    ),
    "an order that counts from the end": (lambda x: x[0][jnp.argsort(x[1])], "< 0"),
    "a dimension added, and taken away from the negative": (
        lambda x: jnp.squeeze(-jnp.expand_dims(x * 2, 1), 1) + 1,
        "None",
    ),
    "nothing less an integer": (lambda x: (0 - x.astype(jnp.int32)) * 1.5, "0 - "),
    "a part of what is joined": (lambda x: jnp.concatenate([x * 2, x + 1], axis=1)[:, 16:], "concatenate"),
    "the root of a number": (lambda x: x / jnp.sqrt(jnp.float32(4)), "sqrt"),
    "an integer beside floats": (
        lambda x: x / jax.lax.convert_element_type(jnp.int32(3), "float32"),
        "float32(",
    ),
    "names of what has one": (lambda x: named(x), " = total"),
    "a float by way of wider ones": (lambda x: by_way_of(jnp.float32, x.astype(jnp.bfloat16)), "float32"),
    "a float by way of wider ones that are spread": (
        lambda x: x.astype(jnp.float16) + spread_by_way_of(jnp.float32, x[:, :1].astype(jnp.float16)),
        "float32",
    ),
}
"""A function, and what its text has not."""

STAYS = {
    "a condition as other numbers": (lambda x: x * jnp.where(x > 0, jnp.float32(2), jnp.float32(0)), "where"),
    "the size of a sum": (lambda x: jnp.abs(jnp.sum(x, axis=0)), "abs("),
    "a float by way of narrower ones": (lambda x: by_way_of(jnp.bfloat16, x), "bfloat16"),
    "a float by way of those of another range": (
        lambda x: by_way_of(jnp.float16, x.astype(jnp.bfloat16)),
        ".float16)",
    ),
    "a number by way of integers": (lambda x: x.astype(jnp.int32).astype(jnp.float32), "int32"),
    "narrower bounds of an order": (lambda x: jnp.clip(jnp.argsort(x, axis=1), 0, 14), "14"),
    "whether other places are in a dimension": (
        lambda x: jnp.take_along_axis(x[:4].reshape(4, 2, 8), jax.lax.top_k(x[4:], 2)[1][..., None] // 7, 1),
        "where",
    ),
    "nothing less a number": (lambda x: 0.0 - x, "0.0 - "),
    "a part of two that are joined": (
        lambda x: jnp.concatenate([x * 2, x + 1], axis=1)[:, 8:],
        "concatenate",
    ),
    "the root of a number that is rounded": (lambda x: x / jnp.sqrt(jnp.float32(5)), "sqrt"),
    "a second power": (lambda x: x ** jnp.float32(2.5), "** 2.5"),
    "nothing added to a zero with a sign": (lambda x: x + 0.0, "x + 0.0"),
    "nothing added to a sum beside others": (lambda x: jnp.stack([jnp.sum(x, 1), x[:, 0]]) + 0.0, "+ 0.0"),
    "nothing added to a negative number": (lambda x: -jnp.sum(x, axis=1) + 0.0, "0.0 - "),
    "nothing added to what becomes zero from below": (
        lambda x: 1e-30 * (x - 1.0) * (1.0 - x) * 1e-30 + 0.0,
        "+ 0.0",
    ),
    "a choice": (lambda x: jnp.where(x > 0, x, x + 1), "where"),
    "a number that is rounded": (lambda x: x * jnp.square(jnp.float32(0.1)), "square"),
    "a sum of two": (lambda x: jnp.sum(x[:, :2], axis=1, keepdims=True), "sum"),
    "a product of vectors": (lambda x: jnp.einsum("a,b->ab", x[0], x[1]), "einsum"),
}
"""A function, and what its text has."""


def named(x: Any) -> Any:
    """The sum over devices has a name before it is reshaped to what it was."""
    total = jnp.sum(x, axis=0, keepdims=True)
    return total[0] * total[0], total[0] + 1.0


def by_way_of(dtype: Any, x: Any) -> Any:
    return jnp.negative(x).astype(dtype).astype(x.dtype)


def spread_by_way_of(dtype: Any, x: Any) -> Any:
    return jnp.broadcast_to(jnp.negative(x).astype(dtype), (x.shape[0], 16)).astype(x.dtype)


@pytest.mark.parametrize("name", [*GONE, *STAYS])
def test_an_identity(name: str) -> None:
    function, text = (GONE | STAYS)[name]
    mesh = jax.make_mesh((2,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    way = jax.sharding.NamedSharding(mesh, P("data"))
    for target in ("jax", "numpy"):
        program = shardc.from_jax(function, X, in_shardings=(way,), target=target)
        inside = program.source.partition("def device_main")[2].partition("def main")[0]
        assert (text in inside) == (name in STAYS), inside
        want = jax.tree.leaves(jax.jit(function)(X))
        for one, other in zip(jax.tree.leaves(program.main(X)), want, strict=True):
            assert_near(one, other, terms=16)
