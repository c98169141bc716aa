"""Stencils and their derivatives send the rows that cross a border of blocks, and no more.

What they compute is compared in tests/corpus/movement.py.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import shardc
from shardc.jaxside.lowered import Lowered

ROWS = jax.ShapeDtypeStruct((8192, 32), jnp.float32)


def padded(u: jax.Array) -> jax.Array:
    p = jnp.pad(u, 1)
    return p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4.0 * u


def wide(u: jax.Array) -> jax.Array:
    p = jnp.pad(u, ((2, 2), (0, 0)))
    return sum((weight * p[at : at + len(u)] for at, weight in enumerate((0.1, 0.2, 0.4, 0.2, 0.1))), u)


def edge(u: jax.Array) -> jax.Array:
    p = jnp.pad(u, ((1, 1), (0, 0)), mode="edge")
    return p[2:] + p[:-2] - 2.0 * u


def shifted(u: jax.Array) -> jax.Array:
    return jnp.pad(u, ((1, 0), (0, 0)))[:-1] + jnp.pad(u, ((0, 1), (0, 0)))[1:]


def joined(u: jax.Array) -> jax.Array:
    border = jnp.zeros_like(u[:1])
    return jnp.concatenate([border, u[:-1]]) + jnp.concatenate([u[1:], border])


def inside(u: jax.Array) -> jax.Array:
    return u.at[1:-1].add(0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2]))


def derivative(f: Callable[[jax.Array], jax.Array]) -> Callable[[jax.Array], jax.Array]:
    return jax.grad(lambda u: jnp.sum(jnp.sin(f(u))))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("function", "rows"),
    [
        (padded, 2),
        (derivative(padded), 4),
        (wide, 6),  # one and two rows, up and down
        (derivative(wide), 12),
        (edge, 2),
        (derivative(edge), 6),  # the last row goes to the first device and back
        (shifted, 2),
        (derivative(shifted), 4),
        (joined, 2),
        (derivative(joined), 4),
        (inside, 2),
        (derivative(inside), 6),
    ],
)
def test_rows_cross_borders(function: Callable[[jax.Array], jax.Array], rows: int) -> None:
    assert by_rows(function).cost().bytes == rows * 32 * 4


@pytest.mark.parametrize("function", [joined, derivative(joined)])
def test_borders_that_are_joined_are_no_padding(function: Callable[[jax.Array], jax.Array]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # that a border of one row is padded to eight
        assert "jnp.where(" not in by_rows(function).source


def by_rows(function: Callable[[jax.Array], jax.Array]) -> Lowered:
    """A function of 8192 rows on eight devices."""
    split = NamedSharding(Mesh(np.array(jax.devices()[:8]), ("x",)), P("x"))
    return shardc.jit(function, in_shardings=split, out_shardings=split).lower(ROWS)
