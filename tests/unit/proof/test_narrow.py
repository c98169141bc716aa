"""Casts to floats of 8 bits: what other numbers they are given shows, and what they keep is known."""

from __future__ import annotations

import numpy as np
import pytest

from shardc.compilation import emit, lower
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.graph import Graph
from shardc.options import Options
from shardc.proof import field, values
from shardc.proof.narrow import Known, narrowed
from shardc.proof.prove import Verdict, prove
from shardc.proof.reading.text import prove_text

SCALED = """
mesh m[y=4]
def f(x: f32[32@y, 16], w: f32[16, 8]) -> f32[32, 8]:
    s = {scale}
    q = astype(x / s, f8e4m3fn)
    return matmul(astype(q, f32), w) * s
"""
SCALE = "max(abs(x)) / 448.0"
LOOP = """
mesh m[y=4]
def f(x: f32[32@y, 16], ws: f32[5, 16, 16@y]) -> f32[32@y, 16]:
    for w in ws carrying x:
        s = max(abs(x)) / 448.0
        x = tanh(astype(astype(x / s, f8e4m3fn), f32) @ w) * s
    return x
"""
PARTIAL = """
mesh m[y=4]
def f(x: f32[32, 32@y], w: f32[32@y, 16], v: f32[16, 8]):
    return matmul(astype(x @ w, f8e4m3fn), astype(v, f8e5m2), preferred_element_type=f32)
"""
GREATEST = """
mesh m[y=4]
def f(x: f32[30@y, 16]):
    q = astype(x, f8e4m3fn)
    return max(q, 0), astype(max(x, 0), f8e4m3fn), sort(q, 0), astype(astype(q, f32), f8e4m3fn)
"""
SOFTMAX = """
mesh m[y=4]
def f(x: f8e4m3fn[8@y, 12], y: f8e5m2[8, 12@y]):
    return softmax(x, 1), softmax(y, 1), sum(x, 1)
"""


def _compiled(text: str) -> tuple[Graph, Graph]:
    module = read(text, "narrow.shard", {}, "f")
    return snapshot(module.clone()).graph, lower(module, Options(machine="bytes"))


@pytest.mark.parametrize(
    "text", [SCALED.format(scale=SCALE), LOOP, PARTIAL, GREATEST], ids=["scaled", "loop", "partial", "max"]
)
def test_right_casts_are_proved(text: str) -> None:
    assert prove(*_compiled(text)).verdict is Verdict.PROVED


def test_a_sum_that_numpy_makes_in_wider_floats_is_one_of_narrow_ones() -> None:
    whole, local = _compiled(SOFTMAX)
    text = emit(local, "numpy")
    assert text.count("dtype=np.float32") == 2  # of both softmax
    assert prove_text(whole, text, "numpy").verdict is Verdict.PROVED
    other = text.replace("axis=1, dtype=np.float32, keepdims=True", "dtype=np.float32, keepdims=True", 1)
    assert prove_text(whole, other, "numpy").verdict is Verdict.DIFFERS


@pytest.mark.parametrize("most", [None, 1 << 22])
@pytest.mark.parametrize("scale", ["max(abs(x[:8])) / 448.0", "max(x) / 448.0", "max(abs(x)) / 240.0"])
def test_a_wrong_scale_differs(scale: str, most: int | None) -> None:
    whole, _ = _compiled(SCALED.format(scale=SCALE))
    _, other = _compiled(SCALED.format(scale=scale))
    assert prove(whole, other, most=most).verdict is Verdict.DIFFERS


def test_a_scale_that_rounds_alike_is_not_proved() -> None:
    text = SCALED.replace("f8e4m3fn", "f8e5m2")
    whole, _ = _compiled(text.format(scale="2.0"))
    _, other = _compiled(text.format(scale="1.0"))
    assert prove(whole, other).verdict is Verdict.NOT_PROVED


def test_the_sum_of_casts_is_not_the_cast_of_the_sum() -> None:
    head = "mesh m[y=4]\ndef f(x: f32[32@y, 16]) -> f32[16]:\n    return "
    whole, _ = _compiled(f"{head}astype(astype(sum(x, 0), f8e4m3fn), f32)")
    _, other = _compiled(f"{head}sum(astype(astype(x, f8e4m3fn), f32), 0)")
    assert prove(whole, other).verdict is Verdict.DIFFERS


def test_what_is_known_of_a_cast() -> None:
    """It is odd, keeps its own numbers, and takes literals for what they become."""
    drawn = values.draw(np.random.default_rng(1), (9,), np.linspace(-1, 1, 9))
    opposite = values.make(field.negate(drawn["residue"]), -drawn["shadow"], -drawn["other"])
    known = Known()
    once = narrowed(drawn, "f8e4m3fn", 7, known)
    assert not values.same(once, drawn).any()
    assert values.same(narrowed(once, "f8e4m3fn", 7, known), once).all()
    minus = narrowed(opposite, "f8e4m3fn", 7, known)
    assert (field.negate(minus["residue"]) == once["residue"]).all()
    literals = values.whole(np.array([0.0, np.float32(-0.3), 17.0, 1.0, np.inf]))
    made = narrowed(literals, "f8e4m3fn", 7, known)
    assert values.same(made, values.whole(np.array([0.0, -0.3125, 16.0, 1.0, np.inf]))).all()
    rounded = narrowed(drawn, "f8e4m3fn", 7, Known(), rounds=True)
    assert (rounded["shadow"] == drawn["shadow"].astype("float8_e4m3fn").astype(np.float64)).all()
