"""Gradients of functions of all operations, against jax.grad of the same functions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.interpret.run import run
from tests.sampling import operation
from tests.tolerance import assert_near
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


@pytest.mark.sampled(3, each=operation)
@pytest.mark.parametrize("case", ALL, ids=lambda case: f"{case.text} {case.shapes}")
def test_gradient(case: Case):
    args = arguments(case)
    function = as_python(case)
    shape = jax.eval_shape(function, *args).shape
    weights = np.cos(np.arange(np.prod(shape, dtype=int), dtype=np.float32) + 1).reshape(shape)
    found = run(snapshot(read(text_of(case, shape), "case.shard")).graph, [*args, weights])
    gradient = jax.grad(lambda *a: jnp.sum(function(*a) * weights), tuple(range(len(args))))
    expected = jax.jit(gradient)(*args)
    largest = max(1.0, *(float(np.abs(one).max(initial=0.0)) for one in expected))
    for one, other in zip(found, expected, strict=False):
        assert_near(one, other, terms=1024, magnitude=largest)  # one of them may be what others cancel to
    products = [np.asarray(one) * arg for one, arg in zip(expected, args, strict=True)]
    magnitude = float(sum(np.abs(product).sum() for product in products))
    assert_near(found[-1], np.float32(sum(product.sum() for product in products)), 1024, magnitude)
