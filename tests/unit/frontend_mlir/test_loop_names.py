"""What loops carry has the names of the user's Python: in the body, and after the loop."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import shardc
from shardc.frontend.python_unpacking import assigned_from, unpacked_in

jax = pytest.importorskip("jax")

PYTHON = """\
import jax.numpy as jnp
from jax import lax


def lstm(xs, h, c):
    def cell(carry, x):
        h, c = carry
        c = jnp.tanh(c + h * x)
        return (h * c, c), c
    (last, _), cells = lax.scan(cell, (h, c), xs)
    return last, cells


def newton(x):
    def unfinished(s):
        return s["error"] > 1e-3
    def improve(s):
        y, n = s["y"], s["count"]
        closer = 0.5 * (y + x / y)
        return {"y": closer, "error": jnp.abs(closer - y).max(), "count": n + 1}
    return lax.while_loop(unfinished, improve, {"y": x, "error": jnp.float32(1), "count": 0})["y"]


def power(x, v):
    return lax.fori_loop(0, 3, lambda turn, state: (state[0] * turn, state[1] + x), (v, v))


def both(x):
    up = lambda acc, y: (acc + y, None)
    return lax.scan(up, x[0], x)[0], lax.scan(lambda product, y: (product * y, None), x[0], x)[0]


def stacked(x):
    return lax.scan(lambda total, y: (total + y, {"sum": total, "own": y * y}), x[0], x)[1]


def bound(params, xs):
    def cell(params, carry, x, scale=2.0):
        h, c = carry
        c = jnp.tanh(c + scale * params * h * x)
        return (h * c, c), None
    from functools import partial
    from jax import grad
    start = (params, params)
    return grad(lambda p: lax.scan(partial(cell, p), start, xs)[0][0].sum())(params)


def keys(key, x):
    def draw(carry, y):
        key, total = carry
        key, own = jax.random.split(key)
        return (key, total + y * jax.random.uniform(own)), None
    import jax
    return lax.scan(draw, (key, x[0]), x)[0][1]
"""


def source(function: Any, *shapes: tuple[int, ...]) -> str:
    args = [jax.ShapeDtypeStruct(shape, "float32") for shape in shapes]
    return shardc.from_jax(function, *args).source


def test_a_scan_carries_what_its_body_unpacks(model: Any) -> None:
    text = source(model.lstm, (5, 4), (4,), (4,))
    assert "        h, c, cells = carry\n" in text
    assert "    last, c, cells = lax.fori_loop(" in text
    assert "    return last, cells\n" in text


def test_a_while_loop_carries_the_keys_of_its_dict(model: Any) -> None:
    text = source(model.newton, (4,))
    assert "        s_error, y = carry\n" in text or "        n, s_error, y = carry\n" in text


def test_a_fori_loop_counts_once(model: Any) -> None:
    text = source(model.power, (4,), (4,))
    assert "    def step(turn, carry):\n        state0, state1 = carry\n" in text
    assert "state0 * turn" in text


def test_two_loops_of_a_line_have_their_own_names(model: Any) -> None:
    text = source(model.both, (5, 4))
    assert "    def step(i, acc):\n" in text and "    def step_1(i, product):\n" in text


def test_a_function_of_which_parameters_are_bound(model: Any) -> None:
    """Also where it is differentiated, and JAX has forgotten the paths."""
    text = source(model.bound, (4,), (5, 4))
    assert re.search(r"^ +h, c\w*, saved_h, saved_c\w*, saved_c\w* = carry$", text, re.M)
    assert ", d_h, d_c = carry\n" in text


def test_what_is_stacked_without_a_name(model: Any) -> None:
    assert "        total, ys_own, ys_sum = carry\n" in source(model.stacked, (5, 4))


def test_typed_keys_are_carried_as_their_data(model: Any) -> None:
    import jax.random

    traced = shardc.from_jax(model.keys, jax.random.key(0), jax.ShapeDtypeStruct((5, 4), "float32"))
    assert "        key, total = carry\n" in traced.source


def test_parts_of_trees(tmp_path: Path) -> None:
    file = tmp_path / "parts.py"
    file.write_text(
        "def f(carry, x):\n"
        "    (w, b), opt = carry\n"
        "    mu = carry[1].mu\n"
        "    *rest, y = x\n"
        "    u, v = x['u'], other['v']\n"
        "    w = w + 1\n"
        "first, *others = f(1, 2)\n"
        "loss = f(3, 4)[1]['loss']\n"
    )
    assert unpacked_in(str(file), 1, "f") == {
        "carry[0][0]": "w",
        "carry[0][1]": "b",
        "carry[1]": "opt",
        "carry[1].mu": "mu",
        "x['u']": "u",
    }
    assert unpacked_in(str(file), 2, "f") == {} == unpacked_in(str(tmp_path / "none.py"), 1, "f")
    assert assigned_from(str(file), (7, 17)) == {"result[0]": "first"}
    assert assigned_from(str(file), (8, 7)) == {"result[1]['loss']": "loss"}


def test_loops_of_the_solvers_of_jax() -> None:
    """JAX places them where the user calls the solver."""
    way = jax.sharding.NamedSharding(jax.make_mesh((2,), ("d",)), jax.sharding.PartitionSpec())

    def solved(a: Any, b: Any) -> Any:
        return jax.scipy.sparse.linalg.cg(lambda x: a @ x, b, maxiter=3)[0]

    arguments = jax.ShapeDtypeStruct((4, 4), "float32"), jax.ShapeDtypeStruct((4,), "float32")
    source = shardc.from_jax(solved, *arguments, in_shardings=(way, way)).source
    assert "x, r, gamma, p, k = carry" in source


@pytest.mark.parametrize(
    "stated",
    [
        "1 : i64",
        '["model.py"]',
        '[["model.py", 1, 2, 0, ["h"]]]',
        '[["model.py", 1, 2, 0, ["h", "h", "8"]]]',
        '[["model.py", 1 : i64, 2 : i64, 0 : i64, ["not a name!", "", 4 : i64]]]',
    ],
)
def test_what_is_stated_otherwise_names_nothing(stated: str) -> None:
    text = f"""
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {{shardc.loops = {stated}}} {{
      %n = stablehlo.constant dense<3> : tensor<i32>
      %1 = stablehlo.while(%iterArg = %x) : tensor<4xf32>
      cond {{
        %t = stablehlo.constant dense<true> : tensor<i1>
        stablehlo.return %t : tensor<i1>
      }} do {{
        %0 = stablehlo.tanh %iterArg : tensor<4xf32>
        stablehlo.return %0 : tensor<4xf32>
      }} loc("model.py":1:1)
      return %1 : tensor<4xf32>
    }}
    """
    assert "carry" in shardc.compile(text, language="mlir").source
