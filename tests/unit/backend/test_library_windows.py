"""Dynamic slices under jax.vmap: windows that begin at a place of their own for each row, in one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shardc

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
lax = pytest.importorskip("jax.lax")

ROWS = 8
FLAT = np.arange(ROWS * 6, dtype=np.float32).reshape(ROWS, 6)
DEEP = np.arange(ROWS * 6 * 5 * 2, dtype=np.float32).reshape(ROWS, 6, 5, 2)
AT = np.array([0, 5, -1, -6, 6, 99, -7, -99], np.int32)  # inside, from the end, beyond both ends
BACK = AT[::-1].copy()
PAIRS = np.stack([AT, BACK], axis=1)
NEW = -np.ones((ROWS, 3), np.float32)
PATCH = -np.ones((ROWS, 2, 3, 2), np.float32)


def part(row: Any, i: Any) -> Any:
    return lax.dynamic_slice_in_dim(row, i, 3)


def patch(row: Any, i: Any, j: Any) -> Any:
    return lax.dynamic_slice(row, (i, j, 0), (2, 3, 2))


def put(row: Any, new: Any, i: Any) -> Any:
    return lax.dynamic_update_slice_in_dim(row, new, i, axis=0)


def put_patch(row: Any, new: Any, i: Any, j: Any) -> Any:
    return lax.dynamic_update_slice(row, new, (i, j, 0))


def put_inside(row: Any, new: Any, i: Any) -> Any:
    return put(row, new, jnp.clip(i, 0, 3))


def uncounted(row: Any, i: Any) -> Any:
    return lax.dynamic_slice_in_dim(row, i, 3, allow_negative_indices=False)


def parts(row: Any, several: Any) -> Any:
    return jax.vmap(lambda i: part(row, i))(several)


def part_narrow(row: Any, i: Any) -> Any:
    return part(row, jnp.int8(i))


SLICED = "lax.dynamic_slice_in_dim(row, i, 3, axis=0"
UPDATED = "lambda row, new, i: lax.dynamic_update_slice_in_dim(row, new, i, axis=0)"

CASES: list[tuple[Callable[..., Any], list[Any], str]] = [
    (part, [FLAT, AT], f"jax.vmap(lambda row, i: {SLICED}))("),
    (patch, [DEEP, AT, BACK], "lambda row, i, j: lax.dynamic_slice(row, (i, j, 0), (2, 3, 2))"),
    (put, [FLAT, NEW, AT], UPDATED),
    (
        put_patch,
        [DEEP, PATCH, AT, BACK],
        "lambda row, new, i, j: lax.dynamic_update_slice(row, new, (i, j, 0))",
    ),
    (put_inside, [FLAT, NEW, AT], UPDATED),
    (uncounted, [FLAT, AT], f"lambda row, i: {SLICED}, allow_negative_indices=False)"),
    (parts, [FLAT, PAIRS], f"jax.vmap(lambda row, i: {SLICED}), in_axes=(None, 0))"),
    (
        jax.vmap(part),
        [np.stack([FLAT, -FLAT], axis=1), PAIRS],
        f"jax.vmap(jax.vmap(lambda row, i: {SLICED})))(",
    ),
    (part_narrow, [FLAT, AT], f"lambda row, i: {SLICED})"),
]


def compiled(function: Callable[..., Any], args: list[Any]) -> Any:
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:4]), ("data",))
    split = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    return shardc.from_jax(function, *args, in_shardings=(split,) * len(args))


@pytest.mark.parametrize(("function", "args", "text"), CASES)
def test_a_window_of_each_row(function: Callable[..., Any], args: list[Any], text: str) -> None:
    program = compiled(lambda *args: jax.vmap(function)(*args), args)
    assert text in program.source
    np.testing.assert_array_equal(program.main(*args), jax.jit(jax.vmap(function))(*args))


def test_windows_of_one_array() -> None:
    """As batches are drawn of a long text; the array may be called as a start is."""

    def batch(i: Any, starts: Any) -> Any:
        return jax.vmap(lambda start: lax.dynamic_slice(i, (start,), (3,)))(starts)

    program = compiled(batch, [np.arange(8.0, dtype=np.float32), AT])
    assert "jax.vmap(lambda j: lax.dynamic_slice_in_dim(i, j, 3, axis=0))(" in program.source
    args = np.arange(8.0, dtype=np.float32), AT
    np.testing.assert_array_equal(program.main(*args), jax.jit(batch)(*args))
