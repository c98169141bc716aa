"""What is one function of jax.numpy or jax.nn is written as that function, and computes the same."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
import pytest

import shardc
from tests.tolerance import assert_near

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
P = jax.sharding.PartitionSpec

IN_TWO_PARTS = jax.__version_info__ >= (0, 12)
"""Whether erf's derivative takes the exponential so: then it stays as it is written."""

RNG = np.random.default_rng(0)
X = RNG.normal(size=(8, 16)).astype(np.float32)
IDS = np.array([3, 1, -2, 15, 20, -16, -17, 7], np.int32)

TABLE = RNG.normal(size=(16, 4)).astype(np.float32)


def layer_norm(x: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)


def square(x: Any) -> Any:
    """A symmetric matrix of each row, whose eigenvalues are above 4."""
    rows = x.reshape(8, 4, 4)
    return rows @ rows.mT + 4 * jnp.eye(4)


def factor_of(x: Any) -> Any:
    return jax.lax.linalg.cholesky(square(x), symmetrize_input=False)


def other_swaps(x: Any) -> Any:
    """Twice over the same place."""
    _, pivots, _ = jax.lax.linalg.lu(square(x)[0])

    def swap(i: Any, order: Any) -> Any:
        return order.at[i].set(order[pivots[i]]).at[pivots[i]].set(order[pivots[i]])

    return jax.lax.fori_loop(0, 4, swap, jnp.arange(4)) + x[0, 0]


def other_rows(x: Any) -> Any:
    """A solution of rows that are permuted the other way."""
    factors, _, order = jax.lax.linalg.lu(square(x)[0])
    t = jax.lax.linalg.triangular_solve(
        factors, x[:4][order[::-1]], left_side=True, lower=True, unit_diagonal=True
    )
    return jax.lax.linalg.triangular_solve(factors, t, left_side=True)


def place(x: Any) -> Any:
    """A number that may be before the first and after the last index."""
    return (x.sum() * 3).astype(jnp.int32)


def step(function: Any, x: Any) -> Any:
    """Of a loss that needs what the function gives, too."""
    return jax.value_and_grad(lambda x: (function(x) ** 3).sum())(x)


IDIOMS = {
    "a key": (lambda x: x + jax.random.normal(jax.random.key(42), (16,)), "jnp.array([0, 42], jnp.uint32)"),
    "softmax and logsumexp of one array": (
        lambda x: (jax.nn.softmax(x), jax.nn.logsumexp(x, axis=1)),
        "jax.nn.softmax(x, axis=-1), jax.nn.logsumexp(x, axis=-1)",
    ),
    "where numbers belong": (
        lambda x: jnp.searchsorted(jnp.linspace(-1, 1, 11), x.at[:, 3].set(jnp.nan)),
        "jnp.searchsorted(",
    ),
    "behind equal ones": (
        lambda x: jnp.searchsorted(jnp.arange(5), jnp.round(x).astype(jnp.int32), side="right"),
        'side="right")',
    ),
    "tables at the same indices": (
        lambda x, ids: jnp.cos(TABLE)[ids] + jnp.sin(TABLE)[ids] + jnp.tan(TABLE)[ids],
        ")[ids] + jnp.tan(",
    ),
    "the place of the greatest over devices": (
        lambda x: x.T[0][jnp.argmax(x[:, 1])],
        "jnp.clip(total & 2147483647, 0, 7)",
    ),
    "sums of integers": (
        lambda x: jnp.cumsum(x.astype(jnp.int32), axis=1),
        "jnp.cumsum(x.astype(jnp.int32), axis=1)",
    ),
    "an order": (lambda x: jnp.argsort(x, axis=1), "jnp.argsort(x)"),
    "an order of what has no number": (
        lambda x: jnp.argsort(jnp.log(jnp.round(x)), axis=1),
        "jnp.argsort(",
    ),
    "an order of columns": (lambda x: jnp.argsort(x, axis=0), "jnp.argsort(x, axis=0)"),
    "counts": (lambda x, ids: jnp.bincount(jnp.round(4 * x[0]).astype(jnp.int32), length=8), ", length=8)"),
    "sums from the end": (lambda x: jnp.cumsum(x[:, ::-1], axis=1)[:, ::-1], "jnp.cumsum("),
    "sums of what comes": (
        lambda x: jax.lax.cumsum(x, axis=1, reverse=True),
        "lax.cumsum(x, axis=1, reverse=True)",
    ),
    "clip": (lambda x: jnp.clip(x, -1, 1), "jnp.clip(x, -1.0, 1.0)"),
    "roll": (lambda x: jnp.roll(x, 2, axis=1), "jnp.roll(x, 2, axis=1)"),
    "roll back": (lambda x: jnp.roll(x, -3, axis=1), "jnp.roll(x, -3, axis=1)"),
    "logsumexp": (lambda x: jax.nn.logsumexp(x, axis=-1), "jax.nn.logsumexp(x, axis=-1)"),
    "logaddexp": (lambda x: jnp.logaddexp(x, x[0]), "jnp.logaddexp(x, "),
    "softplus": (jax.nn.softplus, "jax.nn.softplus(x)"),
    "softplus of a product": (lambda x: jax.nn.softplus(x @ x.T), "jax.nn.softplus("),
    "softplus beside relu": (lambda x: (jax.nn.relu(x), jax.nn.softplus(x)), "jax.nn.softplus(x)"),
    "softplus beside a size": (lambda x: (jnp.abs(x), jax.nn.softplus(x)), "jax.nn.softplus(x)"),
    "log_sigmoid": (lambda x: jax.nn.log_sigmoid(-x), "-jax.nn.softplus(x)"),
    "mean": (lambda x: x.mean(-1), "jnp.mean(x, axis=1)"),
    "var": (lambda x: x.var(-1), "jnp.var(x, axis=1)"),
    "std": (lambda x: x.std(-1, keepdims=True), "jnp.sqrt(jnp.var(x, axis=1, keepdims=True))"),
    "softmax": (jax.nn.softmax, "jax.nn.softmax(x, axis=-1)"),
    "log_softmax": (jax.nn.log_softmax, "jax.nn.log_softmax(x, axis=-1)"),
    "silu": (jax.nn.silu, "jax.nn.silu(x)"),
    "sigmoid": (jax.nn.sigmoid, "jax.nn.sigmoid(x)"),
    "gelu": (jax.nn.gelu, "jax.nn.gelu(x)"),
    "gelu by erf": (lambda x: jax.nn.gelu(x, approximate=False), "jax.nn.gelu(x, approximate=False)"),
    "isnan": (jnp.isnan, "jnp.isnan(x)"),
    "remainder": (lambda x: x % 3.0, "x % 3.0"),
    "column": (lambda x: x[:, 3], "x[:, 3]"),
    "element of two": (lambda x: x.reshape(8, 4, 4)[:, 1, 2], ".reshape(4, 4, 4)[:, 1, 2]"),
    "remainder of indices": (lambda _, ids: ids % 3, "ids % 3"),
    "quotient of indices": (lambda _, ids: ids // 3, "ids // 3"),
    "one_hot": (lambda _, ids: jax.nn.one_hot(ids, 4), "jax.nn.one_hot(ids, 4)"),
    "one_hot of ints": (
        lambda _, ids: jax.nn.one_hot(ids, 4, dtype=jnp.int32),
        "jax.nn.one_hot(ids, 4, dtype=jnp.int32)",
    ),
    "take_along_axis": (
        lambda x, ids: jnp.take_along_axis(x, ids[:, None], axis=1),
        "jnp.take_along_axis(x, ids[:, None], axis=1)",
    ),
    "take_along_axis, clipped": (
        lambda x, ids: jnp.take_along_axis(x, ids[:, None], axis=1, mode="clip"),
        'jnp.take_along_axis(x, ids[:, None], axis=1, mode="clip")',
    ),
    "take_along_axis, whole rows": (
        lambda x, ids: jnp.take_along_axis(x.reshape(8, 4, 4), ids[:, None, None], axis=1),
        "jnp.take_along_axis(x.reshape(4, 4, 4), ids[:, None, None], axis=1)",
    ),
    "take_along_axis, whole columns": (
        lambda x, ids: jnp.take_along_axis(x.reshape(8, 4, 4), ids[:, None, None], axis=2),
        "jnp.take_along_axis(x.reshape(4, 4, 4), ids[:, None, None], axis=2)",
    ),
    "take_along_axis at the same places of two": (
        lambda x, ids: [jnp.take_along_axis(y, ids[:, None], axis=1) for y in (x, jnp.exp(x))],
        "jnp.take_along_axis(jnp.exp(x), ids[:, None], axis=1)",
    ),
    "take_along_axis in a training step": (
        jax.value_and_grad(lambda x, ids: jnp.take_along_axis(jnp.exp(x), ids[:, None], axis=1).sum()),
        "jnp.take_along_axis(",
    ),
    "segment_sum": (
        lambda x, ids: jax.ops.segment_sum(x, ids, 16),
        ".at[gathered[:, 0]].add(",
    ),
    "segment_max": (lambda x, ids: jax.ops.segment_max(x, ids + 0, 9), "wrap_negative_indices=False"),
    "a dimension that stays and goes": (lambda x: x.sum(0, keepdims=True)[0], "jnp.sum(x, axis=0)"),
    "take": (lambda x, ids: jnp.take(TABLE, ids, axis=0), ", ids, axis=0)"),
    "take of columns": (lambda x: jnp.take(x, IDS, axis=1), ", axis=1)\n"),
    "take in a training step": (
        jax.grad(lambda x: (jnp.take(x, IDS, axis=1) ** 3)[:, :3].sum()),
        "jnp.take(x, table, axis=1)",
    ),
    "rows under vmap": (
        lambda _, ids: jax.vmap(lambda i: jnp.asarray(TABLE)[i])(ids),
        ', axis=0, mode="clip")',
    ),
    "slices at one place under vmap": (
        lambda x: jax.vmap(lambda row: jax.lax.dynamic_slice_in_dim(row, place(x), 3))(x),
        "lax.dynamic_slice_in_dim(x, ",
    ),
    "blocks at one place under vmap": (
        lambda x: jax.vmap(lambda row: jax.lax.dynamic_slice(row.reshape(4, 4), (0, place(x)), (4, 3)))(x),
        "lax.dynamic_slice_in_dim(",
    ),
    "one column": (lambda x: jnp.take(x, 3, axis=1), "x[:, 3]"),
    "gelu in a training step": (lambda x: step(jax.nn.gelu, x), "jax.vjp(jax.nn.gelu, x)[1]("),
    "its gelu": (lambda x: step(jax.nn.gelu, x), " jax.nn.gelu(x)"),
    "gelu by erf in a training step": (
        lambda x: step(lambda x: jax.nn.gelu(x, approximate=False), x),
        "lax.erfc(" if IN_TWO_PARTS else "jax.vjp(lambda x: jax.nn.gelu(x, approximate=False), x)[1](",
    ),
    "silu in a training step": (lambda x: step(jax.nn.silu, x), "jax.vjp(jax.nn.silu, x)[1]("),
    "softmax in a training step": (lambda x: step(jax.nn.softmax, x), "jax.vjp(jax.nn.softmax, x)[1]("),
    "softmax along columns": (
        lambda x: step(lambda x: jax.nn.softmax(x.reshape(8, 4, 4), axis=1), x),
        "axis=1), t)[1](",
    ),
    "log_softmax in a training step": (
        lambda x: step(jax.nn.log_softmax, x),
        "jax.vjp(jax.nn.log_softmax, x)[1](",
    ),
    "a product of some precision": (
        lambda x: jnp.dot(x, jnp.asarray(TABLE), precision="highest"),
        "jnp.matmul(x, ",
    ),
    "logsumexp in a training step": (
        lambda x: step(lambda x: jax.nn.logsumexp(x, axis=-1), x),
        "jax.vjp(lambda x: jax.nn.logsumexp(x, axis=-1), x)[1](",
    ),
    "a mean of logsumexp": (
        jax.value_and_grad(lambda x: jnp.mean(jax.nn.logsumexp(x, axis=-1))),
        "0.125 * jax.grad(lambda x: jax.nn.logsumexp(x, axis=-1).sum())(x)",
    ),
    "the last column": (lambda x: x.take(-1, axis=-1), "x[:, 15]"),
    "some columns": (lambda x: x.at[:, 2:4].set(0.0), "x.at[:, 2:4].set(0.0)"),
    "the first and the last columns": (
        lambda x: x.at[:, :2].add(x[:, 14:]).at[:, 14:].multiply(x[:, :2]),
        "x.at[:, :2].add(x[:, 14:])",
    ),
    "a part of one row of each": (
        lambda x: x.reshape(8, 4, 4).at[:, 1, 1:3].max(2.0),
        ".reshape(4, 4, 4).at[:, 1, 1:3].max(2.0)",
    ),
    "take_along_axis of integers": (
        lambda _, ids: jnp.take_along_axis(jnp.arange(128).reshape(8, 16), ids[:, None], axis=1),
        "jnp.take_along_axis(",
    ),
    "take of unsigned integers": (
        lambda _, ids: jnp.take(jnp.arange(16, dtype=jnp.uint8), ids, axis=0),
        ", ids, axis=0)",
    ),
    "columns by arange": (lambda x: x[:, jnp.arange(5) + 1], "x[:, jnp.arange(5, dtype=jnp.int32) + 1]"),
    "stack": (lambda x: jnp.stack([x, jnp.sin(x)]), "jnp.stack([x, jnp.sin(x)])"),
    "stack of columns": (
        lambda x: jnp.stack([x, jnp.sin(x), x], axis=-1),
        "jnp.stack([x, jnp.sin(x), x], axis=2)",
    ),
    "eye": (lambda x: x @ jnp.eye(16), "x @ jnp.eye(16, dtype=jnp.float32)"),
    "a diagonal of bools": (
        lambda x: jnp.where(jnp.eye(2, 8, k=-1, dtype=bool), 0, x.reshape(8, 2, 8)),
        "jnp.eye(2, 8, k=-1, dtype=jnp.bool_)",
    ),
    "linspace": (lambda x: x * jnp.linspace(-1, 3, 16), "jnp.linspace(-1.0, 3.0, 16, dtype=jnp.float32)"),
    "linspace up to 1": (
        lambda x: x * jnp.linspace(-1, 1, 16),
        "jnp.linspace(-1.0, 1.0, 16, dtype=jnp.float32)",
    ),
    "repeat": (
        lambda x: jnp.repeat(x.reshape(8, 4, 4), 3, axis=1),
        "jnp.repeat(x.reshape(4, 4, 4), 3, axis=1)",
    ),
    "repeat one": (lambda x: jnp.repeat(x[:, :1], 3, axis=1), "jnp.repeat(x[:, :1], 3, axis=1)"),
    "tile": (lambda x: jnp.tile(x, (1, 3)), "jnp.tile(x, (1, 3))"),
    "solve": (lambda x: jnp.linalg.solve(square(x), x.reshape(8, 4, 4)), "jnp.linalg.solve("),
    "solve of vectors": (
        lambda x: jax.vmap(jnp.linalg.solve)(square(x), x[:, :4]),
        "jnp.linalg.solve(",
    ),
    "solve of one matrix": (
        lambda x: jnp.linalg.solve(jnp.asarray(TABLE[:4]), x.reshape(8, 4, 4)[0]),
        "jnp.linalg.solve(",
    ),
    "inverse": (lambda x: jnp.linalg.inv(square(x)), "jnp.linalg.solve("),
    "lu": (lambda x: jax.lax.linalg.lu(square(x)), "factors, pivots, permutation = lax.linalg.lu("),
    "determinant": (lambda x: jnp.linalg.slogdet(square(x)), "factors, pivots, _ = lax.linalg.lu("),
    "solve in a training step": (
        jax.grad(lambda x: jnp.linalg.solve(square(x), x.reshape(8, 4, 4)).sum()),
        "factors, _, permutation = lax.linalg.lu(",
    ),
    "moved and back": (lambda x: x.T[:, None].transpose(1, 2, 0).reshape(8, 16) + 1, "return x + 1.0"),
    "cholesky": (lambda x: jnp.linalg.cholesky(square(x)), "jnp.linalg.cholesky("),
    "cholesky of what is symmetric": (
        lambda x: jax.lax.linalg.cholesky(square(x), symmetrize_input=False),
        "lax.linalg.cholesky(",
    ),
    "eigh": (lambda x: jnp.linalg.eigh(square(x)).eigenvalues, " = lax.linalg.eigh("),
    "eigh of what is symmetric": (
        lambda x: jax.lax.linalg.eigh(square(x), lower=False, symmetrize_input=False)[1],
        "lower=False, symmetrize_input=False)",
    ),
    "svd": (
        lambda x: jnp.linalg.svd(square(x), full_matrices=False).S,
        "lax.linalg.svd(",
    ),
    "singular values": (lambda x: jnp.linalg.svdvals(square(x)), "return lax.linalg.svd("),
    "triangular_solve": (
        lambda x: jax.lax.linalg.triangular_solve(square(x), square(x) + 1, lower=True),
        "lax.linalg.triangular_solve(",
    ),
}


def fewer_halves(x: Any) -> Any:
    """The loop of searchsorted, of too few turns."""
    table = jnp.linspace(-1, 1, 11)

    def halve(i: Any, ends: Any) -> Any:
        low, high = ends
        middle = low + (high - low) // 2
        left = x <= table[middle]
        return jnp.where(left, low, middle), jnp.where(left, middle, high)

    start = jnp.zeros(x.shape, jnp.uint32)
    return jax.lax.fori_loop(0, 3, halve, (start, start + 11))[1].astype(jnp.int32)


OTHERS = {
    "too few halves": (fewer_halves, "fori_loop"),
    "sums of narrow integers": (
        lambda x: jnp.sum(x.astype(jnp.int8), axis=1, dtype=jnp.int8),
        "dtype=jnp.int8)",
    ),
    "an order from the greatest on": (lambda x: jnp.argsort(x, axis=1, descending=True), "lax.sort("),
    "an order and what is ordered": (
        lambda x: jax.lax.sort_key_val(x, jax.lax.broadcasted_iota(jnp.int32, x.shape, 1)),
        "lax.sort(",
    ),
    "places of another dimension": (
        lambda x: jax.lax.sort_key_val(x, jax.lax.broadcasted_iota(jnp.int32, x.shape, 0) % 8)[1],
        "lax.sort(",
    ),
    "twos at numbers": (
        lambda x: jnp.zeros(8, jnp.int32).at[jnp.maximum(0, jnp.round(4 * x[0]).astype(jnp.int32))].add(2),
        ".add(2)",
    ),
    "ones at numbers from the end": (
        lambda x: jnp.zeros(8, jnp.int32).at[jnp.round(4 * x[0]).astype(jnp.int32)].add(1),
        ".add(1)",
    ),
    "columns beyond the last": (
        lambda x: jax.lax.scatter(
            *(x, jnp.array([14]), jnp.ones((8, 4), jnp.float32)),
            jax.lax.ScatterDimensionNumbers((0, 1), (), (1,)),
        ),
        "lax.scatter(",
    ),
    "least integers of others": (
        lambda _, ids: jnp.take(jnp.arange(16), ids, axis=0, mode="fill", fill_value=-(2**31) + 1),
        'mode="clip"',
    ),
    "a factor and what else is above it": (
        lambda x: jnp.where(jnp.tri(4, k=1, dtype=bool), factor_of(x), 0.5),
        "0.5)",
    ),
    "swaps in another order": (other_swaps, "lax.fori_loop("),
    "rows in another order": (other_rows, "lax.linalg.triangular_solve("),
    "slices at places of their own": (
        lambda x, ids: jax.vmap(lambda row, i: jax.lax.dynamic_slice_in_dim(row, i, 3))(x, ids),
        "jax.vmap(lambda row, i: lax.dynamic_slice_in_dim(row, i, 3, axis=0))(x, ids)",
    ),
    "a column that there is not": (lambda x: jnp.take(x, 16, axis=1), "jnp.full((4,), jnp.nan"),
    "zeros beyond the ends": (
        lambda x, ids: jnp.take(x, ids, axis=1, mode="fill", fill_value=0),
        'mode="clip"',
    ),
    "a diagonal of blocks": (lambda x: jnp.where(jnp.arange(8)[:, None] == 3, x, 0), "jnp.arange(4"),
    "numbers up to the end": (lambda x: x * (jnp.arange(16) / 15), "jnp.arange(16"),
    "repeated and joined otherwise": (
        lambda x: jnp.broadcast_to(x[:, :, None], (8, 16, 4)).reshape(8, 8, 8),
        "jnp.broadcast_to(",
    ),
    "a one-hot of another base": (lambda _, ids: jax.nn.one_hot(ids - 1, 4).T, "one_hot(ids - 1, 4)"),
    "classes first": (lambda _, ids: (jnp.arange(4)[:, None] == ids).astype(jnp.float32), "jnp.arange(4"),
    "an unbiased variance": (lambda x: x.var(-1, ddof=1), "/ 15.0"),
    "a mean beside its sum": (lambda x: (x.mean(-1), x.sum(-1)), "/ 16.0"),
    "powers that are used again": (
        lambda x: (jax.nn.softmax(x), jnp.exp(x - x.max(-1, keepdims=True))),
        "exp",
    ),
    "a derivative without the function": (lambda x: jax.vjp(jax.nn.silu, x)[1](jnp.cos(x)), "(1.0 - t)"),
    "a derivative beside its sigmoid": (
        lambda x: (step(jax.nn.silu, x), jax.nn.sigmoid(x)),
        "jax.nn.sigmoid(x)",
    ),
    "sums from one": (lambda x: jax.lax.reduce(x, 1.0, jax.lax.add, (1,)) / 16, "/ 16.0"),
    "a third of gelu": (lambda x: x * (0.5 * (1 + jnp.tanh(0.79788 * (x + 0.05 * x**3)))), "jnp.tanh"),
    "bounds the wrong way round": (lambda x: jnp.maximum(-1.0, jnp.minimum(1.0, x)), "jnp.m"),
    "bounds of each column": (lambda x: jnp.clip(x, -jnp.arange(16.0), 1), "jnp.arange(16"),
    "two ranges": (lambda x: jnp.concatenate([x[:, 3:], x[:, :4]], 1), "jnp.concatenate"),
    "another truncation": (lambda x: jnp.where((jnp.fmod(x, 3) != 0), jnp.fmod(x, 3) + 3, 0), "lax.rem"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [*IDIOMS, *OTHERS])
def test_an_idiom(name: str) -> None:
    function, text = (IDIOMS | OTHERS)[name]
    mesh = jax.make_mesh((2,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    args = (X, IDS) if "ids" in signature(function).parameters else (X,)
    way = jax.sharding.NamedSharding(mesh, P("data"))
    for target in ("jax", "numpy"):
        program = shardc.from_jax(function, *args, in_shardings=(way,) * len(args), target=target)
        if target == "jax":
            assert text in program.source
        want = jax.tree.leaves(jax.jit(function)(*args))
        for one, other in zip(jax.tree.leaves(program.main(*args)), want, strict=True):
            assert (np.shape(one), np.asarray(one).dtype) == (other.shape, other.dtype)
            assert_near(one, other, terms=16)


NARROW: dict[str, tuple[Any, str]] = {
    "sum": (lambda x: jnp.sum(x, axis=1), "jnp.sum(x, axis=1)"),
    "sum of all": (lambda x: jnp.sum(x, keepdims=True), "jnp.sum(x, axis=(0, 1), keepdims=True)"),
    "mean": (lambda x: jnp.mean(x, axis=1, keepdims=True), "jnp.mean(x, axis=1, keepdims=True)"),
    "var": (lambda x: jnp.var(x, axis=0), "jnp.var(x, axis=0)"),
    "softmax": (jax.nn.softmax, "jax.nn.softmax(x, axis=-1)"),
    "log_softmax": (jax.nn.log_softmax, "jax.nn.log_softmax(x, axis=-1)"),
    "logsumexp": (lambda x: jax.nn.logsumexp(x, axis=-1), "jax.nn.logsumexp(x, axis=-1)"),
    "gelu": (jax.nn.gelu, "jax.nn.gelu(x)"),
    "exact gelu": (lambda x: jax.nn.gelu(x, approximate=False), "jax.nn.gelu(x, approximate=False)"),
    "silu": (jax.nn.silu, "jax.nn.silu(x)"),
    "gelu in a training step": (lambda x: step(jax.nn.gelu, x), "jax.vjp(jax.nn.gelu, x)[1]("),
    "silu in a training step": (lambda x: step(jax.nn.silu, x), "jax.vjp(jax.nn.silu, x)[1]("),
    "softmax in a training step": (lambda x: step(jax.nn.softmax, x), "jax.vjp(jax.nn.softmax, x)[1]("),
    "log_softmax in a training step": (
        lambda x: step(jax.nn.log_softmax, x),
        "jax.vjp(jax.nn.log_softmax, x)[1](",
    ),
    "a sum that is rounded to another type": (
        lambda x: jnp.sum(x.astype(jnp.float32), axis=1).astype(jnp.float8_e5m2),
        "jnp.sum(x.astype(jnp.float32), axis=1)",
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
@pytest.mark.parametrize("name", NARROW)
def test_an_idiom_of_narrow_floats(name: str, dtype: Any) -> None:
    """JAX adds them in f32, and has their constants rounded; NumPy's own functions do not."""
    function, text = NARROW[name]
    x = X.astype(dtype)
    for target in ("jax", "numpy"):
        program = shardc.from_jax(function, x, target=target)
        assert target == "numpy" or text in program.source
        results = jax.tree.leaves(program.main(x))
        for one, other in zip(results, jax.tree.leaves(jax.jit(function)(x)), strict=True):
            assert (np.asarray(one).dtype, np.shape(one)) == (other.dtype, other.shape)
            assert_near(one, other, terms=16)


def test_a_mean_over_a_split_dimension_stays() -> None:
    """A device divides by the count of all."""
    mesh = jax.make_mesh((2,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    way = jax.sharding.NamedSharding(mesh, P(None, "data"))
    program = shardc.from_jax(layer_norm, X, in_shardings=(way,))
    assert "jnp.mean" not in program.source and "/ 16.0" in program.source
    assert_near(program.main(X), layer_norm(X), terms=4 * 16)


@pytest.mark.parametrize("function", [jnp.argmax, jnp.argmin])
def test_the_greatest_over_a_split_dimension(function: Any) -> None:
    """The first of equal ones, on whichever device; NaNs are on both (JAX's pmax loses those of one)."""
    mesh = jax.make_mesh((2,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    way = jax.sharding.NamedSharding(mesh, P(None, "data"))
    x = np.round(X)
    x[1, [6, 12]], x[3], x[4] = np.nan, np.inf, -np.inf
    program = shardc.from_jax(lambda x: function(x, axis=1), x, in_shardings=(way,))
    name = function.__name__
    line = f"jnp.{name[3:]}(x, axis=1), jnp.{name}(x, axis=1) + "
    assert line in program.source and "lax.reduce" not in program.source
    np.testing.assert_array_equal(program.main(x), function(x, axis=1))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("place", [0, 3, -1, -5, -6, -9, 5, 7])
def test_writing_at_indices(place: int) -> None:
    """Those from the end count, those beyond it do nothing, as in the NumPy program."""
    text = """
def main(x: f32[8, 6, 5], v: f32[8, 6], i: i32[3], t: i32[], u: f32[8, 3, 5]):
    x = x.at[:, :, t].set(v)
    return x.at[:, i].add(u)
"""
    jaxs, numpys = (shardc.compile(text, target=target) for target in ("jax", "numpy"))
    assert "x.at[:, :, t].set(v)" in jaxs.source and "x.at[:, i].add(u)" in jaxs.source
    x, v, u = (RNG.normal(size=shape).astype(np.float32) for shape in ((8, 6, 5), (8, 6), (8, 3, 5)))
    given = x, v, np.array([1, -7, place], np.int32), np.int32(place), u
    assert_near(jaxs.main(*given), numpys.main(*given))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("place", [0, 4, 7, 8, -1, -9])
@pytest.mark.parametrize("wraps", [True, False])
def test_one_place_of_blocks_of_a_whole_array(place: int, wraps: bool) -> None:
    """XLA would merge the slice that cuts the block with that of the place, whoever has it."""
    mesh = jax.make_mesh((2,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    way = jax.sharding.NamedSharding(mesh, P("data"))

    def put(x: Any, i: Any, v: Any) -> Any:
        return x.at[i].multiply(v, wrap_negative_indices=wraps)

    args = X[:, :3], np.array([place], np.int32), np.full((1, 3), 0.5, np.float32)
    whole = jax.sharding.NamedSharding(mesh, P())
    program = shardc.from_jax(put, *args, in_shardings=(whole,) * 3, out_shardings=way)
    assert "lax.optimization_barrier(" in program.source and ".multiply(" in program.source
    assert_near(program.main(*args), jax.jit(put)(*args))


def test_a_loop_of_swaps_is_one_call() -> None:
    def rows(pivots: Any) -> Any:
        return jax.lax.linalg.lu_pivots_to_permutation(pivots, 8)

    pivots = np.array([[3, 1, 7, 5], [0, 4, 2, 6]], np.int32)
    mesh = jax.make_mesh((2,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    way = jax.sharding.NamedSharding(mesh, P("data"))
    program = shardc.from_jax(rows, pivots, in_shardings=(way,))
    assert "return lax.linalg.lu_pivots_to_permutation(pivots, 8)" in program.source
    np.testing.assert_array_equal(program.main(pivots), rows(pivots))
