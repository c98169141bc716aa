"""Programs with functions for any shape, records, lambdas and loops that collect, against NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.interpret.run import run
from tests.tolerance import assert_near

Arrays = tuple[np.ndarray, ...]

X = np.arange(12, dtype=np.float32).reshape(3, 4) - 5
Y = np.linspace(-2, 3, 12, dtype=np.float32).reshape(3, 4)

LAYER = "record Layer:\n    w: f32[4]\n    b: f32[4]\n"

CASES: dict[str, tuple[str, Callable[[], tuple[object, ...]]]] = {
    "defaults": (
        "def f(x, k=2, *, add=1.5):\n    return x * k + add\n"
        "def main(x: f32[3, 4], y: f32[3, 4]):\n    return f(x), f(y, 3), f(x, add=y), f(x, k=y)\n",
        lambda: (X * 2 + 1.5, Y * 3 + 1.5, X * 2 + Y, X * Y + 1.5),
    ),
    "names in a row": (
        "def main(x: f32[3, 4], y: f32[3, 4]):\n    a = b = x + 1\n    c, d = e = (x, y)\n"
        "    (f, *g), h = *i, j = (x, y, a), b\n    b += 1\n"
        "    return a, b, c + d, e[1], f, g[1] * h, i[0][1] + j\n",
        lambda: (X + 1, X + 2, X + Y, Y, X, (X + 1) ** 2, Y + X + 1),
    ),
    "stars": (
        "def f(a, b, c):\n    return a - b * c\n"
        "def main(x: f32[3, 4], y: f32[3, 4]):\n    *b, d = x.shape\n    first, *rest = x\n    p = [y, 2]\n"
        "    return f(x, *p), zeros((*b, d, *range(2, 4))), first + rest[1], stack([*x, *y]), *p\n",
        lambda: (
            X - Y * 2,
            np.zeros((3, 4, 2, 3), np.float32),
            X[0] + X[2],
            np.concatenate([X, Y]),
            Y,
            np.int32(2),
        ),
    ),
    "numbers as fields": (
        "record Many:\n    n: f32[]\n    p: (f32[], i32[])\n"
        "def main(x: f32[3, 4], y: f32[3, 4]):\n    m = Many(2, (3, 4))\n    return m.n, m.p[0], m.p[1]\n",
        lambda: (np.float32(2), np.float32(3), np.int32(4)),
    ),
    "functions inside functions": (
        "def main(x: f32[3, 4], y: f32[3, 4]):\n    k = 2\n"
        '    def f(a: f32[*B, N], by=3.0, *, add: float = 0) -> f32[*B, N]:\n        """Inside."""\n'
        "        def g(b: f32[N]):\n            return b * k + add\n"
        "        return a * by + g(y[0])\n"
        "    k = 5\n    twice = lambda h, a: h(h(a))\n"
        "    return f(x), f(by=x, a=y, add=1), twice(f, x[1]), vmap(f)(x)\n",
        lambda: (
            X * 3 + Y[0] * 2,
            X * Y + Y[0] * 2 + 1,
            (X[1] * 3 + Y[0] * 2) * 3 + Y[0] * 2,
            X * 3 + Y[0] * 2,
        ),
    ),
    "a function inside a loop": (
        "def main(x: f32[3, 4], y: f32[3, 4]):\n    h = y\n"
        "    for i, row in enumerate(x) carrying h collecting n:\n"
        "        def step(a):\n            return a + row * i\n"
        "        n = h = step(h)\n    return h, n, grad(lambda a: sum(h * a))(x)\n",
        lambda: (
            Y + X[1] + 2 * X[2],
            np.stack([Y, Y + X[1], Y + X[1] + 2 * X[2]]),
            Y + X[1] + 2 * X[2],
        ),
    ),
    "texts and branches": (
        "def act(x, kind='relu'):\n"
        "    if kind == 'relu':\n        return maximum(x, 0)\n"
        "    elif kind == 'square':\n        return x * x\n"
        "    assert kind == 'none', 'no such activation'\n    return x\n"
        "def main(x: f32[3, 4], y: f32[3, 4]):\n    return act(x), act(y, 'square'), act(x, kind='none')\n",
        lambda: (np.maximum(X, 0), Y * Y, X),
    ),
    "leading dimensions": (
        "def mean_of(x: f32[*B, N]) -> f32[*B]:\n    return sum(x, axis=-1) / N\n"
        "def main(x: f32[3, 4], y: f32[3, 4]):\n"
        "    return mean_of(x), mean_of(y[0]), mean_of(stack([x, y]))\n",
        lambda: (X.mean(1), Y[0].mean(), np.stack([X, Y]).mean(-1)),
    ),
    "sizes in bodies": (
        "def pad_twice(x: f32[N, M]) -> f32[N + 2 * M, M]:\n    return pad(x, ((M, M), (0, 0)))\n"
        "def main(x: f32[3, 4], y: f32[3, 4]):\n    return pad_twice(x)\n",
        lambda: (np.pad(X, ((4, 4), (0, 0))),),
    ),
    "tuples": (
        "def swap(p):\n    a, b = p\n    return b, a\n"
        "def both(p: (f32[A, B], f32[A, B]), q):\n    return p[0] + p[1] * q[1] + q[0]\n"
        "def main(x: f32[3, 4], y: f32[3, 4]):\n    return both(swap((x, y)), (x[0], 2))\n",
        lambda: (Y + 2 * X + X[0],),
    ),
    "records": (
        LAYER + "def step(h, layer: Layer) -> Layer:\n    return Layer(layer.w + h, b=layer.b * 2)\n"
        "def main(x: f32[3, 4], y: f32[3, 4]):\n"
        "    made = step(x[2], Layer(w=x[0], b=y[1]))\n    w, b = made\n    return w, b, made.w + made[1]\n",
        lambda: (X[0] + X[2], Y[1] * 2, X[0] + X[2] + Y[1] * 2),
    ),
    "a stack of records": (
        LAYER + "def main(x: f32[3, 4], y: f32[3, 4]):\n    h = zeros(4)\n"
        "    for layer in Layer(x, y) carrying h collecting seen:\n"
        "        h = h * layer.w + layer.b\n        seen = Layer(h, layer.b)\n    return h, seen.w, seen.b\n",
        lambda: (*_scan(X, Y)[:2], Y),
    ),
    "reversed": (
        "def main(x: f32[3, 4], y: f32[3, 4]):\n    h = zeros(4)\n"
        "    for w, b in reversed(zip(x, y)) carrying h collecting seen:\n"
        "        h = h * w + b\n        seen = h\n    return h, seen\n",
        lambda: (_scan(X[::-1], Y[::-1])[0], _scan(X[::-1], Y[::-1])[1][::-1]),
    ),
    "steps": (
        "def main(x: f32[3, 4], y: f32[3, 4]):\n    h = x[0]\n"
        "    for i in range(7, 0, -3) carrying h collecting seen:\n"
        "        h = h + i\n        seen = i\n    return h, seen\n",
        lambda: (X[0] + 12, np.array([7, 4, 1], np.int32)),
    ),
    "lambdas": (
        "def fold(f, x, h):\n    for row in x carrying h:\n        h = f(h, row)\n    return h\n"
        "def main(x: f32[3, 4], y: f32[3, 4]):\n    k = y[0]\n"
        "    return fold(lambda h, r: h * 0.5 + r * k, x, k)\n",
        lambda: (_fold(),),
    ),
    "while": (
        "def main(x: f32[3, 4], y: f32[3, 4]):\n    s = abs(y[0])\n"
        "    a, n = while_loop(lambda a, n: sum(a) < 50, lambda a, n: (a + s + 1, n + 1), (s, 0))\n"
        "    return a, n\n",
        lambda: _while(),
    ),
}


def _scan(xs: np.ndarray, ys: np.ndarray) -> Arrays:
    h, seen = np.zeros(4, np.float32), []
    for x, y in zip(xs, ys, strict=True):
        h = h * x + y
        seen.append(h)
    return h, np.stack(seen)


def _fold() -> np.ndarray:
    h = Y[0]
    for row in X:
        h = h * 0.5 + row * Y[0]
    return h


def _while() -> tuple[object, ...]:
    a, n = np.abs(Y[0]), 0
    while a.sum() < 50:
        a, n = a + np.abs(Y[0]) + 1, n + 1
    return a, np.int32(n)


@pytest.mark.parametrize("name", CASES)
def test_against_numpy(name: str) -> None:
    source, expected = CASES[name]
    graph = snapshot(read(source, "p.shard")).graph
    results = run(graph, [X, Y])
    wanted = expected()
    assert len(results) == len(wanted)
    for result, array in zip(results, wanted, strict=True):
        assert_near(result, array)
        assert np.asarray(result).dtype == np.asarray(array).dtype
