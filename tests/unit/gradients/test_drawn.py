"""Gradients of losses at random (drawn.py), against jax.grad of the emitted loss."""

from __future__ import annotations

import jax
import pytest
from hypothesis import HealthCheck, given, settings

import shardc
from shardc.diagnostics import collecting
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.interpret.run import run
from tests.tolerance import assert_near
from tests.unit.gradients.drawn import per_device, whole
from tests.unit.gradients.test_programs import arguments

SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large)


def check(text: str) -> None:
    """The value and the gradients are those that JAX finds."""
    with collecting():
        args = arguments(text)
        found = run(snapshot(read(text, "drawn.shard")).graph, args)
        emitted = shardc.compile(text, target="jax", entry="loss")
        expected = jax.value_and_grad(emitted.main, (0, 1))(*args)
    for one, other in zip(found, jax.tree.leaves(expected), strict=True):
        assert_near(one, other, terms=4096, text=text)


@settings(max_examples=2, suppress_health_check=SLOW)
@given(whole())
def test_of_whole_tensors(text: str) -> None:
    check(text)


@settings(max_examples=2, suppress_health_check=SLOW)
@given(per_device())
def test_per_device(text: str) -> None:
    check(text)


@pytest.mark.slow
@settings(max_examples=150, suppress_health_check=SLOW)
@given(whole() | per_device())
def test_many(text: str) -> None:
    check(text)
