"""associative_scan against jax.lax.associative_scan, and what it sends along a dimension that is split."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shardc
from shardc.diagnostics import ShardcError
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.interpret.run import run
from tests.tolerance import assert_near

jax = pytest.importorskip("jax")
jnp, lax = jax.numpy, jax.lax

RNG = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def results(text: str, *args: np.ndarray) -> list[np.ndarray]:
    return run(snapshot(read(text, "test.shard")).graph, args)


def close(found: Any, expected: Any) -> None:
    assert_near(found, expected, terms=256)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 5, 8, 12, 15, 16, 31, 48])
@pytest.mark.parametrize("mesh", ["", "mesh m[r=4]\n"])
@pytest.mark.parametrize("reverse", [False, True])
def test_every_size(size: int, mesh: str, reverse: bool):
    x = 1 + 0.1 * normal(2, size)
    text = f"{mesh}def main(x: f32[2, {size}]):\n"
    text += f"    return associative_scan(multiply, x, reverse={reverse}, axis=1)\n"
    close(results(text, x)[0], lax.associative_scan(jnp.multiply, x, reverse=reverse, axis=1))


def test_tuples_in_an_order_that_matters():
    text = """
def affine(a, b):
    return a[0] * b[0], b[0] * a[1] + b[1]

def main(d: f32[24, 3], x: f32[24, 3], m: f32[24, 2, 2]):
    p, h = associative_scan(affine, (d, x))
    return p, h, associative_scan(lambda a, b: einsum("nij,njk->nik", a, b), m)
"""
    d, x, m = normal(24, 3), normal(24, 3), normal(24, 2, 2)

    def affine(a, b):
        return a[0] * b[0], b[0] * a[1] + b[1]

    p, h, product = results(text, d, x, m)
    expected = lax.associative_scan(affine, (d, x))
    close(p, expected[0])
    close(h, expected[1])
    close(product, lax.associative_scan(lambda a, b: jnp.einsum("nij,njk->nik", a, b), m))


def test_a_gradient_where_the_function_divides():
    text = """
def main(x: f32[10]):
    return grad(lambda x: sum(x * associative_scan(lambda a, b: a * b / (a + b), x)))(x)
"""
    x = 1 + np.abs(normal(10))

    def loss(x):
        return jnp.sum(x * lax.associative_scan(lambda a, b: a * b / (a + b), x))

    close(results(text, x)[0], jax.grad(loss)(x))


def test_along_a_split_dimension_borders_are_exchanged():
    text = """
mesh ring[r=4]
def main(x: f32[1024@r]) -> f32[1024@r]:
    return associative_scan(lambda a, b: logaddexp(a, b), x)

def logaddexp(a, b):
    top = maximum(a, b)
    return top + log(exp(a - top) + exp(b - top))
"""
    cost = shardc.cost(text)
    halvings, devices = 7, 4
    assert cost.bytes <= 4 * (halvings + 2 * devices)
    assert not [one for one in cost.collectives if one.bytes > 16]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("associative_scan(add, (x, y))", "the tensors have 4, 6 elements along axis 0"),
        ("associative_scan(lambda a, b: sum(a), x)", r"this lambda of f32\[2\] gives f32\[\]"),
        ("associative_scan(add, 3)", "elems is tensors, not the number 3"),
        ("associative_scan(x, x)", "fn is a function of the program or a lambda, not"),
        ("associative_scan(add, x, axis=1)", "axis 1 is out of range"),
        ("x + sin", "sin is a function; call it"),
    ],
)
def test_what_is_wrong(call: str, message: str):
    with pytest.raises(ShardcError, match=message):
        read(f"def main(x: f32[4], y: f32[6]):\n    return {call}\n", "t.shard")
