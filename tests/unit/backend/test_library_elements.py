"""`y[jnp.arange(n), j]` and what jax.vmap makes of `y[j]`: local where rows are split, and one line."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shardc

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

ROWS, COLUMNS, DEPTH = 8, 6, 5
Y = np.arange(ROWS * COLUMNS * DEPTH, dtype=np.float32).reshape(ROWS, COLUMNS, DEPTH)
FLAT = Y[:, :, 0]
J = np.array([0, 5, -1, -6, 6, 99, -7, -99], np.int32)  # inside, from the end, beyond both ends
K = J[::-1].copy() % 5 - 2
MANY = np.stack([J, K, J], axis=1)
NEW, NEW_ROWS = np.linspace(0, 1, ROWS, dtype=np.float32), np.ones((ROWS, DEPTH), np.float32)


def of_rows(f: Callable[..., Any]) -> Callable[..., Any]:
    return functools.wraps(f)(lambda *args: jax.vmap(f)(*args))


CASES: list[tuple[Callable[..., Any], list[Any], str]] = [
    (lambda y, j: y[jnp.arange(ROWS), j], [FLAT, J], "y[jnp.arange(2), j]"),
    (lambda y, j: y[jnp.arange(ROWS)[:, None], j], [FLAT, MANY], "y[jnp.arange(2)[:, None], j]"),
    (lambda y, j, v: y.at[jnp.arange(ROWS), j].set(v), [FLAT, J, NEW], "y.at[jnp.arange(2), j].set(v)"),
    (lambda y, j, v: y.at[jnp.arange(ROWS), j].mul(v), [FLAT, J, NEW], "y.at[jnp.arange(2), j].multiply(v)"),
    (of_rows(lambda y, j: y[j]), [FLAT, J], "y[jnp.arange(2), j]"),
    (of_rows(lambda y, j: y[j]), [Y, J], "y[jnp.arange(2), j]"),
    (of_rows(lambda y, j: y[j]), [Y, MANY], "y[jnp.arange(2)[:, None], j]"),
    (of_rows(lambda y, i, j: y[i, j]), [Y, J, K], "y[jnp.arange(2), i, j]"),
    (of_rows(lambda y, j: y[:, j]), [Y, J], "y[jnp.arange(2), :, j]"),
    (of_rows(lambda y, i, j, v: y.at[i, j].add(v)), [Y, J, K, NEW], "y.at[jnp.arange(2), i, j].add(v)"),
    (of_rows(lambda y, j, v: y.at[j].max(v)), [Y, J, NEW_ROWS], "y.at[jnp.arange(2), j].max(v)"),
    (
        of_rows(lambda y, j: y.at[j].get(mode="clip", wrap_negative_indices=False)),
        [FLAT, J],
        'y.at[jnp.arange(2), j].get(mode="clip", wrap_negative_indices=False)',
    ),
    (
        of_rows(lambda y, j, v: y.at[j].add(v, wrap_negative_indices=False)),
        [FLAT, J, NEW],
        "y.at[jnp.arange(2), j].add(v, wrap_negative_indices=False)",
    ),
]


@pytest.mark.parametrize(("function", "args", "text"), CASES)
def test_rows_that_are_split(function: Callable[..., Any], args: list[Any], text: str) -> None:
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:4]), ("data",))
    split = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    program = shardc.from_jax(function, *args, in_shardings=(split,) * len(args))
    assert f"    return {text}\n" in program.source
    np.testing.assert_array_equal(program.main(*args), jax.jit(function)(*args))


def test_indices_of_two_dimensions_that_are_whole() -> None:
    program = shardc.from_jax(lambda y, i, j: y[i, :, j], Y, J, K)
    assert "    return y[i, :, j]\n" in program.source
    np.testing.assert_array_equal(program.main(Y, J, K), jax.jit(lambda y, i, j: y[i, :, j])(Y, J, K))


def test_one_order_of_several_arrays() -> None:
    """As batches are drawn of a tree: `jax.tree.map(lambda x: x[order], tree)`."""

    def f(x: Any, y: Any, z: Any, j: Any) -> Any:
        return jax.tree.map(lambda each: each[j], (x, y, z))

    program = shardc.from_jax(f, FLAT[:, 0], FLAT[:, 1], FLAT, J)
    assert "    return x[j], y[j], z[j]\n" in program.source
    args = FLAT[:, 0], FLAT[:, 1], FLAT, J
    for found, wanted in zip(program.main(*args), f(*map(jnp.asarray, args)), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_rows_by_an_index_each() -> None:
    """As a vmapped embedding's: the columns, all of which are taken, are no index, nor in gradients."""

    def gradient(y: Any, j: Any) -> Any:
        def squares(y: Any) -> Any:
            rows = jax.vmap(lambda at: y[at])(j)
            return jnp.sum(rows * rows)

        return jax.grad(squares)(y)

    program = shardc.from_jax(gradient, Y, J)
    assert "lax." not in program.source.partition("\ndef main")[0].partition("def device_main")[2]
    assert "jnp.clip(" in program.source and ".at[" in program.source and "].add(" in program.source
    np.testing.assert_array_equal(program.main(Y, J), jax.jit(gradient)(Y, J))


@pytest.mark.parametrize(
    "function",
    [
        lambda y, j: y[jnp.arange(ROWS - 1), j[1:]],  # not all rows
        lambda y, j: y[jnp.arange(ROWS) - 1, j],
        lambda y, j: y[jnp.arange(ROWS)[::-1], j],
        lambda y, j: jax.vmap(lambda row, at: jax.lax.dynamic_slice(row, (at,), (2,)))(y, j),
        lambda y, j: y.at[jnp.arange(ROWS), j].get(mode="fill", fill_value=-1),
        lambda y, j: jnp.take_along_axis(y, j[:, None], axis=1),
    ],
)
def test_others_are_right_too(function: Callable[..., Any]) -> None:
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:4]), ("data",))
    split = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    program = shardc.from_jax(function, FLAT, J, in_shardings=(split, split))
    np.testing.assert_array_equal(program.main(FLAT, J), jax.jit(function)(FLAT, J))
