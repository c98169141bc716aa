"""Our rules are Shardy's: the same factors, sizes, kinds and blocked flags, in the same order."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from shardc.graph import Op
from shardc.ops.registry import spreading_rule_of
from tests.pinned import with_pinned_jax

Oracle = Callable[[str], list[tuple[Op, str | None]]]

OURS_ALONE = ("chlo.", "sdy.reshard", "stablehlo.map")
"""Operations that sdy has no rule for."""

OTHERWISE = ("lapack_spotrf_ffi", "lapack_strsm_ffi")
"""Calls in whose matrices sdy shares no dimensions."""


def differences(oracle: Oracle, text: str) -> tuple[list[str], int]:
    """Operations whose rule differs from sdy's, and how many have one."""
    wrong: list[str] = []
    seen = 0
    for op, theirs in oracle(text):
        rule = spreading_rule_of(op)
        ours = None if rule is None else str(rule)
        if op.name == "stablehlo.concatenate" and theirs is not None:
            theirs = theirs.replace("permutation", "need_replication")  # sdy looks at what makes the operands
        empty = op.name == "stablehlo.reshape" and op.operands[0].size == 0
        if theirs is None and (empty or op.name.startswith(OURS_ALONE)):
            assert ours is not None
            continue
        seen += theirs is not None
        if ours != theirs and op.attrs.get("call_target_name") not in OTHERWISE:
            wrong.append(f"{op}\n  sdy:  {theirs}\n  ours: {ours}")
    return wrong, seen


@with_pinned_jax
def test_operations_jax_does_not_print(sdy_rules: Oracle) -> None:
    text = (Path(__file__).parent / "data" / "operations.mlir").read_text(encoding="utf-8")
    wrong, seen = differences(sdy_rules, text)
    assert not wrong, "\n".join(wrong)
    assert seen > 50


def shapes_of(rng: random.Random, size: int) -> tuple[int, ...]:
    """A random shape of that many elements, with some ones in it."""
    dims: list[int] = []
    while size > 1:
        dim = rng.choice([d for d in range(2, size + 1) if size % d == 0])
        dims.append(dim)
        size //= dim
        if rng.random() < 0.2:
            dims.append(1)
    rng.shuffle(dims)
    return tuple(dims)


def tensor(shape: tuple[int, ...]) -> str:
    return f"tensor<{''.join(f'{d}x' for d in shape)}f32>"


@with_pinned_jax
def test_random_reshapes(sdy_rules: Oracle) -> None:
    rng = random.Random(0)
    lines: list[str] = []
    arguments: list[str] = []
    for i in range(400):
        size = rng.choice([1, 12, 24, 30, 36, 60, 64, 72, 96, 120, 210, 360, 720])
        source, target = tensor(shapes_of(rng, size)), tensor(shapes_of(rng, size))
        arguments.append(f"%a{i}: {source}")
        lines.append(f"%{i} = stablehlo.reshape %a{i} : ({source}) -> {target}")
    wrong, seen = differences(sdy_rules, module(arguments, lines))
    assert not wrong, "\n".join(wrong)
    assert seen == 400


@with_pinned_jax
def test_random_convolutions(sdy_rules: Oracle) -> None:
    rng = random.Random(1)
    lines: list[str] = []
    arguments: list[str] = []
    while len(lines) < 150:
        line, types = convolution(rng, len(lines))
        if line:
            lines.append(line)
            arguments += types
    wrong, seen = differences(sdy_rules, module(arguments, lines))
    assert not wrong, "\n".join(wrong)
    assert seen == 150


def module(arguments: list[str], lines: list[str]) -> str:
    return f"func.func @f({', '.join(arguments)}) {{\n" + "\n".join(lines) + "\nreturn\n}"


def convolution(rng: random.Random, i: int) -> tuple[str, list[str]]:
    """One random convolution over one spatial dimension, empty if its sizes don't fit."""
    feature_groups, batch_groups = rng.choice([(1, 1), (1, 1), (4, 1), (1, 2)])
    size, window = rng.choice([1, 4, 7, 8, 16]), rng.choice([1, 2, 3, 4, 8])
    stride, low, high = rng.choice([1, 2, window]), rng.choice([0, 0, 1]), rng.choice([0, 0, 2])
    count = (size + low + high - window) // stride + 1
    if count < 1:
        return "", []
    per_group = rng.choice([1, 2, 3])
    out = rng.choice([1, 2]) * feature_groups * batch_groups
    batch = 2 * batch_groups
    lhs = tensor((batch, size, per_group * feature_groups))
    rhs = tensor((window, per_group, out))
    result = tensor((batch // batch_groups, count, out))
    line = (
        f"%{i} = stablehlo.convolution(%l{i}, %r{i}) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], "
        f"window = {{stride = [{stride}], pad = [[{low}, {high}]]}} "
        f"{{batch_group_count = {batch_groups} : i64, feature_group_count = {feature_groups} : i64}} "
        f": ({lhs}, {rhs}) -> {result}"
    )
    return line, [f"%l{i}: {lhs}", f"%r{i}: {rhs}"]


def jax_programs() -> dict[str, tuple]:
    """Name -> function and the shapes of its arguments."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    def f(*shape: int):
        return jax.ShapeDtypeStruct(shape, jnp.float32)

    def i(*shape: int):
        return jax.ShapeDtypeStruct(shape, jnp.int32)

    windows = lax.GatherDimensionNumbers((1, 2), (), (0,))
    channels_last = ("NHWC", "HWIO", "NHWC")

    def conv(x, w, strides=(1, 1), groups=1):
        return lax.conv_general_dilated(
            x, w, strides, "SAME", dimension_numbers=channels_last, feature_group_count=groups
        )

    def pool(x):
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def attention(x, w, v):
        scores = jnp.einsum("bqhd,bkhd->bhqk", x @ w, x @ w)
        return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), x @ v).sum()

    return {
        "rows": (lambda x, j: x[j], f(10, 8), i(3, 4)),
        "take along": (lambda x, j: jnp.take_along_axis(x, j, axis=1), f(10, 8), i(10, 3)),
        "gather window of 1": (lambda x, j: lax.gather(x, j, windows, (1, 8)), f(10, 8), i(5, 1)),
        "gather window of 3": (lambda x, j: lax.gather(x, j, windows, (3, 8)), f(10, 8), i(5, 1)),
        "gather one row": (lambda x, j: jnp.take(x, j, axis=0), f(1, 8), i(5)),
        "scatter add": (lambda x, j, u: x.at[j].add(u), f(10, 8), i(3, 4), f(3, 4, 8)),
        "scatter max": (lambda x, j, u: x.at[j].max(u), f(10, 8), i(3), f(3, 8)),
        "scatter mul": (lambda x, j, u: x.at[j].mul(u), f(10, 8), i(2), f(2, 8)),
        "scatter set": (lambda x, j, u: x.at[j].set(u), f(10, 8), i(3), f(3, 8)),
        "scatter window": (lambda x, u: x.at[2:5].set(u), f(10, 8), f(3, 8)),
        "scatter batched": (
            jax.vmap(lambda x, j, u: x.at[j].add(u)), f(6, 10), i(6, 3), f(6, 3),
        ),
        "dynamic slice": (lambda x, a, b: lax.dynamic_slice(x, (a, b), (4, 8)), f(10, 8), i(), i()),
        "dynamic update": (
            lambda x, u, a, b: lax.dynamic_update_slice(x, u, (a, b)), f(10, 8), f(3, 8), i(), i(),
        ),
        "strided slice": (lambda x: x[2:6, ::2], f(10, 8)),
        "pad": (lambda x: lax.pad(x, 0.0, ((1, 2, 0), (-2, 2, 0), (0, 0, 1))), f(10, 8, 4)),
        "reverse": (lambda x: x[:, ::-1], f(10, 8)),
        "roll": (lambda x: jnp.roll(x, 3, 1), f(10, 8)),
        "concatenate": (lambda x, y: jnp.concatenate([x, y], 1), f(10, 8), f(10, 4)),
        "sorts": (lambda x, y: (jnp.sort(x), jnp.argsort(x, 0), jnp.sort(y)), f(10, 8), f(10)),
        "top k": (lambda x: (lax.top_k(x, 3), lax.approx_max_k(x, 2)), f(10, 8)),
        "arg max": (lambda x: jnp.argmax(x, 1), f(10, 8)),
        "reductions": (lambda x: (jnp.any(x > 0, 1), jnp.prod(x), x.max(0), x.sum(1)), f(10, 8)),
        "cumulative": (lambda x: (jnp.cumsum(x, 0), lax.cummax(x, 1)), f(10, 8)),
        "pooling": (jax.grad(lambda x: pool(x).sum()), f(4, 8, 8, 3)),
        "convolutions": (
            jax.grad(lambda x, w: (conv(x, w, (2, 2)) ** 2).sum(), (0, 1)), f(4, 8, 8, 3), f(3, 3, 3, 16),
        ),
        "grouped convolutions": (
            jax.grad(lambda x, w: (conv(x, w, groups=4) ** 2).sum(), (0, 1)), f(4, 8, 8, 8), f(3, 3, 2, 16),
        ),
        "cholesky": (lax.linalg.cholesky, f(4, 8, 8)),
        "eigh": (jnp.linalg.eigh, f(4, 8, 8)),
        "qr": (jnp.linalg.qr, f(4, 8, 6)),
        "svd": (jnp.linalg.svd, f(4, 8, 6)),
        "lu": (jax.scipy.linalg.lu_factor, f(4, 8, 8)),
        "solve": (lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True), f(4, 8, 8), f(4, 8, 3)),
        "fft": (lambda x: (jnp.fft.rfft(x), jnp.fft.fft2(x), jnp.fft.irfft(x + 1j)), f(4, 5, 8)),
        "random": (lambda k: jax.random.uniform(k, (4, 8)), jax.ShapeDtypeStruct((2,), jnp.uint32)),
        "random bits": (
            lambda k: lax.rng_bit_generator(k, (4, 8)), jax.ShapeDtypeStruct((4,), jnp.uint32),
        ),
        "bitcast": (lambda x: lax.bitcast_convert_type(x, jnp.uint16), f(4, 8)),
        "special": (lambda x: lax.erf(x) + lax.lgamma(x) + jnp.clip(x, 0, 1), f(4, 8)),
        "complex": (lambda x, y: jnp.real(lax.complex(x, y) * 2j), f(4, 8), f(4, 8)),
        "attention": (
            jax.grad(attention, (0, 1, 2)), f(2, 16, 4, 8), f(8, 8), f(8, 8),
        ),
    }  # fmt: skip


@with_pinned_jax
def test_what_jax_prints(sdy_rules: Oracle) -> None:
    jax = pytest.importorskip("jax")
    seen = 0
    for name, (function, *arguments) in jax_programs().items():
        text = str(jax.jit(function).lower(*arguments).compiler_ir())
        wrong, count = differences(sdy_rules, text)
        assert not wrong, f"{name}:\n" + "\n".join(wrong)
        seen += count
    assert seen > 300
