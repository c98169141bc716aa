"""JAX functions, lowered to StableHLO and printed in both targets, compute what they did."""

from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

import shardc
from tests.tolerance import assert_near

rng = np.random.default_rng(0)


def f(*shape, dtype: Any = np.float32):
    return rng.standard_normal(shape).astype(dtype)


def i(*shape, low=-5, high=6, dtype: Any = np.int32):
    return rng.integers(low, high, shape).astype(dtype)


def attention(x, wq, wk, wv):
    q, k, v = (jnp.einsum("bsd,dhk->bhsk", x, w) for w in (wq, wk, wv))
    scores = jnp.einsum("bhsk,bhtk->bhst", q, k) / 4.0
    mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1)
    return jnp.einsum("bhst,bhtk->bshk", weights, v)


def layernorm(x, g, b):
    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * g + b


def loss(params, x, y):
    return ((jax.nn.relu(x @ params[0]) @ params[1] - y) ** 2).mean()


def maxpool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2), (1, 2, 2), "VALID")


def conv(x, w):
    return (lax.conv_general_dilated(x, w, (2, 2), "VALID") ** 2).sum()


def products(a, b):
    pairs = [jnp.einsum(s, a, b) for s in ("bij,bjk->bik", "bij,bkj->bki", "bij,bik->bjk")]
    return *pairs, a @ b[0], a[0].T @ b[0].T, jnp.tensordot(a, b, ((1, 2), (2, 1))), a[0] @ b[0][:, 0]


def chosen_later(x, n):
    a = x * x
    b = jnp.cos(a)
    chosen = lax.switch(n, [lambda: a + b, lambda: a - b, lambda: a * b])
    c = jnp.tanh(x) * jnp.tanh(x)
    d = jnp.exp(c)
    return d * c / d + chosen


def moves(x):
    return [
        *(x.reshape(3, 8), x.T, x[None], x[:, None, :], jnp.squeeze(x[1:2]), x[::2, 1:3], jnp.flip(x, 0)),
        *(jnp.concatenate([x, x], 1), x.transpose(1, 0)[None], jnp.pad(x, ((0, 2), (1, 0)))),
        *(lax.pad(x, 1.0, ((-1, 0, 1), (0, -1, 0))), jnp.broadcast_to(x[:, None], (4, 3, 6))),
        *(x + lax.broadcasted_iota(jnp.float32, (4, 6), 0) + jnp.arange(6)[None], x.sum(keepdims=True)),
    ]


def dynamic(x, k):
    return [
        lax.dynamic_slice(x, (k, 0), (2, 3)),
        lax.dynamic_slice_in_dim(x, k, 2, axis=0),
        lax.dynamic_update_slice(x, x[:2, :2] * 0, (k, k)),
        lax.dynamic_update_slice_in_dim(x, x[:2] * 0, k, axis=0),
        lax.dynamic_index_in_dim(x, k, keepdims=False),
    ]


def cumulative(x):
    return (
        jnp.cumsum(x, 1),
        jnp.cumprod(x, 0),
        lax.cummax(x, 1),
        lax.cummin(x, 1),
        lax.cumsum(x, 1, reverse=True),
    )


def sorts(x, k, v):
    pairs = lax.sort((k, v), num_keys=2)
    return jnp.sort(x, 0), jnp.sort(x, 0, descending=True), jnp.argsort(x, 1), *pairs, *lax.top_k(x, 2)


def complex_sorts(x, k):
    """By the real part, and where these are equal by the imaginary one; NaN is the greatest of either."""
    return jnp.sort(x, 0), jnp.sort(x, descending=True), jnp.argsort(x, 0), *lax.sort((x, k), num_keys=2)


COMPLEX = i(8, 4, low=-1, high=2) + 1j * i(8, 4, low=-1, high=2)
COMPLEX[0, 1], COMPLEX[3, 1], COMPLEX[2, 2], COMPLEX[4, 2] = (
    np.nan,
    complex(1, np.nan),
    np.inf,
    complex(-0.0, 1),
)


def reductions(x):
    both = lax.reduce((x, x), (jnp.float32(0), jnp.float32(1)), lambda a, b: (a[0] + b[0], a[1] * b[1]), (1,))
    folded = lax.reduce(x, jnp.float32(1), lambda a, b: a * b + a + b, (1,))
    return *both, folded, jnp.argmax(x, 1), jnp.argmin(x, 0), x.mean(0), x.max(1), x.prod(0), (x > 0).any(0)


def constants(x):
    large = np.random.default_rng(1).standard_normal((4, 60)).astype(np.float32)
    column = jnp.array([[1.0], [2.0], [3.0], [4.0]])
    tiny = jnp.where(x > 0, jnp.inf, jnp.nan) + jnp.float32(1e-45) * jnp.float32(3.4028235e38)
    return (
        x + np.arange(6, dtype=np.float32) + column,
        large[:, :6] + x,
        tiny,
        x.astype(jnp.uint32) & np.uint32(2**32 - 1),
    )


def nested(x):
    return lax.fori_loop(0, 3, lambda i, c: lax.fori_loop(0, 2, lambda j, d: d + i * j, c), x)


def grown(x):
    return lax.while_loop(lambda c: c[0] < 100, lambda c: (c[0] * 2 + 1, c[1] + c[0]), (x, x * 0))


def scanned(x, ws):
    return lax.scan(lambda c, w: (jnp.tanh(c @ w), c.sum()), x, ws)


BF16 = ml_dtypes.bfloat16
CASES = {
    "mlp": (lambda x, w1, w2: jax.nn.relu(x @ w1) @ w2, f(8, 16), f(16, 32), f(32, 4)),
    "softmax": (lambda x: jax.nn.softmax(x, axis=-1), f(8, 16)),
    "gelu": (jax.nn.gelu, f(8, 16)),
    "layernorm": (layernorm, f(8, 16), f(16), f(16)),
    "attention": (attention, f(2, 8, 16), f(16, 2, 4), f(16, 2, 4), f(16, 2, 4)),
    "gradient": (lambda w, v, x, y: jax.grad(loss)((w, v), x, y), f(6, 8), f(8, 3), f(4, 6), f(4, 3)),
    "scan": (scanned, f(4, 8), f(3, 8, 8)),
    "gradient of scan": (lambda x, ws: jax.grad(lambda w: scanned(x, w)[0].sum())(ws), f(4, 8), f(3, 8, 8)),
    "branches that read what is named again": (chosen_later, f(8), np.int32(1)),
    "counted loop": (lambda x: lax.fori_loop(0, 5, lambda k, c: c * 1.5 + k, x), f(4, 8)),
    "nested loops": (nested, f(3)),
    "while": (grown, np.float32(3)),
    "cond": (lambda x: lax.cond(x.sum() > 0, lambda: x * 2, lambda: x - 1), f(4)),
    "switch": (lambda k, x: lax.switch(k, [jnp.sin, jnp.cos, lambda v: v * 2], x), np.int32(1), f(4)),
    "take": (lambda x, k: jnp.take(x, k, axis=0), f(10, 4), i(3, 2, low=0, high=9)),
    "take clipped": (lambda x, k: jnp.take(x, k, axis=1, mode="clip"), f(10, 4), i(3, low=-2, high=9)),
    "take along axis": (lambda x, k: jnp.take_along_axis(x, k[:, None], axis=1), f(4, 6), i(4, low=0)),
    "one hot": (lambda k: jax.nn.one_hot(k, 7), i(5, low=0, high=7)),
    "scatter": (
        lambda x, k, u: (x.at[k].add(u), x.at[k].max(u), x.at[k[:1]].set(u[:1])),
        f(9, 4),
        i(5, low=0),
        f(5, 4),
    ),
    "dynamic slices": (dynamic, f(6, 5), np.int32(5)),
    "moves": (moves, f(4, 6)),
    "cumulative": (cumulative, f(4, 6)),
    "sorts": (sorts, f(6, 3), i(20), i(20)),
    "sorts of complex numbers": (complex_sorts, COMPLEX.astype(np.complex64), i(8, 4)),
    "reductions": (reductions, f(4, 3)),
    "convolution": (lambda x, w: jax.grad(conv, argnums=(0, 1))(x, w), f(2, 3, 8, 8), f(5, 3, 3, 3)),
    "pooling": (lambda x: jax.grad(lambda x: (maxpool(x) ** 2).sum())(x), f(2, 8, 8)),
    "pooling along a tangent": (lambda x, v: jax.jvp(maxpool, (x,), (v,)), f(2, 8, 8), f(2, 8, 8)),
    "mean pooling": (lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 3, 2), (1, 2, 1), "SAME"), f(2, 8, 8)),
    "products": (products, f(3, 4, 4), f(3, 4, 4)),
    "bf16": (
        lambda x, w: (x @ w * 2.0 + 1.0, x.sum(0), jax.nn.softmax(x)),
        f(4, 6, dtype=BF16),
        f(6, 3, dtype=BF16),
    ),
    "f16": (lambda x, w: (x @ w, x.sum(), x * 2), f(4, 6, dtype=np.float16), f(6, 3, dtype=np.float16)),
    "i8 to i32": (
        lambda x, w: jnp.matmul(x, w, preferred_element_type=jnp.int32),
        i(4, 6, dtype=np.int8),
        i(6, 3, dtype=np.int8),
    ),
    "barrier": (lambda a, b: lax.optimization_barrier((a, b)), f(3), f(3)),
    "constants": (constants, np.abs(f(4, 6))),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", CASES)
def test_round_trip(check, case):
    function, *arrays = CASES[case]
    check(function, *arrays)


def test_the_same_text_every_time(check):
    function, *arrays = CASES["attention"]
    assert check(function, *arrays) == check(function, *arrays)


def test_softmax_reads_well(check):
    text, numpy_text = check(CASES["softmax"][0], f(8, 16))
    assert "return jax.nn.softmax(x, axis=-1)" in text
    assert "exps = np.exp(x - np.max(x, axis=1, keepdims=True))" in numpy_text


def test_a_transposed_product_is_one_einsum(check):
    text, _ = check(lambda x, w: jnp.einsum("abc,cde->dabe", x, w), f(2, 3, 4), f(4, 5, 6))
    assert "    return jnp.einsum(" in text
    assert ".transpose(" not in text


def test_a_matmul_is_an_operator(check):
    text, _ = check(lambda x, w: x @ w + 1.0, f(4, 3), f(3, 2))
    assert "    return x @ w + 1.0\n" in text


def test_64_bits_inside_leave_the_callers_jax_as_it_is(check):
    def shuffled(keys, x):
        return jax.vmap(jax.random.permutation)(jax.random.wrap_key_data(keys), x)

    keys = np.arange(16, dtype=np.uint32).reshape(8, 2)
    jax_text, _ = check(shuffled, keys, f(8, 4))
    assert "uint64" in jax_text and "with jax.enable_x64(True):" in jax_text
    assert jnp.arange(3).dtype == np.int32


def test_an_index_that_is_never_negative_is_given_as_it_is(check):
    text, _ = check(lambda x, n: lax.switch(n, [jnp.sin, jnp.cos, jnp.tanh], x), f(8), np.int32(1))
    assert "lax.switch(jnp.clip(n, 0, 2), [branch0, branch1, branch2])" in text.replace("arg1", "n")


@pytest.mark.parametrize("precision", [None, "highest"])
def test_transposes_around_a_product_are_its_letters(check, precision):
    """Whatever the order, and where the operands' own would be that of `@`."""

    def vmapped(x, w):
        return jax.vmap(lambda row: jnp.matmul(w, row, precision=precision), in_axes=2, out_axes=2)(x)

    def turned(x, w):
        return jnp.einsum(
            "cab,dca->bd", x.transpose(1, 0, 2), w.transpose(2, 1, 0), precision=precision
        ).transpose(1, 0)

    def matrices(x, w):
        return jnp.einsum("abc,cd->dba", x.transpose(2, 1, 0), w[0].T, precision=precision)

    x, w = f(3, 4, 5), f(3, 4, 6)
    text, _ = check(vmapped, f(4, 2, 3), f(5, 4))
    assert ".transpose(" not in text
    for function in (turned, matrices):
        text, _ = check(function, x, w) if function is turned else check(function, f(4, 2, 3), f(1, 5, 4))
        assert ".transpose(" not in text and ".T" not in text


def test_a_transpose_of_a_transpose_is_one(check):
    text, _ = check(lambda x: jnp.exp(x).transpose(1, 0, 2).transpose(0, 2, 1) * 2, f(2, 3, 4))
    assert text.count("transpose(") == 1


def test_a_column_by_number_is_indexed(check):
    """Inside of a loop by its counter, elsewhere clamped."""

    def columns(x, k):
        def step(i, total):
            return total + jax.lax.dynamic_index_in_dim(x, i, 1, keepdims=False) * x[:, k]

        return jax.lax.fori_loop(0, 6, step, jnp.zeros(4))

    program = shardc.from_jax(columns, f(4, 6), np.int32(0))
    assert "x[:, i]" in program.source
    assert "lax.dynamic_index_in_dim(x, k, axis=1, keepdims=False)" in program.source
    for k in (2, -1, 7, -9):
        x, at = f(4, 6), np.int32(k)
        assert_near(program.main(x, at), jax.jit(columns)(x, at))
        check(columns, x, at)
