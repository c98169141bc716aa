"""Arrays that are reduced together, and flattened, shrink piece by piece, and no fault hides there."""

from __future__ import annotations

from random import Random

import pytest

from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.graph import Graph, walk
from shardc.passes.pipeline import run_to
from shardc.proof.effort import work
from shardc.proof.prove import Verdict, prove
from shardc.proof.reduced import reduced
from tests.unit.proof.planted import faults
from tests.unit.proof.stencils import training
from tests.unit.proof.test_axes import compiled
from tests.unit.proof.test_lemma import at_full_size

STEP = """
mesh m[data=64]
size B = 1024, D = 512, H = 2048
def loss(x, y, w1, b1, w2, b2, w3):
    h = tanh(x @ w1 + b1)
    e = (h @ w2 + b2) @ w3 - y
    return mean(e * e)
def f(x: f32[B@data, D], y: f32[B@data, 48], w1: f32[D, H], b1: f32[H], w2: f32[H, D], b2: f32[D],
      w3: f32[D, 48]):
    l, g = value_and_grad(loss, (2, 3, 4, 5, 6))(x, y, w1, b1, w2, b2, w3)
    return l, w1 - 0.1 * g[0], b1 - 0.1 * g[1], w2 - 0.1 * g[2], b2 - 0.1 * g[3], w3 - 0.1 * g[4]
"""
THIRDS = """
mesh m[x=4]
def f(x: f32[64@x, 128], w: f32[128, 384]) -> f32[64@x, 128]:
    q, k, v = split(x @ w, 3, axis=1)
    return tanh(q) * k + concatenate([v[:, 64:], v[:, :64]], 1)
"""
PADDED = """
mesh m[x=4]
def f(x: f32[64@x, 128], y: f32[64@x, 136]) -> f32[64@x, 136]:
    return pad(tanh(x), ((0, 0), (4, 4))) * y
"""


def _joined(text: str, staged: bool = False) -> tuple[Graph, Graph]:
    """The program with all that can be reduced together in one collective, or in stages."""
    machine = {"machine": "h100-infiniband"}
    options = {"combine-collectives": {}, **({"stage-collectives": machine} if staged else {})}
    with collecting():
        module = read(text, "test.shard", {}, None)
        whole = snapshot(module.clone()).graph
        run_to(make_context(), module, "local", options=options)
        return whole, snapshot(module).graph


@pytest.mark.parametrize("staged", [False, True])
def test_a_step_of_training_on_many_devices_is_small(staged: bool) -> None:
    whole, local = _joined(STEP, staged)
    proof = prove(whole, local)
    assert proof.verdict is Verdict.PROVED, proof.reason
    nodes = [node.name for function in local.functions.values() for node in walk(function.body)]
    assert "stablehlo.concatenate" in nodes
    assert proof.shapes is not None
    assert work(proof.shapes.local) < (1 << 27 if staged else 1 << 18)


@pytest.mark.parametrize("text", [THIRDS, PADDED], ids=["thirds", "padded"])
def test_parts_of_dimensions_shrink(text: str) -> None:
    whole, local, _ = compiled(text)
    shapes = reduced(whole, local)
    assert max(size for type in shapes.whole.types(shapes.whole.main.body.args) for size in type.shape) <= 32
    assert prove(whole, local).verdict is Verdict.PROVED


def test_a_roll_by_one_keeps_its_size() -> None:
    """Every element is a piece: what is next to each other is not alike."""
    text = "mesh m[x=4]\ndef f(x: f32[16@x, 640]):\n    return concatenate([x[:, 1:], x[:, :1]], 1) - x\n"
    whole, local, _ = compiled(text)
    shapes = reduced(whole, local)
    assert 640 in shapes.whole.types(shapes.whole.main.body.args)[0].shape
    assert any("in line 3" in reason for reason in shapes.kept)


def _check(seed: int) -> int:
    """Faults that are found at full size."""
    random = Random(seed)
    text, found = training(random), 0
    whole, local = _joined(text, staged=random.random() < 0.5)
    right = prove(whole, local)
    assert right.verdict is Verdict.PROVED, (right.reason, text)
    planted = faults(local)
    slices = [fault for fault in planted if fault.node.name in ("stablehlo.slice", "stablehlo.concatenate")]
    for fault in [*random.sample(planted, min(3, len(planted))), *random.sample(slices, min(2, len(slices)))]:
        with fault.planted():
            full, small = at_full_size(whole, local), prove(whole, local)
        if full.verdict is Verdict.DIFFERS:
            assert small.verdict is not Verdict.PROVED, (str(fault), text)
            found += 1
        elif full.verdict is Verdict.PROVED:
            assert small.verdict is not Verdict.DIFFERS, (str(fault), text)
    return found


def test_faults_among_joined_arrays_are_found() -> None:
    assert sum(map(_check, range(4))) > 10


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, 300, 50))
def test_faults_of_three_hundred_steps_are_found(start: int) -> None:
    for seed in range(start, start + 50):
        _check(seed)
