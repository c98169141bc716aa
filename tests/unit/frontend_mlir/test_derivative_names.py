"""What a backward pass computes is called after what it is the derivative by."""

from __future__ import annotations

import re
from typing import Any

import pytest

import shardc
from shardc.frontend import derivative_names
from shardc.frontend.tree_paths import last_words

jax = pytest.importorskip("jax")

PYTHON = """\
import jax
import jax.numpy as jnp


def network(params, x):
    h = jnp.tanh(x @ params["w1"] + params["b1"])
    h = h * params["scale"]
    out = h @ params["w2"]
    return jnp.sum(out * out)


def projections(params, x):
    q, k, v = (x @ w for w in params["qkv"])
    return jnp.sum(jnp.tanh(q) * k * v)


def heads(layers, x):
    for layer in layers:
        q, k, v = (x @ w for w in layer)
        x = x + jnp.tanh(q) * k * v
    return jnp.sum(x * x)


def deep(layers, x):
    for w, b in layers:
        x = jnp.tanh(x @ w + b)
    return jnp.sum(x * x)


def embedded(params, ids):
    rows = params["table"][ids]
    return jnp.sum(rows @ params["head"])


def tied(params, ids):
    rows = params["table"][ids]
    logits = rows @ params["table"].T
    return jnp.sum(jax.nn.log_softmax(logits) * params["weights"])


def scaled(params, x):
    noise = jnp.sin(x)
    y = x @ params["w"]
    z = jnp.exp(y) * noise
    return jnp.sum(z * z) + jnp.sum(noise)


def mixed(params, x):
    h = x.astype(jnp.bfloat16) @ params["w"].astype(jnp.bfloat16)
    return jnp.sum(jnp.tanh(h).astype(jnp.float32))
"""


def floats(*shape: int) -> Any:
    return jax.ShapeDtypeStruct(shape, "float32")


def source(function: Any, *arguments: Any) -> str:
    def step(params: Any, *rest: Any) -> Any:
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(function)(params, *rest))

    return shardc.from_jax(step, *arguments).source


def assigned(text: str) -> list[str]:
    """The derivatives that lines assign, in order."""
    lines = (line.strip().partition(" = ")[0] for line in text.splitlines() if " = " in line)
    return [name for name in lines if name.startswith("d_")]


def test_derivatives_by_parameters_and_by_values_with_names(model: Any) -> None:
    params = {"w1": floats(4, 6), "b1": floats(6), "scale": floats(6), "w2": floats(6, 3)}
    text = source(model.network, params, floats(5, 4))
    assert set(assigned(text)) == {"d_out", "d_w2", "d_h", "d_scale", "d_b1", "d_w1"}
    assert "    d_w1 = rest_0.T @ " in text and '["w1"] - 0.1 * d_w1' in text


def test_equal_shapes_are_told_apart_by_what_is_read(model: Any) -> None:
    params = {"w1": floats(4, 4), "b1": floats(4), "scale": floats(4), "w2": floats(4, 4)}
    text = source(model.network, params, floats(4, 4))
    assert "    d_w1 = rest_0.T @ " in text and "    d_w2 = h_1.T @ d_out" in text


def test_products_of_one_line_with_one_value(model: Any) -> None:
    text = source(model.projections, {"qkv": [floats(4, 4) for _ in range(3)]}, floats(5, 4))
    assert '["qkv"][0] - 0.1 * d_qkv_0' in text and '["qkv"][2] - 0.1 * d_qkv_2' in text


def test_products_of_one_line_in_turns_of_a_loop(model: Any) -> None:
    """Those of a turn go with those of the same turn."""
    text = source(model.heads, [[floats(4, 4) for _ in range(3)] for _ in range(3)], floats(5, 4))
    for i, j in ((i, j) for i in range(3) for j in range(3)):
        assert f"params[{i}][{j}] - 0.1 * d_params_{i}_{j}" in text


def test_turns_of_a_loop(model: Any) -> None:
    text = source(model.deep, [(floats(4, 4), floats(4)) for _ in range(3)], floats(5, 4))
    for i in range(3):
        assert f"(params[{i}][0] - 0.1 * d_params_{i}_0, params[{i}][1] - 0.1 * d_params_{i}_1)" in text


def test_turns_of_a_loop_are_not_compared_with_each_other(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Products of one line are looked at in linear time: each only beside those that read its operand."""
    looked: list[str] = []
    origin = derivative_names._Block._origin

    def counted(self: Any, value: Any) -> Any:
        looked.append("")
        return origin(self, value)

    monkeypatch.setattr(derivative_names._Block, "_origin", counted)
    counts: list[int] = []
    for layers in (4, 8):
        looked.clear()
        source(model.deep, [(floats(4, 4), floats(4)) for _ in range(layers)], floats(5, 4))
        counts.append(len(looked))
    assert 0 < counts[1] <= 2.2 * counts[0]


def test_rows_of_a_table(model: Any) -> None:
    ids = jax.ShapeDtypeStruct((5,), "int32")
    text = source(model.embedded, {"table": floats(9, 4), "head": floats(4, 3)}, ids)
    assert "d_table" in assigned(text) and "d_rows" in text


def test_the_derivative_by_what_is_used_twice_is_the_sum(model: Any) -> None:
    ids = jax.ShapeDtypeStruct((5,), "int32")
    text = source(model.tied, {"table": floats(4, 4), "weights": floats(5, 4)}, ids)
    assert assigned(text).count("d_table") == 1
    assert '["table"] - 0.1 * d_table' in text


def test_no_derivative_of_what_makes_the_other_operand(model: Any) -> None:
    text = source(model.scaled, {"w": floats(4, 4)}, floats(5, 4))
    assert set(assigned(text)) == {"d_z", "d_y", "d_w"}, text


def test_conversions_between(model: Any) -> None:
    text = source(model.mixed, {"w": floats(4, 4)}, floats(5, 4))
    assert re.search(r"^    d_w = \(t\.T @ .*\)\.astype\(jnp\.float32\)$", text, re.MULTILINE)


def test_the_end_of_a_path_that_no_other_has() -> None:
    paths = ["params['w1']", "params['deep']['w']", "params['wide']['w']", "opt.mu['w1']", "x", "pair[0]"]
    assert last_words(paths) == {
        "params['w1']": "w1",
        "params['deep']['w']": "deep_w",
        "params['wide']['w']": "wide_w",
        "opt.mu['w1']": "w1",
        "x": "x",
        "pair[0]": "pair_0",
    }
