"""Gradients of whole programs, with loops, branches, calls and per-device code, against jax.grad."""

from __future__ import annotations

import re

import jax
import numpy as np
import pytest

import shardc
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
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
    leaves = _leaves(program, args)
    forward = emitted.main
    expected = jax.grad(forward, _numbers(program, len(args)))(*leaves)
    for one, other in zip(found, jax.tree.leaves(expected), strict=True):
        assert_near(one, other, terms=4096, dtype="bf16" if "bf16" in text else "f32")


def _leaves(program: Written, args: list[np.ndarray]) -> list[np.ndarray]:
    return args


def _numbers(program: Written, count: int) -> tuple[int, ...]:
    """Which arrays: a record is as many as it has fields."""
    if "record" in program.text:
        return tuple(range(count))
    return program.argnums
