"""examples/training: some steps of it, against the same steps with jax.grad of the emitted loss."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jax")

import jax

import shardc
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.interpret.run import run
from tests.tolerance import assert_near

EXAMPLE = Path(__file__).parents[2] / "examples/training"


@pytest.fixture(autouse=True)
def _what_the_demo_imports() -> None:
    """Not where tests are collected: that is seconds of each worker."""
    pytest.importorskip("sklearn")


def test_the_gradient_is_that_of_the_emitted_loss(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "argv", ["demo.py"])
    demo = runpy.run_path(str(EXAMPLE / "demo.py"))
    source = (EXAMPLE / "training.shard").read_text()
    rng = np.random.default_rng(1)
    model, text = demo["first_model"](rng), demo["letters"]()
    batch = np.stack([text[start : start + 49] for start in range(0, 1600, 100)])
    own = jax.tree.leaves(model)
    means = [np.zeros_like(one) for one in own]
    first, *rest = run(
        snapshot(read(source, "training.shard")).graph,
        [*own, *means, *means, np.array(1, np.float32), batch],
    )
    emitted = shardc.compile(source, target="jax", entry="loss").main
    loss, gradient = jax.value_and_grad(emitted)(model, batch)
    assert_near(first, loss, terms=1024)
    for mean, one in zip(rest[7:14], jax.tree.leaves(gradient), strict=True):
        assert_near(10 * mean, one, terms=16 * 48 * 64)  # of the batch, of each of two layers and its inputs


@pytest.mark.slow
def test_it_learns():
    losses = runpy.run_path(str(EXAMPLE / "demo.py"))["main"](40)
    assert losses[-1] < 3.2 < 4.5 < losses[0]
