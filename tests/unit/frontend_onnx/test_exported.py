"""A transformer that jax2onnx exported, heads and batch split, against the same one through JAX."""

from __future__ import annotations

import re
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import jax
import numpy as np
import onnx
import pytest
from jax.sharding import NamedSharding, PartitionSpec
from onnx import numpy_helper

import shardc
from tests.exported.transformer import FILE, LENGTH, SHAPES, WIDTH, export, transformer, weights
from tests.tolerance import assert_near

jax.config.update("jax_num_cpu_devices", 8)

Split = dict[str, tuple[str | None, ...]]

MACHINE = "h100-infiniband"
"""Where a collective takes its time, so that weights as small as these are gathered as one."""

COLUMNS, ROWS = (None, "model"), ("model", None)
TO_HEADS = (None, "model", None)
HEADS: Split = {
    **dict.fromkeys(("wq", "wk", "wv"), TO_HEADS),
    "wo": ("model", None, None),
    "w1": COLUMNS,
    "w2": ROWS,
}
BATCH: Split = {"x": ("data", None, None)}
X = np.random.default_rng(3).standard_normal((4, LENGTH, WIDTH)).astype(np.float32)


@pytest.mark.sampled(3)
def test_the_file_of_the_repository(split_and_kinds: tuple[Split, dict[str, int]]) -> None:
    _same_collectives(FILE, *split_and_kinds)


def test_a_new_export(split_and_kinds: tuple[Split, dict[str, int]], tmp_path: Path) -> None:
    if find_spec("jax2onnx") is None:
        pytest.skip("jax2onnx is not installed")
    export(tmp_path / "new.onnx")
    _same_collectives(tmp_path / "new.onnx", *split_and_kinds)


@pytest.fixture(
    params=[
        (
            HEADS | BATCH,
            {"all-gather over model, 30 KiB sent per device": 1},
        ),
        (
            HEADS,
            {"all-gather over model, 30 KiB sent per device": 1},
        ),
        (BATCH, {}),
    ],
    ids=["heads and batch", "heads", "batch"],
)
def split_and_kinds(request: pytest.FixtureRequest) -> tuple[Split, dict[str, int]]:
    """Which weights and inputs are split, and the collectives of both layers. In one of them weights are
    gathered, and every device does all of its smaller products."""
    return request.param


def _same_collectives(file: Path, split: Split, kinds: dict[str, int]) -> None:
    names = _names(file)
    texts = {tensor: f"P{split[name]}" for tensor, name in names.items() if name in split}
    pod, dims = "pod[data=2, model=4]", {"B": 4}
    ours = shardc.from_onnx(str(file), dims=dims, mesh=pod, shardings=texts, machine=MACHINE)
    mesh = jax.make_mesh((2, 4), ("data", "model"))
    layers = weights()
    given = NamedSharding(mesh, PartitionSpec(*split.get("x", ())))
    each = {name: NamedSharding(mesh, PartitionSpec(*split.get(name, ()))) for name in SHAPES}
    function = shardc.jit(transformer, in_shardings=(given, [each for _ in layers]), machine=MACHINE)
    theirs = function.lower(X, layers)
    assert _collectives(ours.source) == _collectives(theirs.source) == Counter(kinds)
    assert len(re.findall(r"lax\.(p\w+|all_\w+)\(", ours.source)) == sum(kinds.values())
    stored = ours.module.load_weights(str(file))
    assert_near(ours.main(X, *stored.values()), transformer(X, layers), terms=1024)


def _names(file: Path) -> dict[str, str]:
    """Tensor of the model, or its input -> what it is in JAX; a weight by its elements."""
    graph = onnx.load(file).graph
    known = {array.tobytes(): name for layer in weights() for name, array in layer.items() if array.ndim > 1}
    found = {t.name: known.get(numpy_helper.to_array(t).tobytes()) for t in graph.initializer}
    stored = {tensor: name for tensor, name in found.items() if name is not None}
    assert len(stored) == len(known)
    return stored | {graph.input[0].name: "x"}


def _collectives(source: str) -> Counter[str]:
    """How often each collective is done: its kind, axes and bytes, as the program says."""
    return Counter(re.findall(r"# ([a-z-]+ over \w+, [\d.]+ \w+ sent per device)", source))
