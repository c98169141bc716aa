"""Integers that cannot be negative are written so: % for a remainder, no detour for indices from the end."""

from __future__ import annotations

import numpy as np
import pytest

import shardc
from shardc.backend.shard import emit
from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.passes.pipeline import run_to

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
        ("(axis_index(i) - n) % 4", 'place = (lax.axis_index("i") - n) % 4'),
        ("(n & 3) + axis_index(i)", 'place = (n & 3) + lax.axis_index("i")'),
        ("(axis_index(i) + 1) // 2", 'place = (lax.axis_index("i") + 1) // 2'),
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
        ('op("stablehlo.remainder", axis_index(i) - 1, i32(4))', "lax.rem"),
        ('op("stablehlo.remainder", axis_index(i) * 2147483647, i32(4))', "lax.rem"),
        ('op("stablehlo.remainder", axis_index(i), n)', "lax.rem"),
    ],
)
def test_maybe_negative(place: str, text: str) -> None:
    assert text in shardc.compile(BODY.format(place)).source


@pytest.mark.parametrize("place", ["n", "axis_index(i) - 1"])
def test_counted_from_the_end(place: str) -> None:
    """JAX's own slices count so; NumPy's program does it."""
    assert "np.where(" in shardc.compile(BODY.format(place), target="numpy").source
    source = shardc.compile(BODY.format(place)).source
    assert ", 1, axis=0)" in source
    assert "jnp.where" not in source


@pytest.mark.parametrize("target", ["jax", "numpy"])
def test_the_same_element(target: str) -> None:
    if target == "jax":
        pytest.importorskip("jax")
    x = np.arange(128, dtype=np.float32).reshape(16, 8)
    program = shardc.compile(BODY.format("3 - axis_index(i)"), target=target)
    np.testing.assert_array_equal(program.main(x, np.int32(0)), x[[3, 6, 9, 12]])


ROUNDED = """mesh pod[i=4]
@shard_map
def main(x: i32[16@i], y: i8[16@i], n: i32[]) -> (i32[16@i], i32[16@i], i8[16@i], i32[16@i], f32[16@i]):
    return x % 5, (x - axis_index(i)) // 3, y // 2 % 3, x % n - x // n, (x / 4) % 1.5
"""


@pytest.mark.parametrize("target", ["jax", "numpy"])
def test_rounded_down(target: str) -> None:
    """% and // of integers by a number are Python's; NumPy's by what may be negative are spelled out."""
    if target == "jax":
        pytest.importorskip("jax")
    x, y = np.arange(-8, 8, dtype=np.int32), np.arange(-8, 8, dtype=np.int8)
    program = shardc.compile(ROUNDED, target=target)
    for n in (-3, 5):
        by = x - np.repeat(np.arange(4, dtype=np.int32), 4)
        small, quarters = y // np.int8(2) % np.int8(3), x / np.float32(4)
        want = x % 5, by // 3, small, x % n - x // n, quarters % np.float32(1.5)
        for one, other in zip(program.main(x, y, np.int32(n)), want, strict=True):
            np.testing.assert_array_equal(np.asarray(one), other.astype(one.dtype))
    text = program.source
    assert "x % 5" in text and " // 3" in text and "y // 2 % 3" in text
    assert ("% 1.5" in text) == (target == "jax")  # as jax.numpy lowers %; NumPy's of floats differs


def test_in_the_language() -> None:
    with collecting():
        module = read(ROUNDED, "p.shard")
        run_to(make_context(), module, "local")
    text = emit(snapshot(module).graph)
    for line in ("x % 5,", "(x - axis_index(i)) // 3,", "y // 2 % 3,", "x % n - x // n,"):
        assert f"        {line}\n" in text
    assert "f32) / 4.0 % 1.5,\n" in text and "remainder" not in text
