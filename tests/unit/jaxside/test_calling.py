"""Messages and warnings name the user's line, also where the function is a library's own."""

from __future__ import annotations

import warnings
from inspect import currentframe
from typing import Any

import numpy as np
import pytest

import shardc
from shardc.diagnostics import ShardcError, source_line
from shardc.jaxside.warned import ShardcWarning

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")


def next_line() -> str:
    frame = currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return f"{__file__}:{frame.f_back.f_lineno + 1}:"


CALLS: dict[str, Any] = {
    "the call": lambda inverse, x: (next_line(),
        inverse(x)),
    "lower": lambda inverse, x: (next_line(),
        inverse.lower(x)),
    "a derivative": lambda inverse, x: (next_line(),
        jax.grad(lambda x: inverse(x).sum())(x)),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_of_a_library_function(pod, draw, call):
    x = pod.put(draw(8, 8) + 9 * np.eye(8, dtype=np.float32), "data")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ShardcWarning)
        line, _ = call(shardc.jit(jnp.linalg.inv), x)
    assert said
    for warning in said:
        assert f"{warning.filename}:{warning.lineno}:" == line
        assert str(warning.message).startswith(line)


def test_filters_by_module(pod, draw):
    x = pod.put(draw(8, 8), "data")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShardcWarning)
        warnings.filterwarnings("error", category=ShardcWarning, module=__name__)
        with pytest.raises(ShardcWarning, match="svd cannot run on blocks"):
            shardc.jit(lambda x: jnp.linalg.svd(x)[1])(x)


def of_two_bits(
    x,
    *rest,
    scale=1,
):
    return x * scale


ARGUMENTS: dict[str, tuple[Any, str, str]] = {
    "one of many lines": (of_two_bits, "*rest,", "rest"),
    "a lambda's": (lambda x, y: x, "lambda x, y: x, ", "y"),
    "a library function's": (jnp.take, "shardc.jit(function)(", "shardc"),
}


@pytest.mark.parametrize(("function", "line", "pointed"), ARGUMENTS.values(), ids=ARGUMENTS)
def test_at_the_parameter(pod, draw, function, line, pointed):
    x = pod.put(draw(8), "data")
    with pytest.raises(ShardcError, match="is of type i2") as error:
        shardc.jit(function)(x, jnp.ones(8, jnp.int2))
    place = error.value.diagnostic.loc
    source = source_line(place)
    assert place.file == __file__
    assert source is not None
    assert line in source
    assert source[place.col - 1 :].startswith(pointed)


def test_warnings_of_arguments(pod, draw):
    def halves(x):
        return jax.lax.with_sharding_constraint(x, pod.way("data")) * 2

    with pytest.warns(ShardcWarning, match="does not divide") as said:
        shardc.jit(halves)(draw(7))
    assert f"{__file__}:{halves.__code__.co_firstlineno}:16: warning: " in str(said[0].message)
