"""grad, value_and_grad, vjp, jvp, stop_gradient, @custom_vjp and @remat as programs use them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shardc
from shardc.diagnostics import ShardcError
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.interpret.run import run
from shardc.ops import hlo
from tests.tolerance import assert_near

X = np.linspace(-1, 1, 8, dtype=np.float32)
Y = np.linspace(0.5, 2, 8, dtype=np.float32)


def results(text: str, *args: np.ndarray) -> list[np.ndarray]:
    """What a program returns for these arrays."""
    return run(snapshot(read(text, "test.shard")).graph, args)


def close(found: Any, expected: Any) -> None:
    assert_near(found, expected, terms=64)


def test_the_value_and_more_comes_along():
    text = """
def f(x: f32[8], y: f32[8]):
    return sum(x * y), (x + y, 2 * y)

def main(x: f32[8], y: f32[8]):
    both, g = value_and_grad(f, 1, has_aux=True)(x, y)
    v, more = both
    h, again = grad(f, argnums=(0, 1), has_aux=True)(x, y)
    return v, more[0], g, h[1], again[1]
"""
    value, more, by_y, again, twice = results(text, X, Y)
    close(value, np.sum(X * Y))
    close(more, X + Y)
    close(by_y, X)
    close(again, X)
    close(twice, 2 * Y)


def test_any_expression_that_is_a_function_is_called():
    text = "def main(x: f32[8]):\n    return (lambda a, b: a - b)(x, 1.0), (sin if x.ndim == 1 else cos)(x)\n"
    less, sine = results(text, X)
    close(less, X - 1)
    close(sine, np.sin(X))


def test_a_vjp_is_called_in_other_bodies():
    """In vmap, loops, choices and derivatives, as in JAX; the function is computed once."""
    text = """
mesh m[d=4]

def f(x, w):
    h = tanh(x @ w)
    for _ in range(3) carrying h:
        h = sin(h) * 1.5
    return h

def main(x: f32[16@d, 6], w: f32[6, 3], c: f32[4, 16, 3]):
    y, pull = vjp(lambda x: f(x, w), x)
    each = vmap(lambda s: pull(y * s)[0])(arange(4.0))
    (both,) = vmap(pull)(stack([y, y * 2]))
    total = zeros_like(x)
    for ct in c carrying total:
        total = total + pull(ct)[0]
    chosen = cond(sum(x) > 1e9, lambda: x, lambda: pull(y)[0])
    found = fori_loop(0, 2, lambda i, v: pull(v @ w)[0], x)
    return each, both, total, chosen, found, grad(lambda s: sum(pull(y * s)[0]))(2.0)
"""
    rng = np.random.default_rng(0)
    x, w, c = (rng.standard_normal(shape).astype(np.float32) for shape in ((16, 6), (6, 3), (4, 16, 3)))

    def f(x: Any) -> Any:
        h = jnp.tanh(x @ w)
        for _ in range(3):
            h = jnp.sin(h) * 1.5
        return h

    y, pull = jax.vjp(f, x)
    expected = [
        jax.vmap(lambda s: pull(y * s)[0])(jnp.arange(4.0)),
        jax.vmap(pull)(jnp.stack([y, y * 2]))[0],
        sum(pull(ct)[0] for ct in c),
        pull(y)[0],
        pull(pull(x @ w)[0] @ w)[0],
        jax.grad(lambda s: jnp.sum(pull(y * s)[0]))(2.0),
    ]
    found = results(text, x, w, c)
    for mine, theirs in zip(found, expected, strict=True):
        close(mine, theirs)
    assert str(read(text, "test.shard")).count("stablehlo.tanh") == 1


def test_a_vjp_is_called_twice_and_with_any_result():
    text = """
def f(x: f32[8], y: f32[8]) -> (f32[8], f32[]):
    return sin(x) * y, sum(y * y)

def main(x: f32[8], y: f32[8]):
    value, pull = vjp(f, x, y)
    v, s = value
    a, b = pull((v, 1.0))
    c, d = pull((2 * v, s))
    return a, b, c, d
"""
    value, pull = jax.vjp(lambda x, y: (jnp.sin(x) * y, jnp.sum(y * y)), X, Y)
    expected = [*pull((value[0], jnp.float32(1))), *pull((2 * value[0], value[1]))]
    for one, other in zip(results(text, X, Y), expected, strict=True):
        close(one, other)


def test_tangents_go_through_loops_that_end_by_themselves():
    text = """
def f(x: f32[8]) -> f32[]:
    while sum(x * x) > 0.1 carrying x:
        x = x * 0.7 + 0.01 * sin(x)
    return sum(x)

def main(x: f32[8], t: f32[8]):
    return jvp(f, (x,), (t,))
"""

    def f(x):
        return jnp.sum(
            jax.lax.while_loop(lambda v: jnp.sum(v * v) > 0.1, lambda v: v * 0.7 + 0.01 * jnp.sin(v), x)
        )

    for one, other in zip(results(text, X, Y), jax.jvp(f, (X,), (Y,)), strict=True):
        close(one, other)


def test_tangents_in_per_device_code():
    text = """
mesh m[i=2, j=2]

@shard_map
def f(x: f32[8@i], y: f32[8]) -> f32[8@i]:
    for k in range(3) carrying x:
        x = cond(k > 0, lambda v: sin(v) * psum(v, i), lambda v: v * y[:4], x)
    return x

def main(x: f32[8@i], y: f32[8]):
    a, b = jvp(f, (x, y), (y, x))
    c, pull = vjp(f, x, y)
    d, e = pull(x)
    return sum(b * x), sum(d * y) + sum(e * x)
"""
    left, right = results(text, X, Y)
    close(left, right)


def test_records_have_records_for_gradients():
    text = """
record Layer:
    w: f32[8]
    b: f32[]

def f(l: Layer, x: f32[8]) -> f32[]:
    return sum(tanh(l.w * x + l.b))

def main(w: f32[8], x: f32[8]):
    l = Layer(w=w, b=0.5)
    g = grad(f)(l, x)
    return g.w, g.b
"""
    expected = jax.grad(lambda w, b: jnp.sum(jnp.tanh(w * Y + b)), (0, 1))(X, jnp.float32(0.5))
    for one, other in zip(results(text, X, Y), expected, strict=True):
        close(one, other)


CUSTOM = """
def forward(x: f32[8], y: f32[8]):
    return sin(x) * y, (x, y)

def backward(saved, ct):
    x, y = saved
    return 10 * ct * y, ct * x

@custom_vjp(forward, backward)
def f(x: f32[8], y: f32[8]) -> f32[8]:
    return sin(x) * y
"""


def test_a_derivative_of_its_own():
    text = f"""{CUSTOM}
def loss(x: f32[8], y: f32[8]) -> f32[]:
    for i in range(2) carrying x:
        x = f(x, y)
    return sum(x)

def main(x: f32[8], y: f32[8]):
    return grad(loss, (0, 1))(x, y)
"""

    @jax.custom_vjp
    def f(x, y):
        return jnp.sin(x) * y

    f.defvjp(lambda x, y: (f(x, y), (x, y)), lambda saved, ct: (10 * ct * saved[1], ct * saved[0]))
    expected = jax.grad(lambda x, y: jnp.sum(f(f(x, y), y)), (0, 1))(X, Y)
    for one, other in zip(results(text, X, Y), expected, strict=True):
        close(one, other)


def test_what_is_computed_again_is_not_stored():
    body = """
def layer(x: f32[8], w: f32[8]) -> f32[8]:
    return x + tanh(sin(x * w) * w)

def loss(w: f32[5, 8], x: f32[8]) -> f32[]:
    for v in w carrying x:
        x = layer(x, v)
    return sum(x)

def main(w: f32[5, 8], x: f32[8]):
    return grad(loss, (0, 1))(w, x)
"""
    w = np.stack([X, Y, X * Y, X + 1, Y - X])
    plain, again = results(body, w, X), results(f"\n@remat{body}", w, X)
    for one, other in zip(plain, again, strict=True):
        close(one, other)
    stacks = [shardc.compile(t).source.count("carry_") for t in (body, f"\n@remat{body}")]
    assert stacks[1] < stacks[0]
    assert "optimization_barrier" in shardc.compile(f"\n@remat{body}").source


def test_training_in_per_device_code_sums_over_the_data():
    text = """
mesh m[i=2, j=2]

def loss(w: f32[4], x: f32[4, 4]) -> f32[]:
    return pmean(mean(tanh(x @ w)), i)

@per_device
def step(w: f32[4], x: f32[4, 4]) -> f32[4]:
    return w - 0.1 * grad(loss)(w, x)

@shard_map
def main(w: f32[4], x: f32[8@i, 4]) -> f32[4]:
    for k in range(3) carrying w:
        w = step(w, x)
    return w
"""
    text = text.replace("def loss", "@per_device\ndef loss")
    w, x = X[:4], np.outer(Y, X[4:]).astype(np.float32)
    expected = w
    for _ in range(3):
        expected = expected - 0.1 * jax.grad(lambda w: jnp.mean(jnp.tanh(x @ w)))(expected)
    close(results(text, w, x)[0], expected)
    assert shardc.compile(text).source.count("lax.psum(") == 1


MLP = """
mesh m[data=2, model=2]

def loss(up: f32[8, 16@model], down: f32[16@model, 8], x: f32[4@data, 8]) -> f32[]:
    for i in range(2) carrying x:
        x = x + relu(x @ up) @ down
    return sum(x * x)

def main(up: f32[8, 16@model], down: f32[16@model, 8], x: f32[4@data, 8]):
    return grad(loss, (0, 1))(up, down, x)
"""


@pytest.mark.parametrize(
    ("text", "sums"),
    [
        # forward: one over model a turn. Backward: one over model a turn, and over data one for each weight.
        (MLP, 4),
        # the gradient of what is the same on all devices is one sum, after the loop
        (
            """
mesh m[i=4]

@shard_map
def f(w: f32[8], x: f32[8@i, 8]) -> f32[8@i, 8]:
    for k in range(3) carrying x:
        x = sin(x * w)
    return x

def main(w: f32[8], x: f32[8@i, 8]):
    return grad(lambda w: sum(f(w, x)))(w)
""",
            1,
        ),
        # the sum of all devices gives each of them its cotangent: nothing is sent back
        (
            """
mesh m[i=4]

@shard_map
def f(x: f32[8@i, 8]) -> f32[2, 8]:
    return psum(sin(x), i)

def main(x: f32[8@i, 8]) -> f32[8@i, 8]:
    return grad(lambda x: sum(f(x)))(x)
""",
            0,
        ),
        # softmax along a split dimension: max and sum, and one sum backwards
        (
            """
mesh m[i=4]

def main(x: f32[4, 16@i], y: f32[4, 16@i]) -> f32[4, 16@i]:
    return grad(lambda x: sum(softmax(x) * y))(x)
""",
            2,
        ),
    ],
)
def test_no_sum_that_the_rules_do_not_need(text: str, sums: int):
    assert shardc.compile(text).source.count("lax.psum(") == sums


def error(text: str) -> str:
    with pytest.raises(ShardcError) as caught:
        read(text, "test.shard")
    return str(caught.value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("grad(lambda x: 2 * x)(x)", "which returns f32[8], and not a float scalar"),
        ("grad(lambda x, n: sum(x) * n, 1)(x, arange(8))", "derivatives are by floats"),
        ("grad(lambda x: sum(x), 1)(x)", "argnums 1 of 1 argument"),
        ("grad(lambda x: sum(x), has_aux=True)(x)", "with has_aux=True this lambda returns (value, more)"),
        ("grad(3)(x)", "grad: fun is a function of the program or a lambda, not the number 3"),
        ("vjp(lambda x: x, x)[1](1.0)", "what this lambda returns is f32[8], and its derivative is f32[]"),
        ("jvp(lambda x: x, x, x)", "jvp takes a tuple of arguments"),
        (
            "grad(lambda x: sum(x.at[array([0])].max(1.0)))(x)",
            "a scatter by max has no derivative, as in JAX",
        ),
        ("sum(x)(x)", "f32[] is called, and is no function"),
    ],
)
def test_errors(body: str, message: str):
    assert message in error(f"def main(x: f32[8]):\n    return {body}\n")


def test_errors_have_their_places():
    found = error(
        "def f(x: f32[8]) -> f32[]:\n    while sum(x) > 1 carrying x:\n        x = x / 2\n"
        "    return sum(x)\n\n"
        "def main(x: f32[8]):\n    return grad(f)(x)\n"
    )
    assert "test.shard:2:5: error: a loop that runs until a condition fails has no gradient" in found
    found = error(
        "mesh m[i=2]\n\n@shard_map\ndef f(x: f32[8@i]) -> f32[4]:\n    return pmax(x * x, i)\n\n"
        "def main(x: f32[8]):\n    return grad(lambda x: sum(f(x)))(x)\n"
    )
    assert "test.shard:5:12: error: pmax has no derivative, as in JAX: give it stop_gradient(x)" in found


def test_a_carried_value_that_comes_to_differ_where_a_gradient_relied_on_it():
    text = """
mesh m[i=2]

@shard_map
def main(w: f32[4], x: f32[8@i]) -> f32[8@i]:
    for k in range(3) carrying w:
        w = w - grad(lambda w: sum(w * w))(w) + x
    return w
"""
    assert "is the same over i before the loop and differs there after a turn" in error(text)


@pytest.mark.parametrize(
    ("decorators", "message"),
    [
        ("@custom_vjp(forward)", "@custom_vjp names two functions"),
        ("@custom_vjp(forward, other)", "unknown function other"),
        ("@remat(1)", "@remat takes nothing"),
        ("@shard_map\n@per_device", "@shard_map and @per_device above one function"),
    ],
)
def test_errors_of_decorators(decorators: str, message: str):
    text = CUSTOM.replace("@custom_vjp(forward, backward)", decorators)
    assert message in error(f"{text}\ndef main(x: f32[8]):\n    return grad(lambda x: sum(f(x, x)))(x)\n")


def test_a_mean_of_twelve_is_proved():
    """1 / 12 is no float: it stays a quotient, which whoever reads the program knows exactly."""
    text = """
mesh pod[data=4]
def main(w: f32[3], x: f32[12@data, 3]):
    return grad(lambda w: mean(square(x @ w)))(w)
"""
    source = shardc.compile(text, prove=True).source
    assert "/ 12.0" in source and "0.08333" not in source


def test_the_derivative_of_a_square_is_one_term():
    """2 x ct, where x * y has two terms, in the backward pass and along tangents."""
    for square in ("x * x", "x ** 2", "square(x)"):
        for form in (f"grad(lambda x: sum(({square}) * y))(x)", f"jvp(lambda x: {square}, (x,), (y,))[1]"):
            text = f"def main(x: f32[8], y: f32[8]):\n    return {form}\n"
            nodes = snapshot(read(text, "test.shard")).graph.main.body.nodes
            assert not any(node.name == hlo.add.name for node in nodes), text
            close(results(text, X, Y)[0], 2 * X * Y)
