"""Axes of the mesh that shrink in a proof, and those that keep their sizes for what is done along them."""

from __future__ import annotations

import json
from random import Random

import pytest

from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.dialects.text import print_module
from shardc.frontend.text import read
from shardc.graph import Graph
from shardc.passes.pipeline import run_to
from shardc.proof.certificate import LOCAL, certificate
from shardc.proof.check import Refused, check
from shardc.proof.prove import Verdict, prove
from shardc.proof.report import lines
from tests.unit.proof.planted import faults
from tests.unit.proof.test_lemma import at_full_size

PARTIAL_IN_LOOP = """
mesh m[data=12]
def f(x: f32[6, 48@data, 8], w: f32[8, 8]) -> f32[8, 8]:
    g = w * 0.0
    for b in x carrying g:
        g = g + transpose(b) @ tanh(b @ w)
    return g / 48.0
"""
FIRST = """
mesh m[j=12]
def plain(a: f32[8, 48@j], b: f32[48@j, 16], bias: f32[16]) -> f32[8, 16]:
    return a @ b + bias
@shard_map
def manual(a: f32[8, 48@j], b: f32[48@j, 16], bias: f32[16]) -> f32[8, 16]:
    z: f32[8, 16] partial(sum: j) = a @ b
    return psum(z + to_partial(bias, j), j)
"""
EXCHANGED = """
mesh m[x=12]
def f(x: f32[48@x, 24], w: f32[24, 48]) -> f32[48, 48@x]:
    y = tanh(x @ w)
    return y * mean(y, 0, keepdims=True)
"""
HEADS = """
mesh m[data=2, model=12]
size B = 4, S = 4, H = 24, E = 8, D = 192
def f(x: f32[B@data, S, D], wq: f32[D, D@model], wo: f32[D@model, D]) -> f32[B@data, S, D]:
    q = reshape(x @ wq, (B, S, H, E))
    z = tanh(q) * sum(q, 3, keepdims=True)
    return reshape(z, (B, S, D)) @ wo
"""
SHRINK = {
    "partial sums that a loop carries": (PARTIAL_IN_LOOP, "data"),
    "the first device's term": (FIRST, "j"),
    "blocks that are exchanged": (EXCHANGED, "x"),
    "heads that a reshape takes apart": (HEADS, "model"),
}
KEPT = {
    "half of the others": ("concatenate([x[32:], x[:32]], 0) + x", "spmd.collective_permute"),
    "rows of a table": ("take(x, i, 0)", "spmd.axis_index"),
}


def compiled(text: str) -> tuple[Graph, Graph, tuple[str, str]]:
    """The global program, the per-device one (`manual`, if there is one and `plain`), and their texts."""
    with collecting():
        if "def plain" in text:
            graphs = [snapshot(read(text, "test.shard", {}, name)).graph for name in ("plain", "manual")]
            return graphs[0], graphs[1], ("", "")
        module = read(text, "test.shard", {}, None)
        whole, printed = snapshot(module.clone()).graph, print_module(module)
        run_to(make_context(), module, "local")
        return whole, snapshot(module).graph, (printed, print_module(module))


@pytest.mark.parametrize("name", SHRINK)
def test_an_axis_shrinks_and_no_fault_hides(name: str) -> None:
    text, axis = SHRINK[name]
    whole, local, _ = compiled(text)
    right = prove(whole, local)
    assert right.verdict is Verdict.PROVED, right.reason
    assert right.shapes is not None and axis in [name for name, _, _ in right.shapes.axes]
    found, planted = 0, faults(local)
    for fault in Random(1).sample(planted, min(8, len(planted))):
        with fault.planted():
            full, reduced = at_full_size(whole, local), prove(whole, local)
        if full.verdict is Verdict.DIFFERS:
            assert reduced.verdict is not Verdict.PROVED, str(fault)
            found += 1
        elif full.verdict is Verdict.PROVED:
            assert reduced.verdict is not Verdict.DIFFERS, str(fault)
    assert found


@pytest.mark.parametrize("name", KEPT)
def test_what_keeps_an_axis_is_said(name: str) -> None:
    expression, reason = KEPT[name]
    whole, local, _ = compiled(
        f"mesh m[x=16]\ndef f(x: f32[64@x, 32], i: i32[8]):\n    return {expression}\n"
    )
    proof = prove(whole, local)
    assert proof.verdict is Verdict.PROVED, proof.reason
    assert f"axis x kept for {reason} in line 3" in lines(proof)[0]


def test_sixteen_thousand_devices_are_a_few() -> None:
    text = """
mesh pod[data=512, model=32]
def f(x: f32[8192@data, 1024], a: f32[1024, 4096@model], b: f32[4096@model, 1024]) -> f32[8192@data, 1024]:
    return softmax(relu(x @ a) @ b)
"""
    whole, local, texts = compiled(text)
    proof = prove(whole, local)
    assert proof.verdict is Verdict.PROVED, proof.reason
    assert proof.shapes is not None and proof.shapes.local.meshes["pod"].size <= 64
    claimed = certificate((proof, texts, LOCAL))
    assert check(texts[0], texts[1], claimed).chance < 1e-12
    document = json.loads(claimed)
    assert [axis[:2] for axis in document["proofs"][0]["axes"]] == [["data", 512], ["model", 32]]
    document["proofs"][0]["axes"][0][2] += 1
    with pytest.raises(Refused):
        check(texts[0], texts[1], json.dumps(document, indent=1) + "\n")
