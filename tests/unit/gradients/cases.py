"""Functions of two or three tensors that mean the same in the language and, read as Python, in JAX.

Each is an expression, and the shapes of x, y, z. Values are away from kinks unless the case says otherwise.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax, nn


class Case(NamedTuple):
    """`text` of x, y, z; `low` and `high` bound their values."""

    text: str
    shapes: tuple[tuple[int, ...], ...] = ((3, 4),)
    low: float = -1.5
    high: float = 1.5


def _each(
    texts: str, shapes: tuple[tuple[int, ...], ...], low: float = -1.5, high: float = 1.5
) -> list[Case]:
    return [Case(text.strip(), shapes, low, high) for text in texts.strip().splitlines()]


UNARY = _each(
    """
    sin(x)
    cos(x)
    tan(x)
    tanh(x)
    sinh(x)
    cosh(x)
    exp(x)
    expm1(x)
    exp2(x)
    arctan(x)
    arcsinh(x)
    sigmoid(x)
    erf(x)
    square(x)
    negative(x)
    abs(x)
    relu(x)
    silu(x)
    gelu(x)
    softplus(x)
    gelu(x, approximate=False)
    leaky_relu(x)
    leaky_relu(x, negative_slope=0.3)
    elu(x)
    x ** 2
    x ** 3
    2 ** x
    -x
    floor(x) * x
    ceil(x) * x
    round(x) * x
    sign(x) * x
    x * x * x
    x / (1 + x * x)
    1 / (2 + x)
    clip(x, -1, 1)
    clip(x, min=0.5)
    clip(x, max=0.5)
    where(x > 0, x, 2 * x)
    where(x > 0, x * x, 0)
    maximum(x, 0.3)
    minimum(x, 0.3)
    x % 0.7
    stop_gradient(x) * x
    stop_gradient(x * x) + x
    sin(x) * cos(x) + tanh(x)
    exp(-x * x)
    """,
    ((3, 4),),
)
POSITIVE = _each(
    """
    log(x)
    log1p(x)
    sqrt(x)
    rsqrt(x)
    cbrt(x)
    arccosh(x + 1)
    x ** 0.5
    x ** -1.5
    1 / x
    reciprocal(x)
    x * log(x)
    """,
    ((3, 4),),
    0.2,
    2.0,
)
SMALL = _each(
    """
    arcsin(x)
    arccos(x)
    arctanh(x)
    log1p(x)
    """,
    ((3, 4),),
    -0.8,
    0.8,
)
BINARY = _each(
    """
    x + y
    x - y
    x * y
    x / (y + 3)
    maximum(x, y)
    minimum(x, y)
    arctan2(x, y + 3)
    where(x > y, x, y)
    x * y + y * x
    x * 2 - y / 3
    (x - y) ** 2
    tanh(x) * exp(y)
    x @ transpose(y)
    transpose(x) @ y
    remainder(x, y + 4)
    concatenate((x, y))
    concatenate((x, y), axis=1)
    stack((x, y))
    stack((x, y), axis=1)
    einsum("ij,ij->i", x, y)
    einsum("ij,kj->ik", x, y)
    einsum("ij,ik->jk", x, y)
    einsum("ij,kl->ijkl", x, y)
    dot(ravel(x), ravel(y))
    outer(ravel(x), ravel(y))
    sum(x * y, axis=0)
    mean(x * y)
    """,
    ((3, 4), (3, 4)),
)
BROADCAST = _each(
    """
    x + y
    x * y
    x / (y + 3)
    maximum(x, y)
    where(x > 0, x, y)
    x - mean(x, axis=0) * y
    """,
    ((3, 4), (4,)),
) + _each(
    """
    x + y
    x * y
    x - y
    x / (y + 3)
    """,
    ((3, 4), (3, 1)),
)
POWERS = _each(
    """
    x ** y
    power(x, y)
    """,
    ((3, 4), (3, 4)),
    0.3,
    2.0,
)
REDUCTIONS = _each(
    """
    sum(x)
    sum(x, axis=0)
    sum(x, axis=1)
    sum(x, axis=(0, 2))
    sum(x, axis=1, keepdims=True) * x
    mean(x)
    mean(x, axis=-1)
    max(x)
    max(x, axis=1)
    max(x, axis=0, keepdims=True) * x
    min(x, axis=2)
    min(x)
    prod(x, axis=1)
    prod(x)
    var(x)
    var(x, axis=1)
    var(x, axis=1, ddof=1)
    std(x, axis=2)
    softmax(x)
    softmax(x, axis=1)
    log_softmax(x)
    logsumexp(x)
    logsumexp(x, axis=1)
    logsumexp(x, axis=1, keepdims=True) * x
    cumsum(x, axis=1)
    cumsum(x, axis=0)
    cumprod(x, axis=1)
    cumprod(x, axis=2)
    cummax(x, axis=1)
    cummin(x, axis=2)
    diff(x)
    diff(x, n=2)
    diff(x, axis=0)
    sort(x)
    sort(x, axis=0)
    sort(x, axis=1)
    trace(x)
    diagonal(x)
    x - mean(x, axis=-1, keepdims=True)
    """,
    ((3, 4, 5),),
)
SHAPES = _each(
    """
    reshape(x, (4, 15))
    reshape(x, (5, -1)) * 2
    ravel(x)
    transpose(x)
    transpose(x, (1, 0, 2))
    transpose(x, (2, 0, 1))
    swapaxes(x, 0, 2)
    broadcast_to(x, (2, 3, 4, 5))
    expand_dims(x, 1)
    squeeze(expand_dims(x, 0))
    flip(x)
    flip(x, axis=1)
    roll(x, 1, 0)
    roll(x, 2, 2)
    pad(x, ((1, 0), (0, 2), (1, 1)))
    pad(x, ((1, 1), (1, 1), (0, 0)), constant_values=2)
    tril(x)
    triu(x)
    tril(x, k=1)
    tile(x, (2, 1, 2))
    x[0]
    x[1:]
    x[:, 1:3]
    x[:, ::2]
    x[..., -1]
    x[::-1]
    x[0, 1:, 2]
    x[:, None] * 2
    split(x, 2, axis=1)[0]
    x[:-1] - x[1:]
    x[1:, :, 1:] * x[:-1, :, :-1]
    """,
    ((3, 4, 5),),
)
INDEXING = _each(
    """
    x[array([0, 2, 2])]
    x[array([1, -1])]
    x[array([0, 1]), array([3, 2])]
    x[:, array([3, 0, 3])]
    take(x, array([2, 0, 0]), axis=1)
    take_along_axis(x, array([[0], [1], [3]]), axis=1)
    x.at[1].set(2.0)
    x.at[0].add(3.0)
    x.at[1:].set(x[:2])
    x.at[array([0, 2])].add(x[:2])
    x.at[array([0, 0])].add(x[:2])
    x.at[array([2, 0])].set(x[1:])
    x.at[array([1, 1])].set(x[1:])
    x.at[:, array([1, 2])].set(x[:, :2] * 2)
    dynamic_slice(x, (1, 1), (2, 2))
    dynamic_update_slice(x, x[:2, :2] * 3, (1, 2))
    top_k(x, 2)[0]
    """,
    ((3, 4),),
)
PRODUCTS = [
    Case("x @ y", ((3, 4), (4, 5))),
    Case("x @ y", ((2, 3, 4), (2, 4, 5))),
    Case("x @ y", ((2, 3, 4), (4, 5))),
    Case("x @ y", ((4,), (4, 5))),
    Case("x @ y", ((3, 4), (4,))),
    Case("x @ y", ((4,), (4,))),
    Case("dot(x, y)", ((3, 4), (4, 5))),
    Case('einsum("bij,bjk->bik", x, y)', ((2, 3, 4), (2, 4, 5))),
    Case('einsum("bsd,dhk->bhsk", x, y)', ((2, 3, 4), (4, 2, 5))),
    Case('einsum("bqhd,bkhd->bhqk", x, y)', ((2, 3, 2, 4), (2, 5, 2, 4))),
    Case('einsum("bhqk,bkhd->bqhd", x, y)', ((2, 2, 3, 5), (2, 5, 2, 4))),
    Case('einsum("ab,cb,db->acd", x, y, z)', ((3, 4), (2, 4), (5, 4))),
    Case('einsum("ij,jk,kl->il", x, y, z)', ((2, 3), (3, 4), (4, 5))),
    Case("softmax(x @ y) @ z", ((3, 4), (4, 5), (5, 2))),
    Case("tanh(x @ y + z)", ((3, 4), (4, 5), (5,))),
    Case("relu(x @ y) @ z", ((3, 4), (4, 5), (5, 2))),
    Case("(x @ y) * (x @ z)", ((3, 4), (4, 5), (4, 5))),
    Case("layer_norm(x, y, z)", ((3, 4), (4,), (4,))),
    Case("layer_norm(x)", ((3, 4),)),
    Case("rms_norm(x, y)", ((3, 4), (4,))),
    Case("rms_norm(x)", ((3, 4),)),
]
WINDOWS = [
    Case("conv(x, y)", ((2, 3, 8), (4, 3, 3))),
    Case("conv(x, y)", ((2, 3, 6, 7), (4, 3, 3, 2))),
    Case("conv(x, y, strides=2)", ((2, 3, 8, 8), (4, 3, 3, 3))),
    Case('conv(x, y, padding="SAME")', ((2, 3, 5, 6), (4, 3, 3, 3))),
    Case('conv(x, y, strides=2, padding="SAME")', ((2, 3, 7, 6), (4, 3, 3, 3))),
    Case("conv(x, y, dilation=2)", ((2, 3, 8, 8), (4, 3, 3, 2))),
    Case("conv(x, y, groups=2)", ((2, 4, 6, 6), (6, 2, 3, 3))),
    Case("conv(x, y, padding=1, groups=4)", ((2, 4, 6, 6), (4, 1, 3, 3))),
    Case('conv(x, y, layout="NHWC")', ((2, 6, 6, 3), (3, 3, 3, 4))),
    Case('conv(x, y, padding=((1, 2), (0, 1)), layout="NHWC")', ((2, 6, 6, 3), (3, 3, 3, 4))),
    Case("max_pool(x, 2)", ((2, 3, 6, 6),)),
    Case("max_pool(x, 3, strides=2)", ((2, 3, 7, 7),)),
    Case('max_pool(x, 3, strides=1, padding="SAME")', ((2, 3, 5, 5),)),
    Case("avg_pool(x, 2)", ((2, 3, 6, 6),)),
    Case("avg_pool(x, 3, strides=2)", ((2, 3, 7, 7),)),
    Case('avg_pool(x, 3, strides=1, padding="SAME")', ((2, 3, 5, 5),)),
    Case('avg_pool(x, 2, layout="NHWC")', ((2, 6, 6, 3),)),
]
KINKS = [
    Case("maximum(round(x), round(y))", ((3, 4), (3, 4)), -1.2, 1.2),
    Case("x * max(round(x), axis=1, keepdims=True)"),
    Case("max(stop_gradient(round(x) - x) + x, axis=1)"),
    Case("relu(stop_gradient(round(x) - x) + x)"),
    Case("prod(where(x > 1, x, 0 * x), axis=1)"),
    Case("prod(stop_gradient(round(x) - x) + x, axis=1)"),
    Case("cumprod(stop_gradient(round(x) - x) + x, axis=1)"),
    Case("maximum(stop_gradient(round(x) - x) + x, 0.0)"),
    Case("clip(stop_gradient(round(x) - x) + x, -1, 1)"),
    Case("abs(stop_gradient(round(x) - x) + x)"),
    Case("(stop_gradient(round(x) - x) + x) ** 2"),
]
WAVES = _each(
    """
    abs(fft(x))
    real(fft(x) * 2j)
    imag(fft(x, axis=0))
    real(ifft(fft(x) * y))
    abs(rfft(x, axis=1)) ** 2
    angle(rfft(x + y) + 3)
    irfft(rfft(x))
    irfft(rfft(x), n=5) * 2
    irfft(rfft(x, axis=0) * (1 + 2j), n=3, axis=0)
    irfft(rfft(x) * rfft(y))
    irfft(complex(x, y), n=9)
    abs(fft2(x) + 1j * fft2(y))
    real(fft(x, norm="ortho") * conj(fft(y)))
    real(complex(x, y) / complex(y + 3, x))
    abs(complex(x, y))
    abs(exp(complex(x, y)))
    imag(complex(x, y) ** 3)
    real(sqrt(complex(x, y)))
    real(log(complex(x, y)))
    real(sum(complex(x, y) * conj(complex(y, x)), axis=0))
    imag(complex(x, y) @ complex(y, x).T)
    real(where(x > 0, complex(x, y), 1j))
    angle(complex(x, y))
    real(cumsum(complex(x, y), axis=1) * 1j)
    """,
    ((3, 4), (3, 4)),
)
ALL = [
    *WAVES,
    *UNARY,
    *POSITIVE,
    *SMALL,
    *BINARY,
    *BROADCAST,
    *POWERS,
    *REDUCTIONS,
    *SHAPES,
    *INDEXING,
    *PRODUCTS,
    *WINDOWS,
    *KINKS,
]


# ---- what Python takes the names for


def _conv(x, kernel, strides=1, padding="VALID", dilation=1, groups=1, layout="NCHW"):
    n = x.ndim - 2
    spatial = "HWD"[:n] if layout == "NCHW" else layout[1:-1]
    names = ("NC" + spatial, "OI" + spatial, "NC" + spatial)
    if layout != "NCHW":
        names = ("N" + spatial + "C", spatial + "IO", "N" + spatial + "C")
    pads = [(padding, padding)] * n if isinstance(padding, int) else padding
    return lax.conv_general_dilated(
        x, kernel, (strides,) * n, pads, rhs_dilation=(dilation,) * n, dimension_numbers=names,
        feature_group_count=groups,
    )  # fmt: skip


def _pool(op, start):
    def pool(x, window, strides=None, padding="VALID", layout="NCHW"):
        n = x.ndim - 2
        wide, step = (window,) * n, (strides or window,) * n
        sizes = (1, 1, *wide) if layout == "NCHW" else (1, *wide, 1)
        steps = (1, 1, *step) if layout == "NCHW" else (1, *step, 1)
        made = lax.reduce_window(x, start, op, sizes, steps, padding)
        return made / window**n if op is lax.add else made

    return pool


def _layer_norm(x, weight=None, bias=None, axis=-1, eps=1e-5):
    mean, var = jnp.mean(x, axis, keepdims=True), jnp.var(x, axis, keepdims=True)
    made = (x - mean) * lax.rsqrt(var + eps)
    made = made if weight is None else made * weight
    return made if bias is None else made + bias


def _rms_norm(x, weight=None, axis=-1, eps=1e-6):
    made = x * lax.rsqrt(jnp.mean(x * x, axis, keepdims=True) + eps)
    return made if weight is None else made * weight


NAMES = {
    **{name: getattr(jnp, name) for name in dir(jnp) if not name.startswith("_")},
    **{
        name: getattr(nn, name)
        for name in (
            "relu",
            "silu",
            "gelu",
            "softplus",
            "softmax",
            "log_softmax",
            "sigmoid",
            "leaky_relu",
            "elu",
            "logsumexp",
        )
    },
    **{name: getattr(jnp.fft, name) for name in ("fft", "ifft", "rfft", "irfft", "fft2", "ifft2")},
    "complex": lax.complex,
    "erf": lax.erf,
    "rsqrt": lax.rsqrt,
    "stop_gradient": lax.stop_gradient,
    "dynamic_slice": lax.dynamic_slice,
    "dynamic_update_slice": lax.dynamic_update_slice,
    "top_k": lax.top_k,
    "cummax": lax.cummax,
    "cummin": lax.cummin,
    "conv": _conv,
    "max_pool": _pool(lax.max, -jnp.inf),
    "avg_pool": _pool(lax.add, 0.0),
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
}


def as_python(case: Case):
    """The function of a case in JAX."""
    names = ", ".join("xyz"[: len(case.shapes)])
    return eval(f"lambda {names}: {case.text}", NAMES)


_ = jax
