"""Elementwise operations of JAX functions, printed in both targets, compute what they did."""

from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

rng = np.random.default_rng(0)


def f(*shape, dtype: Any = np.float32):
    return rng.standard_normal(shape).astype(dtype)


def i(*shape, low=-5, high=6, dtype: Any = np.int32):
    return rng.integers(low, high, shape).astype(dtype)


def unary(x):
    y = jnp.abs(x) + 0.1
    return [
        *(
            jnp.exp(x),
            jnp.log(y),
            jnp.log1p(y),
            jnp.expm1(x),
            jnp.tanh(x),
            jnp.sin(x),
            jnp.cos(x),
            jnp.tan(x),
        ),
        *(jnp.sqrt(y), lax.rsqrt(y), jnp.cbrt(x), jnp.floor(x), jnp.ceil(x), jnp.round(x), lax.round(x)),
        *(jax.nn.sigmoid(x), jnp.isfinite(x), jnp.sign(x), y**x, y**2.5, jnp.arctan2(x, y), 1.0 - x, 1 / y),
        *(jnp.maximum(x, 0), jnp.clip(x, -1, 1), jnp.where(x > 0, x, 0.0), x.astype(jnp.int32), -x, x != x),
    ]


def special(x):
    y = jnp.abs(x) + 0.1
    return [
        *(lax.erf(x), lax.erf_inv(x / 10), lax.erfc(x), lax.lgamma(y), lax.digamma(y), jnp.square(x), x**2),
        *(jnp.arcsinh(x), jnp.arccosh(y + 1), jnp.arctanh(x / 10), jnp.arcsin(x / 10), jnp.arccos(x / 10)),
        *(jnp.arctan(x), jnp.sinh(x), jnp.cosh(x), (x * 10).astype(jnp.uint8), x.astype(bool)),
        *(lax.nextafter(x, y), lax.reduce_precision(x, 5, 10), jnp.isinf(x), lax.bessel_i1e(x)),
        *(lax.zeta(y + 2, y + 1), lax.polygamma(jnp.float32(2), y + 1)),
    ]


def integers(x, y):
    return [
        *(
            x // y,
            x % y,
            lax.div(x, y),
            lax.rem(x, y),
            x**2,
            x << 2,
            x >> 1,
            lax.shift_right_logical(x, x.dtype.type(1)),
        ),
        *(
            ~x,
            x & y,
            x | y,
            x ^ y,
            abs(x.astype(jnp.int32)),
            jnp.sign(x),
            lax.population_count(x),
            lax.clz(x),
        ),
        *(x * 3, x.sum(), x.max(), x.prod(), jnp.cumsum(x), x.astype(jnp.float32)),
    ]


def transforms(x, y):
    z = lax.complex(x, y)
    return (
        jnp.real(z * 2j),
        jnp.abs(z),
        jnp.conj(z),
        jnp.fft.fft(x),
        jnp.fft.irfft(jnp.fft.rfft(x)),
        z + (1 + 2j),
    )


BF16 = ml_dtypes.bfloat16
CASES = {
    "functions": (unary, f(4, 6)),
    "functions in bf16": (unary, f(4, 6, dtype=BF16)),
    "special functions": (special, f(4, 6)),
    "i32": (integers, i(6), i(6, low=1)),
    "u32": (integers, i(6, low=0).astype(np.uint32), i(6, low=1).astype(np.uint32)),
    "i8": (integers, i(6, dtype=np.int8), i(6, low=1, dtype=np.int8)),
    "bool": (lambda x: (x & ~x, x.any(), x.all(0), x.sum(), jnp.where(x, 1.0, 2.0), x ^ True), f(4, 3) > 0),
    "transforms": (transforms, f(8), f(8)),
    "bitcasts": (
        lambda x: (lax.bitcast_convert_type(x, jnp.int32), lax.bitcast_convert_type(x, jnp.int16)),
        f(4),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_round_trip(check, case):
    function, *arrays = CASES[case]
    check(function, *arrays)
