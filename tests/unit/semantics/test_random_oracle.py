"""rng_bit_generator, bit for bit as XLA on CPU."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

lax = jax.lax

SHAPES = [(10,), (7,), (4, 3), (3, 5), (5, 3), (3, 6, 4), (3, 3, 3), (0,)]


@pytest.mark.parametrize("algorithm", ["RNG_DEFAULT", "RNG_PHILOX", "RNG_THREE_FRY"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_random_bits(check, algorithm, dtype):
    def bits(key):
        kind = getattr(lax.RandomAlgorithm, algorithm)
        return [lax.rng_bit_generator(key, shape, dtype, kind) for shape in SHAPES]

    check(bits, np.array([1, 2**31, 3, 2**32 - 1], np.uint32))


@pytest.mark.parametrize("algorithm", ["RNG_PHILOX", "RNG_THREE_FRY"])
def test_random_bits_of_64(check, algorithm):
    def bits(key):
        kind = getattr(lax.RandomAlgorithm, algorithm)
        return [lax.rng_bit_generator(key.astype(np.uint32), shape, np.uint64, kind) for shape in SHAPES]

    check(bits, np.array([1, 2**31, 3, 4], np.uint64))


def test_keys_of_the_rbg_generator(check):
    def normal(key):
        return jax.random.normal(jax.random.wrap_key_data(key, impl="rbg"), (5, 3))

    check(normal, np.array([0, 42, 0, 42], np.uint32))
