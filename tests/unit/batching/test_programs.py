"""vmap in whole programs: records, rules of derivatives, per-device code, random numbers, splits, errors."""

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
jnp = jax.numpy


def results(text: str, *args: np.ndarray) -> list[np.ndarray]:
    return run(snapshot(read(text, "test.shard")).graph, args)


def close(found: Any, expected: Any) -> None:
    assert_near(found, expected, terms=64, dtype="f32")


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def test_records_tuples_and_none():
    text = """
record P:
    w: f32[4, 3]
    b: f32[3]

def layer(p: P, pair, scale):
    x, y = pair
    return tanh(x @ p.w + p.b) * scale, P(p.w + y, p.b)

def main(p: P, ps: P[5], x: f32[5, 4], y: f32[]):
    one, q = vmap(layer, in_axes=(None, (0, None), None), out_axes=(1, 0))(p, (x, y), 2)
    mixed = vmap(lambda w, b: P(w, b), in_axes=(0, None), out_axes=P(0, None))(ps.w, p.b)
    two, r = vmap(layer, in_axes=(P(0, None), (0, None), None))(mixed, (x, y), 2)
    return one, q.w, q.b, two, r.w, r.b
"""
    w, b, ws, bs, x = normal(4, 3), normal(3), normal(5, 4, 3), normal(5, 3), normal(5, 4)
    y = np.array(0.5, np.float32)

    def layer(w, b, x, y):
        return jnp.tanh(x @ w + b) * 2, w + y, b

    found = results(text, w, b, ws, bs, x, y)
    for mine, theirs in zip(
        found,
        (
            *jax.vmap(layer, (None, None, 0, None), (1, 0, 0))(w, b, x, y),
            *jax.vmap(layer, (0, None, 0, None))(ws, b, x, y),
        ),
        strict=True,
    ):
        close(mine, theirs)


def test_rules_of_derivatives_are_those_of_each_slice():
    text = """
def forward(x: f32[4], s: f32[]):
    return log(1 + exp(x)) * s, (x, s)

def backward(saved, ct):
    x, s = saved
    return ct * sigmoid(x) * 3 * s, None

@custom_vjp(forward, backward)
def smooth(x: f32[4], s: f32[]) -> f32[4]:
    return log(1 + exp(x)) * s

@remat
def layer(x: f32[4], w: f32[4]) -> f32[4]:
    return smooth(x * w, 2.0)

def main(x: f32[5, 4], w: f32[4]):
    total = lambda x, w: sum(vmap(layer, in_axes=(0, None))(x, w))
    by_x, by_w = grad(total, (0, 1))(x, w)
    return by_x, by_w, vmap(grad(lambda x: sum(layer(x, w))))(x), grad(lambda x: sum(smooth(x[0], 1.0)))(x)
"""
    x, w = normal(5, 4), normal(4)
    sigmoid = 1 / (1 + np.exp(-x * w))
    by_x, by_w, each, one = results(text, x, w)
    close(by_x, 6 * sigmoid * w)
    close(by_w, np.sum(6 * sigmoid * x, 0))
    close(each, by_x)
    close(one[0], 3 / (1 + np.exp(-x[0])))


def test_jacobians_and_hessians():
    text = """
def f(x: f32[4], w: f32[3, 4]):
    return tanh(w @ x) * x[0]

def main(x: f32[4], w: f32[3, 4]):
    total = lambda x: sum(f(x, w) ** 2)
    each = vmap(jacrev(f), (None, 0))(x, stack((w, w)))
    return jacrev(f)(x, w), jacfwd(f)(x, w), jacfwd(f, 1)(x, w), hessian(total)(x), each
"""
    x, w = normal(4), normal(3, 4)

    def f(x, w):
        return jnp.tanh(w @ x) * x[0]

    back, forth, by_w, second, each = results(text, x, w)
    close(back, jax.jacrev(f)(x, w))
    close(forth, back)
    close(by_w, jax.jacfwd(f, 1)(x, w))
    close(second, jax.hessian(lambda x: jnp.sum(f(x, w) ** 2))(x))
    close(each, np.stack((back, back)))


def test_loops_that_end_at_different_turns():
    text = """
def collatz(n: i32[]) -> i32[]:
    turns = 0
    while n > 1 carrying n, turns:
        n = where(n % 2 == 0, n // 2, 3 * n + 1)
        turns = turns + 1
    return turns

def rows(x, n: f32[3]):
    total = sum(x) * 0
    for row in x carrying total collecting totals:
        total = total * 0.5 + dot(row, n)
        totals = total
    return totals

def main(n: i32[7], x: f32[4, 3], ns: f32[5, 3]):
    return vmap(collatz)(n), vmap(rows, (None, 0))(x, ns), vmap(grad(lambda n: rows(x, n)[3]))(ns)
"""
    n, x, ns = np.array([1, 2, 3, 7, 9, 27, 6], np.int32), normal(4, 3), normal(5, 3)
    turns, rows, slopes = results(text, n, x, ns)
    np.testing.assert_array_equal(turns, [0, 1, 7, 16, 19, 111, 8])
    weights = np.array([0.125, 0.25, 0.5, 1], np.float32)
    close(rows[:, 3], (ns @ x.T) @ weights)
    close(slopes, np.broadcast_to(weights @ x, (5, 3)))


def test_random_numbers_of_many_keys():
    text = """
def main(keys: u32[5, 2]):
    return vmap(lambda k: normal(k, (3,)))(keys), vmap(lambda k, n: uniform(k, (2,)) + n)(keys, arange(5))
"""
    keys = jax.random.key_data(jax.random.split(jax.random.key(3), 5))
    with jax.threefry_partitionable(True):
        wrapped = jax.random.wrap_key_data(keys)
        normals = jax.vmap(lambda k: jax.random.normal(k, (3,)))(wrapped)
        uniforms = jax.vmap(lambda k, n: jax.random.uniform(k, (2,)) + n)(wrapped, jnp.arange(5))
    found = results(text, np.asarray(keys))
    close(found[0], normals)
    close(found[1], uniforms)


DEVICES = """
mesh pod[i=4, j=2]

@shard_map
def ring(x: f32[8@i]) -> f32[8@i]:
    return x * 2 + ppermute(x, i, ((0, 1), (1, 2), (2, 3), (3, 0)))

@shard_map
def inside(x: f32[8@i, 6]) -> (f32[8@i, 6], f32[8@i, 6]):
    y = vmap(lambda v: v * axis_index(i) + psum(v, i))(x)
    return y, vmap(grad(lambda v: sum(tanh(psum(v, i)) * v)))(x)

def main(x: f32[8@i, 6]):
    y, g = inside(x)
    return vmap(ring, 1, 1)(x), grad(lambda x: sum(vmap(ring, 1)(x) ** 2))(x), y, g
"""


def test_per_device_code_of_every_slice():
    x = normal(8, 6)
    rolled, slope, inside, _ = results(DEVICES, x)
    close(rolled, 2 * x + np.roll(x, 2, axis=0))
    close(slope, 4 * rolled + 2 * np.roll(rolled, -2, axis=0))
    totals = np.tile(x.reshape(4, 2, 6).sum(0), (4, 1))
    close(inside, x * np.repeat(np.arange(4), 2)[:, None] + totals)
    assert sorted(one.op for one in shardc.cost(DEVICES).collectives) == ["all-reduce"] * 2 + ["permute"] * 2


SPLIT = """
layer_norm(v @ w)
softmax(v[:, None] + v, axis=0) @ w
grad(lambda u: sum(tanh(u @ w) ** 2))(v)
grad(lambda w: sum(tanh(v @ w) ** 2))(w)
sort(v)
v[argsort(w[:, 0])]
w[argmax(v)]
v.at[argmax(v)].set(0)
dynamic_slice(v, (argmax(v),), (2,))
conv(v[None, None, :], w[None, None, :3, 0])
conv(v[None, None, :], v[None, None, :3])
cond(sum(v) > 0, lambda v: v, lambda v: -v, v)
associative_scan(add, v)
cumsum(v)
""".strip().splitlines()


@pytest.mark.parametrize("expression", SPLIT)
def test_slices_that_are_split_stay_where_they_are(expression: str):
    """What each slice needs is its own: nothing is sent, whatever the function."""
    text = f"def main(x: f32[8@i, 6], w: f32[6, 5]):\n    return vmap(lambda v: {expression})(x)\n"
    assert not shardc.cost("mesh pod[i=4]\n" + text).collectives
    args = normal(8, 6), normal(6, 5)
    compiled = shardc.compile("mesh pod[i=4]\n" + text, target="numpy")
    close(compiled.main(*args), results(text.replace("@i", ""), *args)[0])


def test_a_loop_of_each_slice_ends_when_all_have():
    """The devices ask each other whether some slice goes on: one byte a turn."""
    text = "mesh pod[i=4]\ndef main(x: f32[8@i, 6]):\n"
    text += "    return vmap(lambda v: while_loop(lambda v: sum(v) < 9, lambda v: v + 1, v))(x)\n"
    asked = shardc.cost(text).collectives
    assert {(one.op, one.operand) for one in asked} == {("all-reduce", "bool[]")}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("vmap(lambda a, b: a + b)(x, y)", "over dimensions of different sizes, 3 and 4"),
        ("vmap(sin)(s)", r"over dimension 0 of f32\[\]"),
        ("vmap(sin, 2)(x)", r"over dimension 2 of f32\[4\]"),
        ("vmap(sin, None)(x)", "maps no argument"),
        ("vmap(sin, out_axes=None)(x)", "out_axes is None for a result of sin that differs"),
        ("vmap(lambda a, b: a, in_axes=(0,))(x, y)", "in_axes has 1 axis for 2 arguments"),
        ('vmap(sin, "x")(x)', "in_axes is a number, None, or a tuple of them, not the text"),
        ("vmap(3)(x)", "fun is a function of the program or a lambda, not the number 3"),
        ("vmap(lambda a: uniform(key(0), (2,)) + reshape(a, (2,)))(x)", "cannot be reshaped"),
        ("vmap(lambda a: (lambda b: b))(x)", "returns a function"),
    ],
)
def test_what_is_wrong(call: str, message: str):
    with pytest.raises(ShardcError, match=message) as caught:
        read(f"def main(x: f32[4], y: f32[3], s: f32[]):\n    return {call}\n", "t.shard")
    assert caught.value.diagnostic.loc.line == 2


def test_an_operation_without_a_rule_says_where_it_is():
    text = 'def main(x: f32[4, 3]):\n    f = lambda v: op("stablehlo.rng_bit_generator", astype(v, u64)[:2], '
    text += '{rng_algorithm="THREE_FRY"}, result=(u64[2], u32[4]))[1]\n    return vmap(f)(x)\n'
    with pytest.raises(ShardcError, match="rng_bit_generator has no rule for vmap") as caught:
        read(text, "t.shard")
    assert caught.value.diagnostic.loc.line == 2
