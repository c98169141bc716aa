"""Every built-in function against jax.numpy: the same expression, the same shape, dtype and values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shardc.dialects.snapshot import snapshot
from shardc.frontend.text import read
from shardc.frontend.text.builtins.table import BUILTINS
from shardc.interpret.run import run
from tests.sampling import operation
from tests.tolerance import assert_near

jax = pytest.importorskip("jax")
jnp = jax.numpy
lax = jax.lax

HEADER = """
def main(x: f32[4, 8], y: f32[8], z: f32[4, 1], m: f32[8, 8], h: bf16[4, 8], s: f32[2, 3, 4], t: f32[2, 4, 5],
         i: i32[4, 8], j: i32[3], u: u8[4, 8], b: bool[4, 8], img: f32[2, 3, 8, 8], ker: f32[4, 3, 3, 3],
         n: f32[], k: i32[], c: c64[4, 8], d: c64[3, 4, 5]):
    return """

RNG = np.random.default_rng(0)


def inputs() -> dict[str, Any]:
    """Values for the parameters of HEADER."""
    normal = lambda *shape: RNG.normal(size=shape).astype(np.float32)  # noqa: E731
    x = normal(4, 8)
    return {
        "x": x,
        "y": normal(8),
        "z": normal(4, 1),
        "m": normal(8, 8),
        "h": np.asarray(jnp.asarray(normal(4, 8), jnp.bfloat16)),
        "s": normal(2, 3, 4),
        "t": normal(2, 4, 5),
        "i": RNG.integers(-9, 9, (4, 8)).astype(np.int32),
        "j": np.array([3, 0, 2], np.int32),
        "u": RNG.integers(0, 9, (4, 8)).astype(np.uint8),
        "b": RNG.integers(0, 2, (4, 8)).astype(bool),
        "img": normal(2, 3, 8, 8),
        "ker": normal(4, 3, 3, 3),
        "n": np.float32(0.75),
        "k": np.int32(2),
        "c": (normal(4, 8) + 1j * normal(4, 8)).astype(np.complex64),
        "d": (normal(3, 4, 5) + 1j * normal(3, 4, 5)).astype(np.complex64),
    }


INPUTS = inputs()


def conv(x, w, strides=1, padding="VALID", dilation=1, groups=1, layout="NCHW"):
    """The same with JAX's argument names."""
    pair = lambda v: (v, v) if isinstance(v, int) else v  # noqa: E731
    kernel = {"NCHW": "OIHW", "NHWC": "HWIO"}[layout]
    pads = ((padding, padding),) * 2 if isinstance(padding, int) else padding
    return lax.conv_general_dilated(
        x,
        w,
        pair(strides),
        pads,
        rhs_dilation=pair(dilation),
        feature_group_count=groups,
        dimension_numbers=(layout, kernel, layout),
    )


def expand(x, sizes):
    old = (1,) * (len(sizes) - x.ndim) + x.shape
    return jnp.broadcast_to(x, tuple(o if n == -1 else n for o, n in zip(old, sizes, strict=True)))


def scatter_add(x, indices, updates, axis=0):
    return jnp.moveaxis(jnp.moveaxis(x, axis, 0).at[indices].add(jnp.moveaxis(updates, axis, 0)), 0, axis)


def layer_norm(x, weight=1, bias=0, axis=-1, eps=1e-5):
    wide = x.astype(jnp.float32)
    normed = jax.nn.standardize(wide, axis=axis, epsilon=eps)
    return (normed * weight + bias).astype(x.dtype)


def rms_norm(x, weight=1, axis=-1, eps=1e-6):
    wide = x.astype(jnp.float32)
    return (wide / jnp.sqrt(jnp.mean(wide**2, axis, keepdims=True) + eps) * weight).astype(x.dtype)


def pool(x, start, combine, window, strides=None, padding="VALID", layout="NCHW"):
    """jax.lax.reduce_window over the spatial dimensions."""
    spread = lambda v: v if isinstance(v, tuple) else (v,) * (x.ndim - 2)  # noqa: E731
    whole = lambda v, one: (one, one, *v) if layout == "NCHW" else (one, *v, one)  # noqa: E731
    if not isinstance(padding, str):
        pair = (padding, padding)
        padding = whole(padding if isinstance(padding, tuple) else (pair,) * (x.ndim - 2), (0, 0))
    strides = window if strides is None else strides
    return lax.reduce_window(x, start, combine, whole(spread(window), 1), whole(spread(strides), 1), padding)


def max_pool(x, *args, **options):
    least = -jnp.inf if x.dtype == jnp.float32 else jnp.iinfo(x.dtype).min
    return pool(x, least, lax.max, *args, **options)


def avg_pool(x, window, **options):
    size = np.prod(window) if isinstance(window, tuple) else window ** (x.ndim - 2)
    return pool(x, 0.0, lax.add, window, **options) / size


NAMESPACE = {
    **{name: getattr(jnp, name) for name in BUILTINS if hasattr(jnp, name)},
    **{name: getattr(jax.nn, name) for name in BUILTINS if hasattr(jax.nn, name)},
    "erf": lax.erf,
    "erfc": lax.erfc,
    "rsqrt": lax.rsqrt,
    "dynamic_slice": lax.dynamic_slice,
    "dynamic_update_slice": lax.dynamic_update_slice,
    "top_k": lax.top_k,
    "cumsum": jnp.cumsum,
    "cummax": lax.cummax,
    "cummin": lax.cummin,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "max_pool": max_pool,
    "avg_pool": avg_pool,
    "repeat": jnp.tile,
    "repeat_interleave": jnp.repeat,
    "jnp": jnp,
    "expand": expand,
    "conv": conv,
    "scatter_add": scatter_add,
    "astype": lambda x, dtype: jnp.asarray(x).astype(dtype),
    "iota": lax.broadcasted_iota,
    **{name: getattr(jnp.fft, name) for name in BUILTINS if hasattr(jnp.fft, name)},
    "complex": lambda x, y=0.0: lax.complex(*jnp.broadcast_arrays(x, jnp.asarray(y, x.dtype))),
    "inf": np.inf,
    "nan": np.nan,
    "pi": np.pi,
    "c64": jnp.complex64,
    "f32": jnp.float32,
    "bf16": jnp.bfloat16,
    "f16": jnp.float16,
    "i32": jnp.int32,
    "i8": jnp.int8,
    "u8": jnp.uint8,
    "bool": jnp.bool_,
}

EXPRESSIONS = """
take_along_axis(x, array([[1], [0], [3], [2]]), axis=1)
take_along_axis(x, array([[1, 0, 3]]), axis=1)
take_along_axis(x[:1], i % 8, axis=1)
take_along_axis(s, array([[[1], [0]]]), axis=1)
nonzero(x > 0, size=40)
nonzero(x > 0, size=5)
nonzero(s > 0, size=30, fill_value=-1)
x[nonzero(x > 0.5, size=6)]
x.at[nonzero(x > 0.5, size=6)].set(9)
flatnonzero(i, size=12)
flatnonzero(y > 0, size=9, fill_value=8)
compress(y > 0, m, axis=0, size=6)
compress(y > 0, m, axis=1, size=3, fill_value=7)
compress(y > 0, y, size=8)
compress(array([True, False, True]), m, 0, size=2)
extract(x > 0, x, size=10)
extract(b, i, size=32, fill_value=-1)
y[flatnonzero(y > 0, size=4)]
c * 2j + 1
c * x
c + i
h * 1j
i * 1j
n * (1 + 2j)
c / 3
2 / c
c ** 2
c ** -1
c ** 0.5
-c
c == c * 1
c != x
c.real
c.imag * 2
x.real
real(c)
imag(c)
imag(x)
conj(c)
conj(x)
c.conj()
abs(c)
angle(c)
angle(x)
angle(c, deg=True)
complex(x, 2.0)
complex(x, y)
complex(x)
exp(1j * x)
sqrt(c)
log(c)
sin(c)
sum(c)
sum(c, axis=1)
mean(c, axis=0)
prod(c, axis=1)
var(c)
std(c, axis=1)
cumsum(c, axis=1)
where(x > 0, c, 0)
c @ m
c @ c.T
einsum("ij,kj->ik", c, x)
astype(x, c64)
astype(c, bool)
concatenate((c, x))
zeros((2, 3), dtype=c64)
array([1, 2j, 3.5])
c[1:, array([0, 3])]
c.at[0].set(1j)
fft(x)
fft(c)
fft(i)
fft(h)
fft(c, axis=0)
fft(d, axis=1)
fft(c, n=5)
fft(c, n=11, axis=0)
fft(c, norm="ortho")
ifft(c)
ifft(x, axis=0)
ifft(c, norm="forward")
rfft(x)
rfft(i)
rfft(x, axis=0)
rfft(x, n=5)
rfft(x, norm="ortho")
irfft(c)
irfft(c, n=9)
irfft(c, n=6, axis=0)
irfft(c, norm="ortho")
irfft(rfft(x)) - x
fft2(x)
fft2(d, axes=(0, 1))
ifft2(c)
ifft2(fft2(d), norm="forward")
fftfreq(8)
fftfreq(5, d=0.1)
rfftfreq(8)
rfftfreq(5, 2.0)
fftshift(x)
fftshift(d, axes=1)
fftshift(d, axes=(0, 2))
ifftshift(d)
ifftshift(x, axes=0)
jnp.fft.fft(x)
x + y
x - z
x * 2
2 * x + 1
x / 3
1 / x
i / 2
x // 0.3
i // 3
i // -4
u // 3
x % 0.3
i % 3
i % -4
x ** 2
x ** 3
x ** -2
x ** 0
abs(x) ** 0.5
i ** 2
-x
+x
~b
~i
-i
b & ~b
i & 3
i | 4
i ^ i
b ^ (x > 0)
i << 2
i >> 1
u >> 1
x == x
i != 3
x < y
x <= 0
i > 2
x >= z
(x < y) & (y < 1)
h + x
h * 2.0
h + 1
u + 1
u + i
i + 1.5
b + 1
b * b
b + b
b + 0.5
x @ m
x @ y
y @ m
y @ y
h @ m
i @ i.T
s @ t
s[0] @ t
s @ t[0]
t[None, :, :, 0:3] @ ones((3, 2, 3, 2))
s[:, None] @ ones((2, 1, 4, 5))
matmul(x, m)
dot(x, m)
dot(y, y)
dot(n, x)
dot(s, t[0])
outer(y, x[0])
outer(x[0:2, 0:2], y)
einsum("ij,jk->ik", x, m)
einsum("ij,jk", x, m)
einsum("bij,bjk->bik", s, t)
einsum("bij,bjk->kb", s, t)
einsum("bij,bjk,k->i", s, t, y[0:5])
einsum("ij->ji", x)
einsum("ij->", x)
einsum("ij->j", x)
einsum("i,j->ij", y, y)
einsum("i,i->i", y, y)
einsum("ij,kl->il", x, m)
einsum("...ij,...jk->...ik", s, t)
einsum("...i->...", s)
einsum("...i,...i", s, s[0])
einsum("i...,i->...", x, y[0:4])
einsum("bij,kj->bik", s, x[0:4, 0:4])
sum(x)
sum(x, axis=0)
sum(x, axis=(0, -1), keepdims=True)
sum(x, 1, keepdims=True)
sum(b)
sum(u, axis=1)
sum(h, axis=1)
sum(i)
x.sum(axis=1)
mean(x, axis=0)
mean(i, axis=1)
mean(h, axis=1)
mean(x)
var(x, axis=1)
var(x, axis=1, ddof=1, keepdims=True)
std(x, axis=0)
max(x, axis=1)
max(i)
min(x, axis=(0, 1), keepdims=True)
max(b, axis=0)
prod(x, axis=1)
all(b, axis=1)
any(x > 1, axis=0)
any(i)
argmax(x, axis=1)
argmax(x)
argmin(x, axis=0, keepdims=True)
argmax(i, axis=1)
argmax(round(x), axis=1)
argmin(b, axis=1)
count_nonzero(i, axis=1)
softmax(x)
softmax(x, axis=0)
softmax(h)
softmax(s, axis=(1, 2))
log_softmax(x, axis=1)
logsumexp(x, axis=1)
logsumexp(x)
logsumexp(x, axis=0, keepdims=True)
exp(x)
exp(i)
exp2(x)
expm1(x)
log(abs(x))
log1p(abs(x))
sqrt(abs(x))
rsqrt(abs(x))
cbrt(x)
tanh(x)
sin(x)
cos(x)
tan(x)
abs(i)
abs(u)
sign(x)
sign(i)
floor(x)
ceil(x)
round(x)
floor(i)
erf(x)
erfc(x)
square(x)
square(i)
reciprocal(x)
arctan2(x, y)
sinh(x)
cosh(x)
arcsin(x / 4)
arccos(x / 4)
arctan(x)
arcsinh(x)
arccosh(2 + abs(x))
arctanh(x / 4)
arctan(i)
relu(x)
relu(i)
gelu(x)
gelu(x, approximate=False)
silu(x)
sigmoid(x)
softplus(x)
leaky_relu(x)
leaky_relu(x, 0.2)
leaky_relu(h)
elu(x)
elu(100 * x, alpha=0.5)
elu(x, alpha=y)
layer_norm(x)
layer_norm(x, y, y + 1, eps=1e-3)
layer_norm(h, y)
layer_norm(s, axis=(1, 2))
rms_norm(x)
rms_norm(x, y, eps=1e-3)
rms_norm(h)
rms_norm(s, axis=1)
maximum(x, 0)
minimum(x, y)
maximum(i, 1.5)
power(x, 2)
power(abs(x), abs(y))
power(i, 2)
add(x, y)
subtract(x, 1)
multiply(x, y)
divide(i, 2)
floor_divide(i, 2)
remainder(i, 3)
negative(x)
equal(i, 3)
not_equal(i, 3)
less(x, y)
less_equal(x, y)
greater(x, y)
greater_equal(x, y)
logical_and(b, x)
logical_or(b, i)
logical_xor(b, x > 0)
logical_not(x)
isnan(x / 0)
isinf(x / 0)
isfinite(x / 0)
isclose(x, x + 1e-7)
isclose(x, y, rtol=0.5, atol=0.25)
isclose(x / 0, x / 0)
isclose(i * nan, nan)
isclose(i * nan, nan, equal_nan=True)
isclose(i, 3)
where(b, x, 0)
where(b, x, y)
where(x > 0, i, 1.5)
where(i, x, -x)
clip(x, 0, 1)
clip(x, min=0.5)
clip(i, -2, 2)
astype(x, i32)
astype(x, bool)
astype(b, f32)
astype(i, u8)
x.astype(bf16)
reshape(x, (8, 4))
reshape(x, (2, -1))
reshape(x, -1)
x.reshape((2, 2, 8))
ravel(x)
split(x, 2)
split(x, (3, 5), axis=1)
x.T
s.T
transpose(s, (1, 0, 2))
transpose(s)
swapaxes(s, 0, -1)
broadcast_to(y, (3, 8))
broadcast_to(z, (4, 8))
expand(z, (-1, 5))
expand(z, (3, 4, 5))
repeat(x, (2, 1))
repeat(x, (2, 3))
repeat(y, (2, 1, 2))
tile(x, (1, 2))
tile(x, 2)
jnp.tile(x, (3,))
repeat_interleave(x, 2)
repeat_interleave(x, 3, axis=1)
repeat_interleave(s, 0, axis=-2)
jnp.repeat(y, 2)
jnp.repeat(s, 2, axis=1)
x.reshape(2, -1, 4)
squeeze(z)
squeeze(z, axis=1)
expand_dims(x, 1)
expand_dims(x, (0, -1))
concatenate((x, x), axis=1)
concatenate([x, i])
stack((x, x), axis=1)
stack((y, y))
flip(x, axis=1)
flip(x)
roll(x, 3, axis=1)
roll(x, -1, axis=0)
pad(x, 1)
pad(x, (1, 2))
pad(x, ((1, 0), (0, 2)))
pad(x, ((1, 0), (0, 2)), constant_values=2.5)
pad(y, ((2, 1),))
tril(x)
triu(x)
tril(s, -1)
triu(x, k=2)
x[0]
x[-1]
x[:, 0:4]
x[::2]
x[1:, ::3]
x[::-1]
x[:, ::-2]
x[5:2]
x[None]
x[:, None, 0]
x[..., 0]
s[..., 1:3]
s[0, ...]
s[0, :, -1]
x[-3:-1, 2:100]
x[k]
x[:, k]
x[1, k]
take(x, j)
take(x, j, axis=0)
take(x, j, axis=1)
take(x, j - 2, axis=1)
take(s, j[1:3], axis=1)
take(m, i[0:2, 0:2] % 8, axis=0)
take(x, 1, axis=1)
take_along_axis(x, i % 8, axis=1)
scatter_add(x, j, ones((3, 8)))
scatter_add(x, j, ones((4, 3)), axis=1)
scatter_add(m, j, x[0:3])
dynamic_slice(x, (k, 1), (2, 3))
dynamic_slice(x, (k, 7), (2, 3))
dynamic_slice(y, (2,), (3,))
dynamic_update_slice(x, zeros((2, 2)), (k, k))
one_hot(j, 5)
one_hot(j, 5, dtype=i32)
one_hot(i, 3, axis=0)
sort(x)
sort(x, axis=0)
sort(i, axis=1)
sort(x, descending=True)
sort(x / 0)
argsort(x, axis=1)
argsort(i, axis=0)
argsort(i, descending=True)
top_k(x, 3)
cumsum(x, axis=1)
cumsum(i, axis=0)
cumsum(x)
cumprod(x, axis=1)
cumprod(x)
cumprod(b, axis=0)
cummax(x)
cummax(i, axis=1)
cummin(x, axis=1)
diff(x)
diff(x, 2, axis=0)
diff(b)
diff(i, n=9)
trace(m)
trace(x, offset=2)
trace(s, axis1=2, axis2=0)
trace(i, -1)
diagonal(m)
diagonal(x, offset=-1)
diagonal(x, 5)
diagonal(x, 9)
diagonal(s, axis1=1, axis2=2)
diagonal(s, 1, 2, 0)
searchsorted(sort(y), x)
searchsorted(arange(-4, 4), i, side="right")
searchsorted(array((-4, 0, 0, 0, 4)), i)
searchsorted(array((0.0, 1.0, nan)), x / 0)
searchsorted(sort(y), 0.5)
searchsorted(y, x, sorter=argsort(y))
searchsorted(y, 0.5, "right", argsort(y))
arange(5)
arange(2, 7)
arange(0, 10, 3)
arange(5, 0, -2)
arange(0.0, 1.0, 0.25)
arange(5, dtype=f32)
linspace(0, 1)
linspace(-1.5, 2, 7)
linspace(0, 10, 5, endpoint=False)
linspace(0, 7, 4, dtype=i32)
linspace(3, 4, 1)
linspace(3, 4, 0)
meshgrid(y, j)
meshgrid(y, j, indexing="ij")
meshgrid(j, y[0:2], y[0:3])
zeros((2, 3))
ones((2, 3), dtype=i32)
zeros(4)
full((2, 2), 7)
full((2, 2), 0.5)
full((2, 2), n)
full_like(x, 3)
full((2,), 1, dtype=bf16)
zeros_like(i)
ones_like(x, dtype=i32)
array((1, 2, 3))
array(((1, 2.5), (3, 4)))
eye(3)
eye(2, 4, dtype=i32)
iota(i32, (2, 3), 1)
conv(img, ker)
conv(img, ker, padding="SAME")
max_pool(img, 2)
max_pool(img, 3, strides=2, padding="SAME")
max_pool(img, (3, 2), strides=(1, 2), padding=((1, 0), (0, 1)), layout="NHWC")
max_pool(s, 2)
max_pool(i[None], 2)
avg_pool(img, 2)
avg_pool(img, 3, strides=1, padding=1)
avg_pool(img, (2, 3), layout="NHWC")
conv(img, ker, strides=2, padding="SAME")
conv(img, ker, strides=(2, 1), padding=((1, 0), (2, 1)), dilation=2)
conv(img[:, 0:1], ker[:, 0:1], padding=1)
conv(transpose(img, (0, 2, 3, 1)), transpose(ker, (2, 3, 1, 0)), layout="NHWC")
conv(img, ker[0:3, 0:1], groups=3)
x.shape[0] + x
sum(x * nan)
x * inf
split(x[:, 0:0], 2, axis=1)
x + x.ndim
""".strip().splitlines()


@pytest.mark.sampled(3, each=operation)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_same_as_jax(expression: str) -> None:
    """The value, shape and dtype of an expression are those of jax.numpy."""
    module = read(HEADER + expression + "\n", "t.shard")
    module.verify()
    results = run(snapshot(module).graph, list(INPUTS.values()))
    arrays = {name: jnp.asarray(value) for name, value in INPUTS.items()}
    expected = eval(expression, NAMESPACE | arrays)  # our own text, not input
    for got, want in zip(
        results, expected if isinstance(expected, tuple | list) else [expected], strict=True
    ):
        want = np.asarray(want)
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        assert_near(got, want, terms=128)


def test_every_builtin_is_covered() -> None:
    """A new function needs a line here, in of_numpy.txt or in test_linear_algebra.py, or is named here."""
    elsewhere = {"all_gather", "all_to_all", "axis_index", "axis_size", "pmax", "pmean", "pmin", "ppermute"}
    elsewhere |= {"psum", "psum_scatter", "pmax_scatter", "pmin_scatter", "pvary", "pcast", "block", "op"}
    elsewhere |= {"pbroadcast", "to_partial", "cond", "switch", "while_loop", "associative_scan"}
    elsewhere |= {"key", "fold_in", "uniform", "normal", "bernoulli", "categorical", "dropout"}  # test_random
    elsewhere |= {"choice", "exponential", "gumbel", "permutation", "randint"}  # test_random
    elsewhere |= {"fori_loop", "scan", "tree_map"}  # test_counted
    elsewhere |= {"grad", "value_and_grad", "vjp", "jvp", "stop_gradient", "pshuffle", "pswapaxes"}
    elsewhere |= {"vmap", "jacrev", "jacfwd", "hessian", "ragged_all_to_all"}
    beside = [
        path.read_text() for path in map(Path(__file__).with_name, ("of_numpy.txt", "test_linear_algebra.py"))
    ]
    text = "\n".join([*EXPRESSIONS, *beside])
    assert [name for name in BUILTINS if name not in elsewhere and f"{name}(" not in text] == []
