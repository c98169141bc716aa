"""unmerge-dimensions: which reshapes go, and that programs mean the same afterwards."""

from __future__ import annotations

import numpy as np
import pytest

from shardc.diagnostics import collecting
from shardc.dialects.context import make_context
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.graph import Graph, walk
from shardc.interpret.arguments import random_inputs
from shardc.interpret.distance import distance
from shardc.interpret.run import run
from shardc.passes.pipeline import run_to

ROWS = "def rows(p: f32[24@x, 8]):\n    return tanh(p)\n"
ARGUMENTS = "a: f32[4@x, 6@y, 8], b: f32[4@x, 6@y, 8], w: f32[8, 5], v: f32[5]"
HEADER = f"mesh m[x=2, y=2]\n{ROWS}def main({ARGUMENTS})"
MERGED = "    p = reshape(a, (24, 8))\n    q = reshape(b, (24, 8))\n"

APART = {
    "product": ("f32[4@x, 6@y, 5]", "reshape(relu(p @ w + v), (4, 6, 5))"),
    "split further": ("f32[2, 2, 6@y, 5]", "reshape(p @ w, (2, 2, 6, 5))"),
    "two tensors": ("f32[4@x, 6@y, 8]", "reshape(2.0 * p - q, (4, 6, 8))"),
    "contracted": ("f32[8, 8]", "transpose(p, (1, 0)) @ q"),
    "reduced": ("f32[8]", "sum(p * q, axis=0)"),
    "mean of all": ("f32[]", "mean(p @ w)"),
    "softmax": ("f32[4@x, 6@y, 8]", "reshape(softmax(p, axis=1), (4, 6, 8))"),
}

MERGING = {
    "result": ("f32[24@x, 8]", "p + q"),
    "two results": ("(f32[24@x, 8], f32[24@x, 8])", "p + q, p - q"),
    "slice": ("f32[3, 8]", "p[2:5]"),
    "other reshape": ("f32[8, 3, 8]", "reshape(p, (8, 3, 8))"),
    "cumulative": ("f32[4, 6, 8]", "reshape(cumsum(p, axis=0), (4, 6, 8))"),
    "annotated": ("f32[4, 6, 8]", "reshape(rows(p), (4, 6, 8))"),
}


def sharded(result: str, expression: str) -> tuple[Graph, Graph]:
    """A program after the passes up to `sharded`, and the per-device program."""
    with collecting():
        module = read(f"{HEADER} -> {result}:\n{MERGED}    return {expression}\n", "test.shard")
        whole = snapshot(module.clone()).graph
        run_to(make_context(), module, "sharded")
        kept = snapshot(module.clone()).graph
        run_to(make_context(), module, "local", start="sharded")
        local = snapshot(module).graph
    arrays = random_inputs(whole.types(whole.main.body.args))
    for want, have in zip(run(whole, arrays), run(local, arrays), strict=True):
        assert distance(np.asarray(want), np.asarray(have)) <= 1e-5
    return kept, local


def merges(graph: Graph) -> bool:
    """Whether a reshape to 24 rows is left."""
    nodes = (node for node in walk(graph.main.body) if node.name == "stablehlo.reshape")
    return any(graph.type(node.results[0]).shape == (24, 8) for node in nodes)


@pytest.mark.parametrize("name", APART)
def test_dimensions_stay_apart(name: str) -> None:
    kept, local = sharded(*APART[name])
    assert not merges(kept)
    exchanged = [n.name for n in walk(local.main.body) if n.name in ("spmd.all_to_all", "spmd.all_gather")]
    assert exchanged == ([] if "2, 2" not in APART[name][0] else exchanged)


@pytest.mark.parametrize("name", MERGING)
def test_what_needs_them_merged_gets_them_merged(name: str) -> None:
    kept, _ = sharded(*MERGING[name])
    assert merges(kept)
