"""Programs whose emitted texts are read back, by the tests of both readers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.graph import Graph
from shardc.passes.pipeline import run_to

LAYER = """
mesh pod[data=2, model=4]
size B = 64, D = 128, F = 256
def layer(x: f32[B@data, D], w1: f32[D, F@model], w2: f32[F@model, D]) -> f32[B@data, D]:
    y = relu(x @ w1) @ w2
    return softmax(y * rsqrt(mean(y * y, axis=-1, keepdims=True) + 1e-6) - x)
"""
MOVES = """
mesh m[x=4]
def f(x: f32[32@x, 12], w: f32[12, 16@x]) -> f32[32@x, 10]:
    y = (x @ w)[:, 2:12]
    return concatenate([y[:, 5:], y[:, :5]], 1) - cumsum(y, 0)
"""
HALO = """
mesh m[x=4]
def f(x: f32[32@x, 12]) -> f32[32@x, 12]:
    return concatenate([x[1:], x[:1]], 0) - 2.0 * x + cumsum(x, 0)
"""
MOVED = """
mesh m[x=2, y=4]
def f(x: f32[64@(x, y), 128], w: f32[64@y, 16]) -> (f32[64, 128@(y, x)], f32[16@x]):
    return x * 2.0, sum(sigmoid(w), 0)
"""
UNEVEN = """
mesh m[x=4]
def f(x: f32[30@x, 128]) -> f32[128]:
    return max(x, 0) + sum(x, 0)
"""
MASKED = """
mesh m[x=4]
def f(x: f32[30@x, 128], m: f32[128]) -> f32[128]:
    return max(x, 0) + sum(where(x > m, x, m), 0)
"""
TAKE = """
mesh m[x=4]
def f(t: f32[64@x, 128], i: i32[8]) -> f32[8, 128]:
    return take(t, i, 0)
"""
LOOP = """
mesh m[x=4]
def f(x: f32[16@x, 32], ws: f32[6, 32, 32@x]) -> f32[16@x, 32]:
    for w in ws carrying x:
        x = tanh(x @ w) + x
    return x
"""
TWO_LOOPS = """
mesh m[x=4]
def f(x: f32[8, 16], ws: f32[6, 16, 16@x]) -> f32[8, 16]:
    for w in ws carrying x:
        h = tanh(x @ w)
        x = x + h @ transpose(w, (1, 0))
    for w in ws carrying x:
        h = tanh(x @ w + 1.0) * tanh(x @ w)
        x = x - h @ transpose(w, (1, 0))
    h = x * 2.0
    return h + h * exp(h)
"""
STACKED = """
mesh m[x=4]
def f(x: f32[8@x, 6, 32], w: f32[32, 16], v: f32[16]) -> f32[8@x, 6]:
    return (x @ w) @ v
"""
WIDE = """
mesh m[x=4]
def f(x: f64[16@x, 32], i: i64[16@x]) -> (f64[32], i64[]):
    return sum(x, 0), max(i)
"""
SPECTRAL = """
mesh m[x=4]
def f(a: c64[32@x, 16], b: c64[16, 8@x], r: f32[32@x, 12]) -> (c64[32, 8], f32[32@x, 12]):
    h = fft(a @ b, axis=0)
    w = rfft(r, axis=1)
    return conj(h) / (1.0 + h * h) + imag(h).astype(c64), irfft(w * w, axis=1) + abs(sum(h, 1))[:, None]
"""
PROGRAMS = {
    "stacked": STACKED, "layer": LAYER, "moves": MOVES, "halo": HALO, "moved": MOVED, "uneven": UNEVEN,
    "masked": MASKED, "take": TAKE, "loop": LOOP, "two loops": TWO_LOOPS,
    "wide": WIDE, "spectral": SPECTRAL,
}  # fmt: skip


@cache
def emitted(program: str, emit: Callable[[Graph], str]) -> tuple[Graph, str]:
    """The global program, and the text of the local one."""
    module = read(program, "test.shard", {}, None)
    whole = snapshot(module.clone()).graph
    run_to(make_context(), module, "local")
    return whole, emit(snapshot(module).graph)
