"""Linear algebra by name against jnp.linalg: values, gradients, stacks that are split, vmap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shardc
from shardc.diagnostics import ShardcError
from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.graph import Graph
from shardc.interpret.run import run
from tests.tolerance import assert_computes, assert_near

jax = pytest.importorskip("jax")
jnp = jax.numpy
linalg = jnp.linalg

RNG = np.random.default_rng(0)
A = RNG.normal(size=(8, 4, 4)).astype(np.float32) + 3 * np.eye(4, dtype=np.float32)
S = np.asarray(A @ A.swapaxes(-1, -2) + np.diag([1, 5, 10, 20]), np.float32)
T = RNG.normal(size=(8, 6, 3)).astype(np.float32)
B = RNG.normal(size=(8, 4, 2)).astype(np.float32)
STEPS = 16 * 4**3
"""The roundings behind an element of what QR iterations make of a matrix of 4 x 4."""

NAMES: dict[str, Any] = {
    "jnp": jnp,
    "sin": jnp.sin,
    "sum": jnp.sum,
    "expm": jax.scipy.linalg.expm,
    "triangular_solve": lambda a, b, **how: jax.lax.linalg.triangular_solve(
        a, jnp.broadcast_to(b, (*a.shape[:-2], *b.shape[-2:])), **how
    ),
    "solve_triangular": lambda a, b, **how: (
        jnp.stack([jax.scipy.linalg.solve_triangular(x, y, **how) for x, y in zip(a, b, strict=True)])
        if a.ndim > 2
        else jax.scipy.linalg.solve_triangular(a, b, **how)
    ),
}
EXPRESSIONS = """
jnp.linalg.cholesky(s)
jnp.linalg.cholesky(s, upper=True)
jnp.linalg.inv(a)
jnp.linalg.det(a)
jnp.linalg.slogdet(a)[0]
jnp.linalg.slogdet(a)[1]
jnp.linalg.solve(a, b)
jnp.linalg.solve(a, b[..., :1])
jnp.linalg.eigh(s)[0]
jnp.linalg.eigh(s)[1]
jnp.linalg.eigvalsh(s)
jnp.linalg.qr(t)[0]
jnp.linalg.qr(t)[1]
jnp.linalg.svd(t, full_matrices=False)[0]
jnp.linalg.svd(t, full_matrices=False)[1]
jnp.linalg.svd(t, full_matrices=False)[2]
jnp.linalg.svd(t, compute_uv=False)
jnp.linalg.svd(a)[0]
triangular_solve(a, b, left_side=True, lower=True)
triangular_solve(a, b, left_side=True, transpose_a=True)
solve_triangular(a, b, trans=1, lower=True)
jnp.linalg.pinv(t)
jnp.linalg.pinv(t.swapaxes(-1, -2))
jnp.linalg.pinv(t @ jnp.ones((3, 3)), rtol=1e-4)
expm(0.5 * a)
expm(0.05 * a)
""".strip().splitlines()
ARGS = {"a": A, "s": S, "t": T, "b": B}
TYPES = {name: f"f32[{', '.join(map(str, array.shape))}]" for name, array in ARGS.items()}


def program(expression: str, types: dict[str, str], header: str = "") -> str:
    parameters = ", ".join(f"{name}: {type}" for name, type in types.items())
    return f"{header}def main({parameters}):\n    return {expression}\n"


def graph_of(text: str) -> Graph:
    return snapshot(read(text, "test.shard")).graph


def results(text: str, *args: Any) -> list[Any]:
    return run(graph_of(text), args)


def close(text: str, *expected: Any) -> None:
    """The program computes on ARGS what JAX does, as far as both can."""
    graph = graph_of(text)
    types = graph.types(graph.main.body.results)
    wanted = [np.asarray(one, type.numpy) for one, type in zip(expected, types, strict=True)]
    assert_computes(graph, [*ARGS.values()], wanted, text)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_values_and_gradients(expression: str):
    """One program: the value, and the gradient by every argument of a sum in which each element counts."""
    loss = f"lambda a, s, t, b: sum(sin({expression}))"
    names = [name for name in ARGS if f"({name}" in expression or f" {name}" in expression]
    numbers = tuple(list(ARGS).index(name) for name in names)
    text = program(f"({expression}, grad({loss}, {numbers})(a, s, t, b))", TYPES)
    gradients = jax.grad(eval(loss, NAMES), numbers)(*map(jnp.asarray, ARGS.values()))
    close(text, eval(expression, {**NAMES, **ARGS}), *gradients)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_stacks_that_are_split_stay(expression: str):
    """Each device decomposes its own matrices; the NumPy program gives what one device does."""
    split = {name: type.replace("8", "8@i", 1) for name, type in TYPES.items()}
    text = program(expression, split, "mesh pod[i=4]\n")
    assert not shardc.cost(text).collectives
    found = shardc.compile(text, target="numpy").main(*ARGS.values())
    close(program(expression, TYPES), found)


@pytest.mark.parametrize("expression", [one for one in EXPRESSIONS if "..." not in one])
def test_vmap_is_the_same_as_a_stack(expression: str):
    text = program(f"vmap(lambda a, s, t, b: {expression})(a, s, t, b)", TYPES)
    close(text, eval(expression, {**NAMES, **ARGS}))


def test_what_jax_prints_and_forward_mode():
    text = program("(inv(a[0]), svd(t[0], full_matrices=False)[1], qr(t[0])[1], eigh(s[0])[1])", TYPES)
    close(text, *shardc.compile(text).main(*ARGS.values()))
    text = program("jvp(lambda a, s: slogdet(a)[1] * eigh(s)[0], (a[0], s[0]), (a[1], s[1]))[1]", TYPES)
    expected = jax.jvp(lambda a, s: linalg.slogdet(a)[1] * linalg.eigh(s)[0], (A[0], S[0]), (A[1], S[1]))[1]
    close(text, expected)


def test_least_squares():
    """Of full rank with a gradient, and of less."""
    text = program("(lstsq(t[0], t[1]), lstsq(t[0] @ ones((3, 3)), t[1, :, 0], rcond=1e-4))", TYPES)
    flat = jnp.asarray(T[0] @ np.ones((3, 3), np.float32))
    expected = *linalg.lstsq(T[0], T[1]), *linalg.lstsq(flat, T[1][:, 0], rcond=1e-4)
    close(text, *expected)
    text = program("grad(lambda t: sum(sin(lstsq(t[0], t[1])[0])))(t)", TYPES)
    expected = jax.grad(lambda t: jnp.sum(jnp.sin(linalg.lstsq(t[0], t[1])[0])))(jnp.asarray(T))
    close(text, expected)


@pytest.mark.parametrize("target", ["jax", "numpy"])
def test_eigenvalues_of_any_matrices(target: Any):
    """a v = v w, each device for its own matrices; eigvals has the same w."""
    text = program("(*eig(a), eigvals(a))", TYPES | {"a": "f32[8@i, 4, 4]"}, "mesh pod[i=4]\n")
    assert not shardc.cost(text).collectives
    values, vectors, same = map(np.asarray, shardc.compile(text, target=target).main(*ARGS.values()))
    assert values.dtype == vectors.dtype == np.complex64
    size = np.linalg.norm(A, axis=(1, 2)).max()
    assert_near(A @ vectors, vectors * values[:, None], terms=STEPS, magnitude=size)
    close(program("eigvals(a)", TYPES), same)
    close(program("eigvals(a)", TYPES), linalg.eigvals(A))


@pytest.mark.parametrize("values", ["eigvals(a)", "eig(a)[0]"])
def test_derivatives_of_eigenvalues(values: str):
    """Of real and complex matrices, those of JAX; forwards too where vectors are dropped."""
    loss = "lambda a: sum(real({0} ** 3)) + sum(abs({0}))"
    text = f"""def main(a: f32[8, 4, 4], c: c64[4, 4], t: f32[8, 4, 4]):
    along = jvp(lambda a: {values}, (a,), (t,))[1]
    return grad({loss.format(values)})(a), grad({loss.format(values)})(c), along
"""
    turned = np.asarray(A[0] + 1j * A[1], np.complex64)
    expected: Any = eval(
        loss.format("linalg.eigvals(a)"), {"linalg": linalg, "abs": jnp.abs, **NAMES, "real": jnp.real}
    )
    wanted = (
        *(jax.grad(expected)(given) for given in (jnp.asarray(A), turned)),
        jax.jvp(linalg.eigvals, (A,), (S,))[1],
    )
    assert_computes(graph_of(text), [A, turned, S], wanted, text)


def test_a_vector_and_no_matrix():
    text = program("(solve(a[0], b[0, :, 0]), solve(a, b[0]), det(3 * eye(2)))", TYPES)
    close(text, np.linalg.solve(A[0], B[0, :, 0]), np.linalg.solve(A, np.broadcast_to(B[0], B.shape)), 9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("inv(t)", r"inv of f32\[8, 6, 3\]"),
        ("cholesky(b[0, 0])", r"cholesky of f32\[2\]"),
        ("solve(a, t)", "the sizes differ"),
        ("triangular_solve(a, b[:, 0])", "left_side=True is for a x = b"),
        ("inv(astype(a, bf16))", "LAPACK has no bf16"),
        ('eigh(s, UPLO="X")', 'UPLO is "L" or "U"'),
        ("expm(t)", r"expm of f32\[8, 6, 3\]"),
        ("lstsq(t, t)", "it takes a matrix, and a vector of its rows or several"),
        ("grad(lambda a: sum(abs(eig(a)[1])))(a)", "eigenvectors of eig have no derivative"),
        ("jvp(eig, (a,), (a,))", "eigenvectors of eig have no derivative"),
        ("grad(lambda t: sum(svd(t)[0]))(t)", "of full_matrices=False"),
        ("grad(lambda t: sum(qr(t)[0]))(swapaxes(t, 1, 2))", r"qr of f32\[8, 3, 6\] has no derivative"),
    ],
)
def test_what_is_wrong(call: str, message: str):
    with pytest.raises(ShardcError, match=message):
        read(program(call, TYPES), "t.shard")
