"""Elementwise operations against JAX, on values where definitions differ."""

import numpy as np
import pytest

from shardc.semantics import elementwise as kernels

jax = pytest.importorskip("jax")

jnp, lax = jax.numpy, jax.lax

INF, NAN = np.inf, np.nan
FLOATS = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-3, -3.7, 40.0, INF, -INF, NAN], np.float32
)
UNIT = np.array([-1.0, -0.9, -0.1, 0.0, 0.3, 0.99, 1.0], np.float32)
SIGNED = np.array([0, 1, -1, 7, -7, 2, -2, 31, 32, 33, -(2**31), 2**31 - 1], np.int32)
BYTES = np.array([0, 1, 2, 7, 8, 127, 128, 254, 255], np.uint8)


def single(values):
    return np.array(values, np.float32)


def integers(values):
    return np.array(values, np.int32)


UNARY = [
    lax.abs,
    lax.neg,
    lax.sign,
    lax.exp,
    lax.expm1,
    lax.log,
    lax.log1p,
    lax.logistic,
    lax.sin,
    lax.cos,
    lax.tan,
    lax.tanh,
    lax.sqrt,
    lax.rsqrt,
    lax.cbrt,
    lax.ceil,
    lax.floor,
    lax.is_finite,
    lax.erf,
    lax.erfc,
    lax.square,
    lax.sinh,
    lax.cosh,
    lax.asinh,
    lax.atan,
]


@pytest.mark.parametrize("function", UNARY, ids=lambda f: f.__name__)
def test_unary_floats(check, function):
    check(function, FLOATS)
    check(function, FLOATS.astype(jnp.bfloat16))


@pytest.mark.parametrize("function", [lax.asin, lax.acos, lax.atanh, lax.erf_inv], ids=lambda f: f.__name__)
def test_unary_on_the_unit_interval(check, function):
    check(function, UNIT)


@pytest.mark.parametrize("method", [lax.RoundingMethod.AWAY_FROM_ZERO, lax.RoundingMethod.TO_NEAREST_EVEN])
def test_rounding(check, method):
    values = np.concatenate([FLOATS, single([0.49999997, -0.49999997, 8388609.0])])
    check(lambda x: lax.round(x, method), values)


@pytest.mark.parametrize("function", [lax.lgamma, lax.digamma, lax.bessel_i1e], ids=lambda f: f.__name__)
def test_special_functions(check, function):
    check(function, np.array([0.1, 0.5, 1.0, 2.5, 10.0], np.float32))


def test_polygamma_and_zeta(check):
    check(lax.polygamma, single([1, 2, 3]), single([0.5, 1.5, 4.0]))
    check(lax.zeta, single([1.5, 2, 3]), single([0.5, 1.5, 4.0]))


@pytest.mark.parametrize("values", [SIGNED, SIGNED.astype(np.int8), BYTES, BYTES.astype(np.uint32)], ids=str)
def test_integer_arithmetic_of_all_pairs(check, values):
    lhs, rhs = (grid.ravel() for grid in np.meshgrid(values, values))

    def arithmetic(x, y):
        return [
            x + y,
            x - y,
            x * y,
            lax.div(x, y),
            lax.rem(x, y),
            x & y,
            x | y,
            x ^ y,
            lax.max(x, y),
            lax.min(x, y),
        ]

    check(arithmetic, lhs, rhs)


@pytest.mark.parametrize("values", [SIGNED, SIGNED.astype(np.int16), BYTES], ids=str)
def test_shifts_of_all_pairs(check, values):
    lhs, rhs = (grid.ravel() for grid in np.meshgrid(values, values))

    def shifts(x, y):
        return [lax.shift_left(x, y), lax.shift_right_arithmetic(x, y), lax.shift_right_logical(x, y)]

    check(shifts, lhs, rhs)


WIDE = np.array([0, 1, -1, 3, -(2**63), 2**63 - 1, 2**32 - 1, -(2**32), 2**40 + 7, -(2**61) - 5], np.int64)


@pytest.mark.parametrize(
    "values",
    [SIGNED, SIGNED.astype(np.int8), SIGNED.astype(np.uint32), BYTES, WIDE, WIDE.astype(np.uint64)],
    ids=lambda values: values.dtype.name,
)
def test_the_upper_half_of_products_of_all_pairs(values):
    lhs, rhs = (grid.ravel() for grid in np.meshgrid(values, values))
    products = [int(x) * int(y) >> 8 * values.itemsize for x, y in zip(lhs, rhs, strict=True)]
    got = kernels.mulhi(lhs, rhs)
    assert got.dtype == values.dtype
    assert got.tolist() == products


def test_the_upper_half_of_products_is_that_of_jax(check):
    check(lax.mulhi, SIGNED, SIGNED[::-1].copy())


@pytest.mark.parametrize("values", [SIGNED, BYTES, BYTES.astype(np.uint64)], ids=str)
def test_bit_counts(check, values):
    check(lambda x: [lax.population_count(x), lax.clz(x), lax.bitwise_not(x)], values)


def test_signed_abs_sign_negate(check):
    check(lambda x: [lax.abs(x), lax.sign(x), lax.neg(x)], SIGNED)


def test_integer_power(check):
    check(lambda x, y: lax.pow(x, y), single([2, 3, -2, 0]), integers([3, -1, 5, 0]))


@pytest.mark.parametrize("dtype", [np.float32, jnp.bfloat16, np.float16])
def test_float_arithmetic_of_all_pairs(check, dtype):
    lhs, rhs = (grid.ravel() for grid in np.meshgrid(FLOATS, FLOATS))

    def arithmetic(x, y):
        return [x + y, x - y, x * y, x / y, lax.rem(x, y), lax.max(x, y), lax.min(x, y), lax.atan2(x, y)]

    check(arithmetic, lhs.astype(dtype), rhs.astype(dtype))


def test_float_power(check):
    lhs, rhs = (grid.ravel() for grid in np.meshgrid(FLOATS, single([0, 1, -1, 2, 0.5, 3, INF, NAN])))
    check(lax.pow, lhs, rhs)


@pytest.mark.parametrize(
    "values", [FLOATS, SIGNED, BYTES, np.array([False, True])], ids=lambda v: v.dtype.name
)
def test_comparisons_of_all_pairs(check, values):
    lhs, rhs = (grid.ravel() for grid in np.meshgrid(values, values))
    check(lambda x, y: [x == y, x != y, x < y, x <= y, x > y, x >= y], lhs, rhs)


def test_bool_arithmetic(check):
    values = np.array([False, False, True, True]), np.array([False, True, False, True])
    check(lambda x, y: [x & y, x | y, x ^ y, ~x, lax.max(x, y), lax.min(x, y)], *values)


WIDE = np.array([0.9, -0.9, 1e10, -1e10, 300.5, -300.5, INF, -INF, NAN, 3e38, 2.0**63, 127.9], np.float32)
TARGETS = [np.int8, np.int32, np.uint8, np.uint32, np.bool_, np.float16, jnp.bfloat16]


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: np.dtype(t).name)
def test_conversions(check, target):
    check(lambda x: lax.convert_element_type(x, target), WIDE)
    check(lambda x: lax.convert_element_type(x, target), SIGNED)
    check(lambda x: lax.convert_element_type(x, target), np.array([True, False]))


@pytest.mark.parametrize("target", [np.int64, np.uint64, np.int32], ids=lambda t: np.dtype(t).name)
def test_conversions_of_f64(check, target):
    check(lambda x: lax.convert_element_type(x, target), WIDE.astype(np.float64))


@pytest.mark.parametrize(("exponent", "mantissa"), [(5, 10), (8, 7), (4, 3), (5, 2), (8, 23)])
def test_reduce_precision(check, exponent, mantissa):
    values = np.concatenate([FLOATS, np.geomspace(1e-9, 1e6, 200).astype(np.float32), single([65519, 65520])])
    check(lambda x: lax.reduce_precision(x, exponent, mantissa), values)


def test_select_and_clamp(check):
    check(lambda p, x, y: lax.select(p, x, y), FLOATS > 0, FLOATS, -FLOATS)
    check(lambda x: lax.clamp(np.float32(-1), x, np.float32(2)), FLOATS)


def test_complex_numbers(check):
    values = np.array([1 + 2j, -1j, 0, 3 - 4j], np.complex64)
    check(
        lambda x: [lax.real(x), lax.imag(x), lax.abs(x), lax.conj(x), x * x, lax.exp(x), lax.sign(x)], values
    )
    check(lax.complex, single([1, 2]), single([3, -4]))


def test_empty_and_scalar(check):
    check(lambda x: jnp.exp(x) / x, np.zeros((0, 3), np.float32))
    check(lambda x: jnp.exp(x) / x, np.float32(2))
