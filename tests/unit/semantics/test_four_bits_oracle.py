"""Integers of 4 bits against JAX: conversions of all values, bits as other dtypes, what moves them."""

import numpy as np
import pytest

from shardc.graph.types import DTYPES, FOUR_BITS, bits_of
from shardc.semantics.arrays import integer_ends

jax = pytest.importorskip("jax")

jnp, lax = jax.numpy, jax.lax

WIDTHS = ("i8", "u8", "i16", "i32", "f32")


def every(dtype):
    """All values of a dtype."""
    least, most = integer_ends(DTYPES[dtype][1])
    return np.arange(least, most + 1).astype(DTYPES[dtype][1])


@pytest.mark.parametrize("dtype", FOUR_BITS)
def test_all_values_into_every_dtype(check, dtype):
    targets = [kind for _, kind in DTYPES.values() if kind.itemsize < 8]
    check(lambda x: [lax.convert_element_type(x, to) for to in targets], every(dtype))


@pytest.mark.parametrize("dtype", FOUR_BITS)
def test_other_dtypes_into_it(check, dtype):
    """Floats lose their fraction and stop at the ends, integers lose their upper bits."""
    kind = DTYPES[dtype][1]
    numbers = np.concatenate([np.arange(-20, 20, 0.25), [np.inf, -np.inf, np.nan, -0.0, 3e38]])
    floats = [numbers.astype(DTYPES[source][1]) for source in ("f32", "bf16", "f16")]
    whole = [np.arange(-128, 128).astype(DTYPES[source][1]) for source in ("i32", "i8", "u8", "bool")]
    check(lambda *xs: [lax.convert_element_type(x, kind) for x in xs], *floats, *whole)


@pytest.mark.parametrize("wide", WIDTHS)
@pytest.mark.parametrize("dtype", FOUR_BITS)
def test_bits_as_another_dtype_and_back(check, dtype, wide):
    kind, other = DTYPES[dtype][1], DTYPES[wide][1]
    numbers = np.random.default_rng(0).integers(0, 64, (3, 5)).astype(other)
    parts = bits_of(wide) // bits_of(dtype)
    rows = np.random.default_rng(1).integers(-8, 8, (4, parts)).astype(kind)
    check(lambda x: lax.bitcast_convert_type(x, kind), numbers)
    if wide != "f32":  # the bits of a NaN are not kept by all processors
        check(lambda x: lax.bitcast_convert_type(x, other), rows)


@pytest.mark.parametrize("dtype", FOUR_BITS)
def test_what_moves_and_chooses(check, dtype):
    rows = np.random.default_rng(0).integers(-8, 8, (6, 5)).astype(DTYPES[dtype][1])

    def moved(x):
        places = jnp.array([[0], [4], [5]])
        return [
            *(x.T, x[::-1, 1:4], jnp.pad(x, 1), jnp.concatenate([x, x], 1), x.reshape(5, 6)),
            *(jnp.take(x, places, axis=0), x.at[places[:, 0]].set(x[:3])),
            *(lax.dynamic_slice(x, (2, 1), (3, 2)), lax.dynamic_update_slice(x, x[:2, :2], (4, 3))),
            *(x < x[::-1], x == x[:, ::-1], jnp.where(x > 0, x, x[::-1]), lax.iota(x.dtype, 3)),
        ]

    check(moved, rows)
