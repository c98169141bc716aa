"""scan, fori_loop and tree_map, with functions as values, against jax.lax; and their errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shardc
from shardc.diagnostics import ShardcError
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from tests.tolerance import assert_computes, assert_right

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 8)).astype(np.float32)
XS = RNG.normal(size=(6, 4, 8)).astype(np.float32)
W = RNG.normal(size=(8, 8)).astype(np.float32)
B = RNG.normal(size=8).astype(np.float32)
N = np.int32(5)
HEADER = """mesh pod[data=2, model=2]
record Layer:
    w: f32[8, 8]
    b: f32[8]
def main(x: f32[4@data, 8], xs: f32[6, 4@data, 8], m: Layer, n: i32[]):
"""


def cell(w: Any, b: Any) -> Callable[[Any, Any], Any]:
    return lambda h, x: (jnp.tanh(h @ w + x + b), h * 2)


CASES: dict[str, tuple[str, Callable[..., Any]]] = {
    "scan": (
        "return scan(lambda h, x: (tanh(h @ m.w + x + m.b), h * 2), x, xs)",
        lambda x, xs, w, b, n: jax.lax.scan(cell(w, b), x, xs),
    ),
    "scan backwards, over a tuple": (
        "def f(c, x):\n        h, k = c\n        return (h * x[0][0] + m.b, k + 1), (h.sum(), x[1])\n"
        "    return lax.scan(f, (x, 0), (xs, xs[:, 0]), reverse=True)",
        lambda x, xs, w, b, n: jax.lax.scan(
            lambda c, x: ((c[0] * x[0][0] + b, c[1] + 1), (c[0].sum(), x[1])),
            (x, 0),
            (xs, xs[:, 0]),
            reverse=True,
        ),
    ),
    "scan over nothing": (
        "return scan(lambda h, _: (h + 1, None), x, length=3)[0]",
        lambda x, xs, w, b, n: x + 3,
    ),
    "scan of no turns": (
        "return scan(lambda h, x: (h + x, h), x, xs[:0])",
        lambda x, xs, w, b, n: (x, jnp.zeros((0, 4, 8))),
    ),
    "fori_loop": (
        "return jax.lax.fori_loop(1, 5, lambda i, v: (tanh(v[0] @ m.w) + i, v[1] + 1), (x, 0))",
        lambda x, xs, w, b, n: jax.lax.fori_loop(
            1, 5, lambda i, v: (jnp.tanh(v[0] @ w) + i, v[1] + 1), (x, 0)
        ),
    ),
    "fori_loop with a computed bound": (
        "return fori_loop(n - 3, n, lambda i, v: v * 0.5 + i * m.b, x)",
        lambda x, xs, w, b, n: jax.lax.fori_loop(n - 3, n, lambda i, v: v * 0.5 + i * b, x),
    ),
    "the gradient of a scan": (
        "f = lambda m: sum(scan(lambda h, x: (tanh(h @ m.w + x + m.b), None), x, xs)[0])\n"
        "    return tree_map(lambda p, d: p - 0.1 * d, m, grad(f)(m))",
        lambda x, xs, w, b, n: [
            p - 0.1 * d
            for p, d in zip(
                (w, b),
                jax.grad(lambda m: jnp.sum(jax.lax.scan(cell(*m), x, xs)[0]))((w, b)),
                strict=True,
            )
        ],
    ),
    "vmap of a scan": (
        "return vmap(lambda r: scan(lambda h, x: (h * x, h), r, xs[:, 0])[0])(x)",
        lambda x, xs, w, b, n: jax.vmap(lambda r: jax.lax.scan(lambda h, x: (h * x, h), r, xs[:, 0])[0])(x),
    ),
    "jax.tree.map": (
        "return jax.tree.map(lambda a, b: a + b, (x, [m.b, (xs,)]), (1, [m.b, (2,)]))",
        lambda x, xs, w, b, n: (x + 1, b + b, xs + 2),
    ),
}


@pytest.mark.parametrize("target", ["jax", "numpy"])
@pytest.mark.parametrize("name", CASES)
def test_as_jax(name: str, target: Any) -> None:
    """Both are compared with the program in f64: six layers of tanh may double a rounding in each."""
    body, reference = CASES[name]
    text, arrays = f"{HEADER}    {body}\n", [X, XS, W, B, N]
    made = jax.tree.leaves(shardc.compile(text, target=target).main(X, XS, (W, B), N))
    wanted = jax.tree.leaves(reference(*map(jnp.asarray, arrays)))
    assert [found.dtype for found in made] == [expected.dtype for expected in wanted]
    graph = snapshot(read(text, "p.shard")).graph
    assert_right(graph, graph, arrays, made, text)
    assert_computes(graph, arrays, wanted, text)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("scan(lambda h, x: h, x, xs)", "scan: this lambda returns f32[4, 8]"),
        (
            "scan(lambda h, x: (h[0], x), x, xs)",
            "the carry is f32[4, 8] before the loop and f32[8] after a turn",
        ),
        ("scan(lambda h, x: (h, x), x, (xs, x))", "scan of 6 and 4 layers"),
        ("scan(lambda h, x: (h, x), x)", "scan of no layers"),
        ("scan(lambda h, x: (h, x), x, n)", "scan: xs is i32[], and should be stacks"),
        ("scan(lambda h, x: (h, x), 'x', xs)", 'scan: the text "x" is no value to start from'),
        ("fori_loop(0, 2.5, lambda i, v: v, x)", "fori_loop: upper is f32[], and should be i32[]"),
        ("fori_loop(0, n, lambda i, v: v[0], x)", "val is f32[4, 8] before the loop and f32[8] after a turn"),
        ("fori_loop(0, 3, lambda i: i, x)", "this lambda takes 1 argument, and is given 2"),
        (
            "tree_map(lambda a, b: a, m, (x, x))",
            "tree_map of a Layer and the tuple (f32[4, 8], f32[4, 8]): they have other items",
        ),
        (
            "tree_map(lambda a, b: a, (x, x), (x,))",
            "tree_map of the tuple (f32[4, 8], f32[4, 8]) and the tuple (f32[4, 8]): they have other items",
        ),
    ],
)
def test_errors(expression: str, message: str) -> None:
    with pytest.raises(ShardcError) as caught:
        read(f"{HEADER}    return {expression}\n", "p.shard")
    assert caught.value.diagnostic.message == message
