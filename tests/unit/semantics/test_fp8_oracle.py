"""Floats of 8 bits against JAX: conversions and arithmetic bit by bit, on all values and all pairs."""

import numpy as np
import pytest

from shardc.graph.types import DTYPES, FP8, identity

jax = pytest.importorskip("jax")

jnp, lax = jax.numpy, jax.lax

SIGNED = [name for name in FP8 if name != "f8e8m0fnu"]
"""Those with zero and negative numbers; the other holds powers of two, of which XLA takes the least for 0."""

TARGETS = [kind for _, kind in DTYPES.values() if kind.kind != "c" and kind.itemsize < 8]


def every(dtype):
    """All 256 values."""
    return np.arange(256, dtype=np.uint8).view(DTYPES[dtype][1])


def pairs(dtype):
    """All pairs of values."""
    return np.repeat(every(dtype), 256), np.tile(every(dtype), 256)


def same(check, function, *arrays):
    """Our results are JAX's to the bit, but for the bits of a NaN."""
    wide = any(np.asarray(array).dtype.itemsize == 8 for array in arrays)
    with jax.enable_x64(wide):
        wanted = jax.tree.leaves(jax.jit(function)(*arrays))
    for one, other in zip(check(function, *arrays), wanted, strict=True):
        assert one.dtype == other.dtype
        one, other = (np.asarray(array).astype(np.float64) for array in (one, other))
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(np.signbit(one) & (one == one), np.signbit(other) & (other == other))


@pytest.mark.parametrize("dtype", FP8)
def test_all_values_into_every_dtype(check, dtype):
    same(check, lambda x: [lax.convert_element_type(x, to) for to in TARGETS], every(dtype))


@pytest.mark.parametrize("dtype", FP8)
def test_other_dtypes_into_it(check, dtype):
    """Random numbers of all sizes, and what lies on and beside every value and every tie.

    XLA's CPU rounds f64 twice, first to f32, so those beside ties are left out there, and what is subnormal
    in f32, which threads of it take for 0.
    """
    rng = np.random.default_rng(0)
    values = np.sort(every(dtype).astype(np.float64))
    values = values[np.isfinite(values)]
    ties = (values[1:] + values[:-1]) / 2
    exact = np.concatenate([values, ties, [np.inf, -np.inf, np.nan, 0.0, -0.0, 2 * values[-1], 3e38]])
    sizes = rng.standard_normal(5000) * np.exp2(rng.uniform(-30, 30, 5000))
    numbers = np.concatenate([exact, sizes])
    same(check, lambda x: lax.convert_element_type(x, DTYPES[dtype][1]), np.concatenate([exact, sizes]))
    arrays = [numbers.astype(DTYPES[source][1]) for source in ("f32", "f16", "bf16")]
    with np.errstate(all="ignore"):
        arrays += [np.nextafter(x, x.dtype.type(end)) for x in arrays for end in (np.inf, -np.inf)]
    least = np.finfo(np.float32).smallest_normal
    arrays = [x[(x == 0) | ~(abs(x.astype(np.float64)) < least)] for x in arrays]
    same(check, lambda *xs: [lax.convert_element_type(x, DTYPES[dtype][1]) for x in xs], *arrays)
    whole = [np.arange(-400, 3000).astype(DTYPES[source][1]) for source in ("i32", "i8", "u8", "bool")]
    same(check, lambda *xs: [lax.convert_element_type(x, DTYPES[dtype][1]) for x in xs], *whole)


@pytest.mark.parametrize("dtype", SIGNED)
def test_arithmetic_of_all_pairs(check, dtype):
    """max and min of 0 and -0 are either, as everywhere in XLA."""

    def arithmetic(x, y):
        return [x + y, x - y, x * y, x / y, lax.rem(x, y), x < y, x <= y, x == y, x != y]

    same(check, arithmetic, *pairs(dtype))
    same(check, lambda x, y: [jnp.abs(lax.max(x, y)), lax.min(x, y) < 0], *pairs(dtype))


@pytest.mark.parametrize("dtype", SIGNED)
def test_functions_of_all_values(check, dtype):
    exact = [lax.neg, lax.abs, lax.sign, lax.floor, lax.ceil, lax.round, lax.is_finite, lax.square]
    same(check, lambda x: [f(x) for f in exact], every(dtype))
    near = [lax.exp, lax.log, lax.tanh, lax.logistic, lax.sqrt, lax.rsqrt, lax.erf]
    check(lambda x: [f(x) for f in near], every(dtype))


@pytest.mark.parametrize("dtype", FP8)
def test_orders(check, dtype):
    """Sorted, and the places of the largest. What XLA makes of its sort of f8e5m2fnuz is not sorted."""
    shuffled = np.random.default_rng(0).permutation(every(dtype))
    if dtype != "f8e5m2fnuz":
        same(check, jnp.sort, shuffled)
    rows = shuffled[np.isfinite(shuffled.astype(np.float32))][:220].reshape(11, 20)
    same(check, lambda x: [jnp.argmax(x, 1), jnp.max(x, 0), jnp.min(x, 1)], rows)


@pytest.mark.parametrize("dtype", SIGNED)
def test_reduced_precision(check, dtype):
    for exponent, mantissa in ((4, 1), (3, 2), (2, 2)):
        same(check, lambda x, e=exponent, m=mantissa: lax.reduce_precision(x, e, m), every(dtype))


@pytest.mark.parametrize("dtype", SIGNED)
def test_products_with_a_preferred_dtype(check, dtype):
    rng = np.random.default_rng(0)
    a = rng.standard_normal((6, 40)).astype(DTYPES[dtype][1])
    b = rng.standard_normal((40, 5)).astype(DTYPES["f8e5m2" if dtype == "f8e4m3fn" else dtype][1])
    check(lambda x, y: jnp.matmul(x, y, preferred_element_type=jnp.float32), a, b)
    check(lambda x: lax.dot(x, x.T, preferred_element_type=jnp.bfloat16), a)
    check(lambda x: jnp.dot(x, x.T), a)


@pytest.mark.parametrize("dtype", FP8)
def test_what_changes_nothing(dtype):
    """The least number is neutral for max where there is no infinity; sums are not of powers of two."""
    values = every(dtype)
    values = values[~np.isnan(values.astype(np.float32))]
    for kind, function in (("max", np.maximum), ("min", np.minimum)):
        neutral = np.full_like(values, identity(kind, dtype))
        np.testing.assert_array_equal(function(values, neutral).astype(np.float32), values.astype(np.float32))
