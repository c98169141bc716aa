"""Functions of NumPy and jax.nn, called as JAX is: the expressions are the language's and Python's."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shardc
from shardc.diagnostics import ShardcError
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.interpret.run import run
from tests.sampling import operation
from tests.tolerance import assert_near

jax = pytest.importorskip("jax")
jnp, nn = jax.numpy, jax.nn

RNG = np.random.default_rng(1)
X = RNG.normal(size=(8, 6)).astype(np.float32)
N = np.where(RNG.random((8, 6)) < 0.3, np.float32(np.nan), X)
ARGS = {"x": X, "n": N, "i": RNG.integers(-2, 6, (8, 6)).astype(np.int32)}
TYPES = {"x": "f32[8, 6]", "n": "f32[8, 6]", "i": "i32[8, 6]"}
EXPRESSIONS = (Path(__file__).parent / "of_numpy.txt").read_text().splitlines()
NAMES: dict[str, Any] = {
    **{name: getattr(jnp, name) for name in dir(jnp) if not name.startswith("_")},
    **{name: getattr(nn, name) for name in dir(nn) if not name.startswith("_")},
    "inf": inf,
    "norm": jnp.linalg.norm,
    "matrix_power": jnp.linalg.matrix_power,
    "matrix_transpose": jnp.linalg.matrix_transpose,
    "quantile": lambda a, q, **how: jnp.quantile(a, jnp.asarray(q), **how),
    "percentile": lambda a, q, **how: jnp.percentile(a, jnp.asarray(q), **how),
}


def program(expression: str, types: dict[str, str], header: str = "") -> str:
    parameters = ", ".join(f"{name}: {type}" for name, type in types.items())
    return f"{header}def main({parameters}):\n    return {expression}\n"


def results(text: str) -> list[Any]:
    return run(snapshot(read(text, "test.shard")).graph, [*ARGS.values()])


def close(found: Any, expected: Any) -> None:
    assert_near(found, expected, terms=X.size)


@pytest.mark.sampled(3, each=operation)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_as_jax(expression: str):
    (found,) = results(program(expression, TYPES))
    expected = eval(expression, {**NAMES, **{name: jnp.asarray(array) for name, array in ARGS.items()}})
    assert found.shape == expected.shape and found.dtype == expected.dtype
    close(found, expected)


LOCAL = """
bincount(ravel(i), length=5)
cov(x, rowvar=False)
digitize(x, array([-1.0, 0.0, 0.5]))
histogram(x)[0]
histogram(x, 5, (-1.0, 1.0))[0]
median(x, axis=1)
nanmean(n, axis=0)
nansum(n)
nanargmax(n, axis=1)
norm(x)
inner(x, x[0])
tensordot(x, x, axes=((0,), (0,)))
kron(x, ones((2, 2)))
trapezoid(x)
standardize(x)
average(x, axis=0)
moveaxis(x[None], 0, -1)
cross(x[:, :3], x[:, 3:])
copysign(x, n)
gcd(i, 6)
isin(i, array([1, 2]))
select([x > 1, x > 0], [x, x * 2], -1)
interp(x, array([-1.0, 0.0, 0.5]), array([3.0, 1.0, 1.5]))
put_along_axis(x, argmax(x, axis=1, keepdims=True), 9.0, 1)
""".strip().splitlines()


@pytest.mark.parametrize("expression", LOCAL)
def test_split_data_stays_where_it_is(expression: str):
    """Devices count and add their own, and send each other totals: no block is gathered."""
    split = {name: type.replace("8", "8@r", 1) for name, type in TYPES.items()}
    text = program(expression, split, "mesh m[r=4]\n")
    found = shardc.cost(text).collectives
    assert {one.op for one in found} <= {"all-reduce"}
    assert sum(one.bytes for one in found) <= 600
    close(shardc.compile(text, target="numpy").main(*ARGS.values()), results(program(expression, TYPES))[0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("quantile(x, 1.5)", "q is a number from 0 to 1"),
        ("quantile(x, x[0])", "q is a number from 0 to 1"),
        ('quantile(x, 0.5, method="weird")', "method is one of linear, lower"),
        ("histogram(x, 0)", "histogram of 0 bins"),
        ('histogram(x, "auto")', "bins is a number of bins, or their edges"),
        ("bincount(x, length=3)", "bincount takes integers"),
        ("bincount(i)", "length"),
        ("unique(i)", "size"),
        ("cov(x[None])", r"cov of f32\[1, 8, 6\]"),
        ("cross(x, x)", "dimension 1 has 3 numbers"),
        ("tensordot(x, x, 1)", "contracted dimensions have sizes"),
        ("tensordot(x, x, (0,))", "axes is a number, or the dimensions"),
        ("norm(x, 7)", "norm: ord the number 7 of matrices"),
        ("glu(x[:, :5])", "has no halves"),
        ("diag(x[None])", "it takes a vector or a matrix"),
        ("matrix_power(x, 2)", "of square matrices"),
        ("moveaxis(x, (0, 1), 0)", "moveaxis of 2 dimensions to 1"),
        ("average(x, weights=x[0])", "do not fit"),
        ("bitwise_and(x, 1)", "takes integers or bools"),
    ],
)
def test_what_is_wrong(call: str, message: str):
    with pytest.raises(ShardcError, match=message):
        read(program(call, TYPES), "t.shard")
