"""The greatest elements of a split dimension and their places take one maximum over the devices."""

from __future__ import annotations

import numpy as np
import pytest

import shardc

PROGRAM = """mesh ring[x=4]

def main(a: f32[5, 32@x]):
    return {first}(a, axis=1), {second}(a, axis=1)
"""


@pytest.mark.parametrize(
    "order", [("max", "argmax"), ("argmax", "max"), ("min", "argmin"), ("argmin", "min")]
)
@pytest.mark.parametrize("target", ["jax", "numpy"])
def test_elements_and_places(order: tuple[str, str], target: str) -> None:
    program = shardc.compile(PROGRAM.format(first=order[0], second=order[1]), target=target)
    kind = order[0].removeprefix("arg")
    collectives = {name: program.source.count(f".p{name}(") for name in ("max", "min")}
    assert collectives == ({"max": 1, "min": 1} if kind == "max" else {"max": 0, "min": 2})
    if target == "jax":
        assert f"jnp.arg{kind}(a, axis=1) + " in program.source
    a = np.random.default_rng(0).integers(-3, 4, (5, 32)).astype(np.float32)  # with equal elements
    if target == "numpy":  # XLA's processes take the maximum of a NaN and a number as they come
        a[1, 20] = a[1, 9] = np.nan
    for name, result in zip(order, program.main(a), strict=True):
        np.testing.assert_array_equal(np.asarray(result), getattr(np, name)(a, axis=1))
