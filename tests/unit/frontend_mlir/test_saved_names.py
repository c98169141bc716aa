"""What a scan saves for its backward pass, and what that carries, is called after what it is of."""

from __future__ import annotations

from typing import Any

import pytest

import shardc

jax = pytest.importorskip("jax")

PYTHON = """\
import jax
import jax.numpy as jnp
from jax import lax


def layer(h, p):
    u = h @ p["w1"]
    probs = jax.nn.softmax(u)
    return h + probs @ p["w2"], None


def loss(params, x):
    h, _ = lax.scan(layer, x, params)
    return jnp.sum(h * h)


def rematted(params, x):
    return jnp.sum(lax.scan(jax.checkpoint(layer), x, params)[0] ** 2)


def lstm(params, h, c):
    def cell(carry, w):
        h, c = carry
        c = jnp.tanh(c + h * w)
        return (h * c, c), None
    (last, _), _ = lax.scan(cell, (h, c), params)
    return jnp.sum(last)


def counted(params, x):
    return jnp.sum(lax.fori_loop(0, 3, lambda i, state: jnp.sin(state * i * params), x))


def gated(params, x):
    def cell(h, x):
        w_z, w_r = jnp.split(params["w"], 2, axis=1)
        z, r = jnp.tanh(h @ w_z), jnp.tanh(h @ w_r + params["b"])
        return z * h + r * (x @ params["i"]), None
    return jnp.sum(lax.scan(cell, jnp.zeros((5, 4)), x)[0])


def last(params, x):
    def cell(h, p):
        h = jnp.tanh(h @ p)
        return h, h
    return jnp.sum(lax.scan(cell, x, params)[1])


class Model:
    def cell(self, acc, w):
        return jnp.tanh(acc @ w), None

    def __call__(self, params, x):
        return jnp.sum(lax.scan(self.cell, x, params)[0])
"""


def source(function: Any, params: Any, *shapes: tuple[int, ...]) -> str:
    rest = [jax.ShapeDtypeStruct(shape, "float32") for shape in shapes]
    return shardc.from_jax(jax.grad(function), params, *rest).source


def two(n: int, m: int) -> dict[str, Any]:
    return {
        "w1": jax.ShapeDtypeStruct((3, n, m), "float32"),
        "w2": jax.ShapeDtypeStruct((3, m, n), "float32"),
    }


def test_the_stack_of_a_value_is_called_after_it(model: Any) -> None:
    text = source(model.loss, two(4, 6), (5, 4))
    assert "            saved_h.at[i].set(h),\n" in text
    assert "            saved_probs.at[i].set(probs),\n" in text
    assert "            saved_probs_exp.at[i].set(" in text
    assert "carry0" not in text and "carry_" not in text.replace("carry_1 = ", "")


def test_the_backward_pass_carries_derivatives(model: Any) -> None:
    text = source(model.loss, two(4, 6), (5, 4))
    assert "        d_h, d_w1, d_w2 = carry\n" in text
    assert "    d_h, d_w1, d_w2 = lax.fori_loop(" in text


def test_derivatives_of_equal_shapes_are_not_told_apart_where_some_are_missing(model: Any) -> None:
    square = two(4, 4)
    text = shardc.from_jax(
        jax.grad(lambda w1, w2, x: model.loss({"w1": w1, "w2": w2}, x)),
        square["w1"],
        square["w2"],
        jax.ShapeDtypeStruct((5, 4), "float32"),
    ).source
    assert "d_w1" not in text and "d_w2" not in text


def test_what_is_computed_again_has_the_names_of_the_forward_pass(model: Any) -> None:
    text = source(model.rematted, two(4, 6), (5, 4))
    assert "        h, params_w1, params_w2, d_h = lax.optimization_barrier(\n" in text
    assert "            (saved_h[t], " in text and text.count(" u = ") == 2


def test_parts_of_what_is_carried_keep_their_names(model: Any) -> None:
    text = source(model.lstm, jax.ShapeDtypeStruct((3, 4), "float32"), (4,), (4,))
    assert "        h, c, saved_" in text
    assert "        d_h, d_c, d_params = carry\n" in text


def test_derivatives_by_what_jax_takes_parts_of_outside(model: Any) -> None:
    shapes = {"w": (4, 8), "b": (4,), "i": (3, 4)}
    params = {name: jax.ShapeDtypeStruct(shape, "float32") for name, shape in shapes.items()}
    text = source(model.gated, params, (7, 5, 3))
    assert "d_w, d_b, d_i" in text or "d_b, d_w, d_i" in text, text


def test_a_fori_loop_of_which_a_derivative_is_taken(model: Any) -> None:
    text = source(model.counted, jax.ShapeDtypeStruct((4,), "float32"), (4,))
    assert "saved_cos.at[i].set(jnp.cos(" in text


def test_the_body_may_be_a_method(model: Any) -> None:
    text = source(model.Model(), jax.ShapeDtypeStruct((3, 4, 4), "float32"), (5, 4))
    assert "        acc, saved_acc, saved_" in text and "saved_lowered" not in text


def test_what_a_line_computes_for_the_backward_pass_alone_has_not_its_name(model: Any) -> None:
    """1 - tanh, or JAX 0.12: (1 + tanh) (1 - tanh), is of its line. What is stacked and saved, too, is
    one stack.
    """
    text = source(model.last, jax.ShapeDtypeStruct((3, 4, 4), "float32"), (5, 4))
    assert "h_1 = jnp.tanh(h @ params[i])\n" in text
    word = "sub" if "saved_h_sub" in text else "mul"
    assert f"        h, saved_h, saved_h_1, saved_h_{word} = carry\n" in text
    assert f"saved_h_{word}.at[i].set(" in text and "saved_h.at[i].set(h_1)" in text
