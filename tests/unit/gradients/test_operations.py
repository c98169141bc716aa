"""Gradients of functions of all operations, against jax.grad of the same functions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.interpret.run import run
from tests.unit.gradients.cases import ALL, Case, as_python


def arguments(case: Case) -> list[np.ndarray]:
    """Values from a generator that the text seeds."""
    rng = np.random.default_rng(sum(map(ord, case.text)) + len(case.shapes))
    return [rng.uniform(case.low, case.high, shape).astype(np.float32) for shape in case.shapes]


def text_of(case: Case, result: tuple[int, ...]) -> str:
    """The program: the function, its sum with fixed weights, the gradient of that, and the derivative along
    the arguments themselves, whose product with the weights the gradient gives too.
    """
    names = "xyz"[: len(case.shapes)]
    typed = ", ".join(f"{n}: f32{list(s)}" for n, s in zip(names, case.shapes, strict=True))
    given = ", ".join(names)
    return (
        f"def loss({typed}, w: f32{list(result)}):\n    return sum(({case.text}) * w)\n\n"
        f"def main({typed}, w: f32{list(result)}):\n"
        f"    a, b = jvp(lambda {given}: {case.text}, ({given},), ({given},))\n"
        f"    return grad(loss, {tuple(range(len(names)))})({given}, w), sum(b * w)\n"
    )


@pytest.mark.parametrize("case", ALL, ids=lambda case: f"{case.text} {case.shapes}")
def test_gradient(case: Case):
    args = arguments(case)
    function = as_python(case)
    shape = jax.eval_shape(function, *args).shape
    weights = np.cos(np.arange(np.prod(shape, dtype=int), dtype=np.float32) + 1).reshape(shape)
    found = run(snapshot(read(text_of(case, shape), "case.shard")).graph, [*args, weights])
    gradient = jax.grad(lambda *a: jnp.sum(function(*a) * weights), tuple(range(len(args))))
    expected = jax.jit(gradient)(*args)
    for one, other in zip(found, expected, strict=False):
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-5)
    along = sum(np.vdot(one, arg) for one, arg in zip(expected, args, strict=True))
    np.testing.assert_allclose(found[-1], along, rtol=1e-3, atol=1e-3)
