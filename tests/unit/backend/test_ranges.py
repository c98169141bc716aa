"""Integers that cannot be negative are written so: % for a remainder, no detour for indices from the end."""

from __future__ import annotations

import numpy as np
import pytest

import shardc

BODY = """mesh pod[i=4]
@shard_map
def main(x: f32[16@i, 8], n: i32[]) -> f32[4@i, 8]:
    place = {}
    return dynamic_slice(x, (place, 0), (1, 8))
"""


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("axis_index(i)", 'place = lax.axis_index("i")'),
        ("3 - axis_index(i)", 'place = 3 - lax.axis_index("i")'),
        ('op("stablehlo.remainder", axis_index(i) * 3 + 1, i32(4))', '(lax.axis_index("i") * 3 + 1) % 4'),
    ],
)
def test_not_negative(place: str, text: str) -> None:
    source = shardc.compile(BODY.format(place)).source
    assert text in source
    assert "jnp.where" not in source


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("n", "jnp.where"),
        ("axis_index(i) - 1", "jnp.where"),
        ('op("stablehlo.remainder", axis_index(i) - 1, i32(4))', "lax.rem"),
        ('op("stablehlo.remainder", axis_index(i) * 2147483647, i32(4))', "lax.rem"),
        ('op("stablehlo.remainder", axis_index(i), n)', "lax.rem"),
    ],
)
def test_maybe_negative(place: str, text: str) -> None:
    assert text in shardc.compile(BODY.format(place)).source


@pytest.mark.parametrize("target", ["jax", "numpy"])
def test_the_same_element(target: str) -> None:
    if target == "jax":
        pytest.importorskip("jax")
    x = np.arange(128, dtype=np.float32).reshape(16, 8)
    program = shardc.compile(BODY.format("3 - axis_index(i)"), target=target)
    np.testing.assert_array_equal(program.main(x, np.int32(0)), x[[3, 6, 9, 12]])
