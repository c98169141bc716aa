"""Gradients of whole programs, with loops, branches, calls and per-device code, against jax.grad."""

from __future__ import annotations

import re

import jax
import numpy as np
import pytest

import shardc
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.graph.trees import arguments_of
from shardc.interpret.run import run
from tests.tolerance import assert_near
from tests.unit.gradients.programs import PROGRAMS, Written


def with_gradient(program: Written) -> str:
    """The program with a main that takes the gradient of its loss."""
    header = re.search(r"def loss\((.*)\) -> f32\[\]:", program.text)
    assert header is not None
    names = re.findall(r"(\w+): ", header[1])
    return (
        f"{program.text}\ndef main({header[1]}):\n"
        f"    return grad(loss, {program.argnums})({', '.join(names)})\n"
    )


def arguments(text: str) -> list[np.ndarray]:
    """Arrays for the entry of a program."""
    graph = snapshot(read(text, "program.shard")).graph
    rng = np.random.default_rng(len(text))
    return [
        rng.uniform(-1, 1, graph.type(value).shape).astype(graph.type(value).numpy)
        for value in graph.main.body.args
    ]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_gradient(program: Written):
    text = with_gradient(program)
    args = arguments(text)
    found = run(snapshot(read(text, "program.shard")).graph, args)
    emitted = shardc.compile(program.text, target="jax", entry="loss")
    interface = snapshot(read(program.text, "program.shard", {}, "loss")).graph.main.interface
    expected = jax.grad(emitted.main, program.argnums)(*arguments_of(interface, args))
    for one, other in zip(found, jax.tree.leaves(expected), strict=True):
        narrowest = next((dtype for dtype in ("f8e4m3", "bf16") if dtype in text), "f32")
        assert_near(one, other, terms=4096, dtype=narrowest)
