"""Whole programs with their products overlapped: equal to the single-device program, with as many bytes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardc
from shardc.diagnostics import collecting
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.graph import Graph, walk
from shardc.interpret.arguments import random_inputs
from shardc.interpret.run import run
from tests.corpus.overlapping import local, traffic
from tests.tolerance import assert_near, assert_right

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[1] / "examples/weight_gathering/weight_gathering.shard"
PROGRAMS = {
    name: (HERE / "programs" / f"{name}.shard").read_text()
    for name in (
        "adam",
        "dtypes",
        "fsdp",
        "fsdp_layers",
        "gradient",
        "nested_loops",
        "sequence_parallel",
        "weights_2d",
    )
}
BY_HAND = re.compile(r"q_wi_out = matmul_reduce_scatter\(.*\)")
AUTOMATIC = 'q_wi_out: bf16[B, T, H@heads, Q] = einsum("bte,hed->bthd", xnorm, q_wi[layer])'


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    _same(PROGRAMS[name])


@pytest.mark.parametrize("target", ["jax", "numpy"])
@pytest.mark.parametrize("name", ["fsdp_layers", "weights_2d", "sequence_parallel"])
def test_emitted(name: str, target: str) -> None:
    if target == "jax":
        pytest.importorskip("jax")
    _emitted(PROGRAMS[name], target)


def test_a_scan_of_jax() -> None:
    """FSDP in JAX: the stacks that XLA would gather before the scan go around layer by layer."""
    jax = pytest.importorskip("jax")
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:4]), ("data",))

    def split(*spec: str | None) -> object:
        return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*spec))

    def layers(x: Any, ups: Any, downs: Any) -> Any:
        return jax.lax.scan(lambda h, w: (h + jax.nn.relu(h @ w[0]) @ w[1], None), x, (ups, downs))[0]

    rng = np.random.default_rng(0)
    arrays = [
        rng.standard_normal(shape).astype(np.float32) for shape in ((512, 16), (3, 16, 32), (3, 32, 16))
    ]
    shardings = (split("data"), split(None, "data"), split(None, "data"))
    program = shardc.from_jax(
        layers, *arrays, in_shardings=shardings, out_shardings=shardings[0], overlap="on"
    )
    assert "all_gather" not in program.source
    assert_near(program.main(*arrays), layers(*arrays), terms=3 * (16 + 32))


def test_layers_are_gathered_one_by_one() -> None:
    """A stack that is gathered for a loop goes around within the loop: no device holds all of it."""
    graph = _same(PROGRAMS["fsdp_layers"])
    manual = graph.main.body.nodes[0]
    held = {graph.type(value).shape for node in walk(manual.regions[0]) for value in node.results}
    assert held.isdisjoint({(3, 16, 32), (3, 32, 16), (16, 32), (32, 16)})


def test_weight_gathering_by_hand_and_by_the_compiler() -> None:
    """The constraint in place of the manual function, overlapped, sends what the manual function does."""
    by_hand = EXAMPLE.read_text()
    automatic, count = BY_HAND.subn(AUTOMATIC, by_hand)
    assert count == 1
    plain, overlapped = traffic(local(automatic)), traffic(_same(automatic))
    assert plain["reduce_scatter"] > overlapped["reduce_scatter"]
    assert traffic(local(by_hand, when="on")) == overlapped


def _same(text: str) -> Graph:
    """The overlapped program, after a look at what it computes and sends."""
    with collecting():
        whole = snapshot(read(text, "p.shard", {}, None)).graph
        plain, overlapped = local(text), local(text, when="on")
    before, after = traffic(plain), traffic(overlapped)
    assert before.total() == after.total()
    arrays = random_inputs(whole.types(whole.main.body.args))
    assert_right(whole, overlapped, arrays, run(overlapped, arrays), text)
    return overlapped


def _emitted(text: str, target: str) -> None:
    with collecting():
        whole = snapshot(read(text, "p.shard", {}, None)).graph
    arrays = random_inputs(whole.types(whole.main.body.args))
    program = shardc.compile(text, target=target, overlap="on")
    assert "ppermute" in program.source
    have = program.main(*arrays)
    assert_right(whole, whole, arrays, list(have) if isinstance(have, tuple) else [have], text)
