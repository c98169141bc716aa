"""Equal arrays that a loop begins with are one variable, which nothing else is called meanwhile."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shardc
from tests.tolerance import assert_near

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

X = np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4)


def several(count: int) -> Any:
    def function(x: Any) -> Any:
        zeros = jnp.cos(x)  # in use in the loop's body, by the name that the variable would have

        def step(_: Any, carry: Any) -> Any:
            return tuple(part * 0.5 + number * zeros for number, part in enumerate(carry))

        return jax.lax.fori_loop(0, 3, step, (jnp.zeros((8, 4)),) * count)

    return function


@pytest.mark.parametrize("count", [2, 3, 5])
def test_equal_arrays_are_one_variable_and_cast_together(count: int) -> None:
    mesh = jax.make_mesh((2,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    way = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    program = shardc.from_jax(several(count), X, in_shardings=(way,))
    assert program.source.count("jnp.zeros((4, 4), jnp.float32)") == 1
    names = ", ".join(["zeros_1"] * count)
    assert f'lax.pcast(({names}), "data", to="varying")' in " ".join(program.source.split())
    for one, other in zip(program.main(X), several(count)(X), strict=True):
        assert_near(one, other)
