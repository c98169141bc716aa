"""Memory per device: arguments and outputs as XLA counts them, the peak as tracemalloc measures it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shardc.backend import numpy as numpy_backend
from shardc.graph import Graph
from shardc.report.cost import Cost
from shardc.report.cost import cost_of as cost_with


def cost_of(graph: Graph) -> Cost:
    return cost_with(graph, numpy_backend.peak(graph))


ROOT = Path(__file__).parents[3]

PROGRAMS = {
    "plain": "def f(x: f32[16@data, 8], y: f32[16@data, 8]) -> f32[16@data, 8]:\n    return x + y\n",
    "unused": "def f(x: f32[16@data, 8], y: f32[16@data, 8]) -> f32[16@data, 8]:\n    return x * 2.0\n",
    "several": "def f(x: f32[16@data, 8@model]) -> (f32[8@model], f32[16@data, 8@model], f32[]):\n"
    "    return sum(x, axis=0), x, sum(x)\n",
    "uneven": "def f(x: f32[15@data, 8@model]) -> f32[15@data, 8@model]:\n    return x * 2.0\n",
    "uneven and even": "def f(x: f32[15@data, 8@model], y: f32[16@data, 8])"
    " -> (f32[15@data, 8@model], f32[16@data, 8]):\n"
    "    return x * 2.0, y + 1.0\n",
    "partial": "def f(x: f32[16@data, 8@model], w: f32[8@model, 8]) -> f32[16@data, 8] partial(sum: model):\n"
    "    return x @ w\n",
    "narrow": "def f(x: bf16[16@data, 8], n: i32[], m: bool[16@data])"
    " -> (bool[16@data], i32[], bf16[16@data, 8]):\n"
    "    return ~m, n + 1, x\n",
}

XLA = """
import sys
import jax
jax.config.update("jax_num_cpu_devices", 8)
import shardc
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.graph.trees import arguments_of

for text in sys.stdin.read().split("----\\n"):
    graph = snapshot(read(text, "prog.shard", {}, None)).graph
    types = [graph.type(value) for value in graph.main.body.args]
    arrays = arguments_of(graph.main.interface, [jax.ShapeDtypeStruct(t.shape, t.numpy) for t in types])
    compiled = shardc.compile(text).main.lower(*arrays).compile()
    found = compiled.memory_analysis()
    print(found.argument_size_in_bytes, found.output_size_in_bytes)
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("part", range(3))
def test_arguments_and_outputs_are_those_of_xla(local_graph, part: int) -> None:
    pytest.importorskip("jax")
    texts = [f"mesh pod[data=2, model=4]\n{text}" for text in PROGRAMS.values()]
    examples = [path.read_text("utf-8") for path in sorted((ROOT / "examples").glob("*/*.shard"))]
    texts += [text for text in examples if "shard_map" not in text][part::3]
    run = subprocess.run(
        [sys.executable, "-c", XLA],
        input="----\n".join(texts),
        env={**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    ours = [cost_of(local_graph(text.partition("]\n")[2])).memory for text in texts[: len(PROGRAMS)]]
    ours += [_cost(text) for text in texts[len(PROGRAMS) :]]
    assert [f"{memory.arguments} {memory.outputs}" for memory in ours] == run.stdout.splitlines()


def _cost(text: str):
    import shardc

    return shardc.cost(text, tries=0).memory


@pytest.mark.parametrize(
    ("name", "defines"),
    [
        ("megatron_mlp", {"B": 1024, "D": 512, "F": 2048}),
        ("transformer_layer", {"B": 8, "S": 128, "D": 256, "H": 8, "K": 32, "F": 1024}),
        ("layers", {"B": 256, "D": 256, "F": 512}),
        ("digits", {"N": 9600, "H1": 128}),
        ("vocabulary", {"B": 64, "D": 256, "V": 4096}),
    ],
)
def test_the_peak_of_an_example(example, peak, name: str, defines: dict[str, int]) -> None:
    graph = example(name, **defines)
    assert cost_of(graph).memory.peak == pytest.approx(peak(graph), rel=0.1)


BODIES = {
    "temporaries of operators": "x * 2.0 + x * 3.0 - x / 5.0",
    "functions": "tanh(exp(x) * 0.1) + sqrt(abs(x))",
    "a broadcast": "x * mean(x, axis=1, keepdims=True) + sum(x, axis=0)",
    "views": "transpose(reshape(x, (64, 32, 512)), (1, 0, 2))[3] + 1.0",
    "copies": "reshape(transpose(x, (1, 0)), (1024, 1024)) * 2.0",
    "a table": "take(x, arange(512), axis=1) + 1.0",
    "concatenation": "concatenate([x, x * 2.0], axis=1)[:, 256:768]",
    "comparison": "where(x > 0.0, x, 0.5 * x)",
    "a product in bf16": "astype(astype(x, bf16) @ astype(transpose(x, (1, 0)), bf16), f32)",
    "cumsum": "cumsum(x, axis=1)",
    "sorting": "sort(x, axis=1)",
    "an einsum into another order": 'reshape(transpose(einsum("abc,abd->dac", reshape(x, (64, 32, 512)), '
    "reshape(x, (64, 32, 512))[:, :, 0:64]), (1, 0, 2)), (4096, 512)) * 2.0",
    "an einsum whose operands are copied": 'einsum("abcd,aecd->acbe", reshape(x, (16, 16, 8, 512)), '
    "reshape(x, (16, 16, 8, 512))) * 2.0",
    "an einsum that is no product of matrices": 'einsum("abc,abc->ba", reshape(x, (64, 32, 512)), '
    "reshape(x * 2.0, (64, 32, 512))) + 1.0",
    "logistic": "sigmoid(x) * x",
    "an argmax over rows that are split": "argmax(x, axis=0)",
    "an argmax over columns that are split": "argmax(transpose(x, (1, 0)), axis=1)",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_the_peak_of_an_expression(local_graph, peak, body: str) -> None:
    graph = local_graph(f"def f(x: f32[2048@data, 512]):\n    return {body}\n")
    assert cost_of(graph).memory.peak == pytest.approx(peak(graph), rel=0.1)


def test_the_peak_of_a_loop(local_graph, peak) -> None:
    """A variable keeps its array until the next round gives it another."""
    graph = local_graph(
        "def f(x: f32[512@data, 256], ws: f32[8, 256, 256]) -> f32[512@data, 256]:\n"
        "    for w in ws carrying x:\n        h = tanh(x @ w)\n        x = x + h * 0.5\n    return x\n"
    )
    assert cost_of(graph).memory.peak == pytest.approx(peak(graph), rel=0.1)


BRANCHES = """
def small(h: f32[512, 256]):
    y = h * h
    return y / (y + 1.0)

def large(h: f32[512, 256]):
    a = exp(h)
    b = a * a
    c = a + b
    return (a + c) * b * c

def f(x: f32[512@data, 256], ws: f32[8], n: i32[]) -> f32[512@data, 256]:
    for w in ws carrying x:
        x = cond(n < 5, small, large, x) * w
    return x
"""


def test_the_peak_of_branches_in_a_loop(local_graph, peak) -> None:
    """What a branch left in its variables is nothing that the next round has."""
    graph = local_graph(BRANCHES)
    assert cost_of(graph).memory.peak >= 0.9 * peak(graph)


def test_no_size_is_too_large(local_graph) -> None:
    """Nothing is allocated to find out what would be."""
    graph = local_graph(
        "def f(x: f32[1_000_000@data, 1_000_000@model]):\n    return x + 1.0\n".replace("_", "")
    )
    assert cost_of(graph).memory.arguments == 4 * 10**12 // 8
