"""A transformer block as exporters write it, with heads and batch split, against the same one through JAX."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec
from onnx import ModelProto, NodeProto, TensorProto, helper

import shardc
from tests.onnx_small import RNG, model
from tests.tolerance import assert_near

jax.config.update("jax_num_cpu_devices", 8)

BATCH, LENGTH, HEADS, WIDTH, HIDDEN = 4, 8, 4, 32, 64
DEPTH = WIDTH // HEADS


Kinds = dict[str, int]


def normal(*shape: int) -> np.ndarray:
    return (RNG.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)


WEIGHTS = {
    "scale1": RNG.uniform(0.5, 1.5, WIDTH).astype(np.float32),
    "shift1": normal(WIDTH),
    "wq": normal(WIDTH, WIDTH),
    "wk": normal(WIDTH, WIDTH),
    "wv": normal(WIDTH, WIDTH),
    "wo": normal(WIDTH, WIDTH),
    "scale2": RNG.uniform(0.5, 1.5, WIDTH).astype(np.float32),
    "shift2": normal(WIDTH),
    "w1": normal(WIDTH, HIDDEN),
    "w2": normal(HIDDEN, WIDTH),
}
X = RNG.standard_normal((BATCH, LENGTH, WIDTH)).astype(np.float32)
COLUMNS, ROWS = (None, "model"), ("model", None)
HEADS_SPLIT = {"wq": COLUMNS, "wk": COLUMNS, "wv": COLUMNS, "wo": ROWS, "w1": COLUMNS, "w2": ROWS}
BATCH_SPLIT = {"x": ("data", None, None)}


def block(x, scale1, shift1, wq, wk, wv, wo, scale2, shift2, w1, w2):
    """Pre-norm attention and GELU, in JAX."""

    def norm(x, scale, shift):
        centred = x - jnp.mean(x, -1, keepdims=True)
        variance = jnp.mean(centred * centred, -1, keepdims=True)
        return centred / jnp.sqrt(variance + 1e-5) * scale + shift

    def heads(x):
        return x.reshape(BATCH, LENGTH, HEADS, DEPTH).transpose(0, 2, 1, 3)

    h = norm(x, scale1, shift1)
    q, k, v = heads(h @ wq), heads(h @ wk), heads(h @ wv)
    weights = jax.nn.softmax(q @ k.swapaxes(2, 3) / np.float32(np.sqrt(DEPTH)), axis=-1)
    mixed = (weights @ v).transpose(0, 2, 1, 3).reshape(BATCH, LENGTH, WIDTH)
    x = x + mixed @ wo
    g = norm(x, scale2, shift2) @ w1
    gelu = g * (jax.lax.erf(g / np.float32(np.sqrt(2))) + 1) * np.float32(0.5)
    return x + gelu @ w2


def exported() -> ModelProto:
    """The same nodes that torch's exporter writes: sizes from Shape, heads by Reshape, GELU by Erf."""
    nodes: list[NodeProto] = []

    def add(op: str, inputs: str, output: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(op, inputs.split(), [output], **attributes))
        return output

    for axis in (0, 1):
        add("Shape", "x", f"shape{axis}")
        add("Gather", f"shape{axis} index{axis}", f"size{axis}", axis=0)
        add("Unsqueeze", f"size{axis} zeros", f"dim{axis}")
    add("Concat", "dim0 dim1 heads depth", "split", axis=0)
    add("Concat", "dim0 dim1 width", "joined", axis=0)
    add("LayerNormalization", "x scale1 shift1", "h", axis=-1, epsilon=1e-5)
    for name in "qkv":
        add("MatMul", f"h w{name}", f"{name}_flat")
        add("Reshape", f"{name}_flat split", f"{name}_heads")
        add("Transpose", f"{name}_heads", name, perm=[0, 2, 3, 1] if name == "k" else [0, 2, 1, 3])
    add("MatMul", "q k", "scores")
    add("Div", "scores root", "scaled")
    add("Softmax", "scaled", "weights", axis=-1)
    add("MatMul", "weights v", "mixed")
    add("Transpose", "mixed", "rows", perm=[0, 2, 1, 3])
    add("Reshape", "rows joined", "flat")
    add("MatMul", "flat wo", "attended")
    add("Add", "x attended", "middle")
    add("LayerNormalization", "middle scale2 shift2", "h2", axis=-1, epsilon=1e-5)
    add("MatMul", "h2 w1", "g")
    add("Div", "g root2", "g2")
    add("Erf", "g2", "erf")
    add("Add", "erf one", "erf1")
    add("Mul", "g erf1", "g3")
    add("Mul", "g3 half", "gelu")
    add("MatMul", "gelu w2", "out")
    add("Add", "middle out", "y")
    stored = {
        "index0": np.array(0), "index1": np.array(1), "zeros": np.array([0]), "heads": np.array([HEADS]),
        "depth": np.array([DEPTH]), "width": np.array([WIDTH]), "root": np.float32(np.sqrt(DEPTH)),
        "root2": np.float32(np.sqrt(2)), "one": np.float32(1), "half": np.float32(0.5),
    }  # fmt: skip
    proto = model(nodes, {"x": ["batch", "length", WIDTH]}, ["y"], **stored, **WEIGHTS)
    proto.graph.output[0].CopyFrom(
        helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", "length", WIDTH])
    )
    return proto


def collectives(source: str) -> Counter[str]:
    """How often each collective is done: its kind, axes and bytes, as the program says."""
    return Counter(re.findall(r"# ([a-z-]+ over \w+, [\d.]+ \w+ sent per device)", source))


@pytest.mark.parametrize(
    ("axes", "split", "kinds"),
    [
        (
            {"data": 2, "model": 4},
            HEADS_SPLIT | BATCH_SPLIT,
            {"all-reduce over model, 3 KiB sent per device": 2},
        ),
        ({"model": 4}, HEADS_SPLIT, {"all-reduce over model, 6 KiB sent per device": 2}),
        ({"data": 4}, BATCH_SPLIT, {}),
    ],
)
def test_the_same_collectives_as_through_jax(
    axes: dict[str, int], split: dict[str, tuple[str | None, ...]], kinds: Kinds
) -> None:
    sizes = {"batch": BATCH, "length": LENGTH}
    texts = {name: f"P{axes}" for name, axes in split.items()}
    named = ", ".join(f"{name}={size}" for name, size in axes.items())
    ours = shardc.from_onnx(exported(), dims=sizes, mesh=f"pod[{named}]", shardings=texts)
    mesh = jax.make_mesh(tuple(axes.values()), tuple(axes))
    given = [NamedSharding(mesh, PartitionSpec(*split.get(name, ()))) for name in ("x", *WEIGHTS)]
    function = shardc.jit(block, in_shardings=given)
    theirs = function.lower(X, *WEIGHTS.values())
    assert len(re.findall(r"lax\.(p\w+|all_\w+)\(", ours.source)) == sum(kinds.values())
    assert collectives(ours.source) == collectives(theirs.source) == Counter(kinds)
    found = ours.main(X, *(WEIGHTS[name] for name in ours.module.WEIGHTS))
    assert_near(found, block(X, *WEIGHTS.values()), terms=1024)
