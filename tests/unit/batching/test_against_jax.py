"""vmap of expressions that are both the language's and Python's, against jax.vmap."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.interpret.run import run
from tests.tolerance import assert_near

jax = pytest.importorskip("jax")
jnp, lax, nn = jax.numpy, jax.lax, jax.nn

N = 3
"""The number of slices."""

HERE = Path(__file__).parent
ONE, TWO = ((HERE / name).read_text().splitlines() for name in ("of_one.txt", "of_two.txt"))
"""Expressions of x, and of x and y: `f32[3, 4]` each."""


def _conv(x: Any, kernel: Any, padding: str = "VALID") -> Any:
    return lax.conv_general_dilated(x, kernel, (1, 1), padding, dimension_numbers=("NCHW", "OIHW", "NCHW"))


def _pool(init: float, combine: Any, count: bool) -> Any:
    def run(x: Any, window: tuple[int, int]) -> Any:
        sizes = (1, 1, *window)
        found = lax.reduce_window(x, init, combine, sizes, sizes, "VALID")
        return found / (window[0] * window[1]) if count else found

    return run


NAMES: dict[str, Any] = {
    **{name: getattr(jnp, name) for name in dir(jnp)},
    **{name: getattr(nn, name) for name in dir(nn) if not name.startswith("_")},
    "associative_scan": lax.associative_scan,
    "avg_pool": _pool(0.0, lax.add, True),
    "cond": lax.cond,
    "conv": _conv,
    "cummax": lambda x, axis: lax.cummax(x, axis),
    "dynamic_slice": lax.dynamic_slice,
    "dynamic_update_slice": lax.dynamic_update_slice,
    "fft": jnp.fft.fft,
    "grad": jax.grad,
    "ifft": jnp.fft.ifft,
    "iota": lax.broadcasted_iota,
    "irfft": jnp.fft.irfft,
    "jvp": jax.jvp,
    "max_pool": _pool(-np.inf, lax.max, False),
    "norm_like": lambda x: jnp.linalg.norm(x),
    "rfft": jnp.fft.rfft,
    "stop_gradient": lax.stop_gradient,
    "switch": lax.switch,
    "top_k": lax.top_k,
    "value_and_grad": jax.value_and_grad,
    "vjp": jax.vjp,
    "vmap": jax.vmap,
    "while_loop": lax.while_loop,
    "astype": lambda x, dtype: x.astype(dtype),
}
"""What Python calls by the language's names."""

DTYPES = {"int32": "i32", "bfloat16": "bf16", "float32": "f32"}


def compare(parameters: dict[str, str], expression: str, in_axes: tuple[Any, ...], args: list[Any]) -> None:
    """The results of the language's vmap and of JAX's."""
    names = ", ".join(parameters)
    own = expression
    for theirs, ours in DTYPES.items():
        own = own.replace(theirs, ours)
    text = "def norm_like(x):\n    return sqrt(sum(x * x))\n\n"
    text += f"def main({', '.join(f'{name}: {type}' for name, type in parameters.items())}):\n"
    text += f"    return vmap(lambda {names}: {own}, in_axes={in_axes})({names})\n"
    (found,) = run(snapshot(read(text, "test.shard")).graph, args)
    function = eval(f"lambda {names}: {expression}", NAMES)
    expected = jax.vmap(function, in_axes=in_axes)(*map(jnp.asarray, args))
    assert found.shape == expected.shape and found.dtype == expected.dtype
    assert_near(found, expected, terms=N * 3 * 4)


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("expression", ONE)
def test_of_one_argument(expression: str) -> None:
    compare({"x": f"f32[{N}, 3, 4]"}, expression, (0,), [normal(N, 3, 4)])


AXES = [(0, 0), (0, None), (None, 0), (1, -1)]
PAIRS = [
    pytest.param(one, axes, marks=() if (i + j) % 4 == 0 else pytest.mark.slow)
    for i, one in enumerate(TWO)
    for j, axes in enumerate(AXES)
]


@pytest.mark.parametrize(("expression", "in_axes"), PAIRS)
def test_of_two_arguments(expression: str, in_axes: tuple[int | None, ...]) -> None:
    shapes = {0: (N, 3, 4), 1: (3, N, 4), -1: (3, 4, N), None: (3, 4)}
    given = [normal(*shapes[axis]) for axis in in_axes]
    given[1] = given[1] * np.float32(0.7) - np.float32(0.1)
    types = [f"f32[{', '.join(map(str, array.shape))}]" for array in given]
    compare(dict(zip("xy", types, strict=True)), expression, in_axes, given)
