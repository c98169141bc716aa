"""rng_bit_generator: random bits from a key and a counter, bit for bit as XLA makes them.

Both generators are from Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011): Philox4x32
with 10 rounds and Threefry2x32 with 20. How their words become an array was found by comparing with XLA.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from shardc.semantics.arrays import Array

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def rng_bit_generator(
    initial_state: Array, *, rng_algorithm: str, shape: Sequence[int], dtype: np.dtype[Any]
) -> list[Array]:
    """The next state, and random bits of that shape.

    `initial_state` is u64[2], a key and a counter. Philox also takes u64[3], the last being the counter's
    high word, which is the key otherwise. DEFAULT is Philox, as for XLA on CPU. Elements of fewer than 32
    bits are the low bits of 32.
    """
    generate = _threefry_array if rng_algorithm == "THREE_FRY" else _philox_array
    words, used = generate(initial_state, tuple(shape), dtype.itemsize == 8)
    state = initial_state.copy()
    state[1] += np.uint64(used)
    return [state, words.astype(f"u{dtype.itemsize}").view(dtype)]


def _counters(state: Array, count: int) -> Array:
    return state[1] + np.arange(count, dtype=np.uint64)


def _philox_array(state: Array, shape: tuple[int, ...], wide: bool) -> tuple[Array, int]:
    """Blocks of four words in order; a wide element is two of them, the low one first."""
    size = prod(shape)
    blocks = -(-size // (2 if wide else 4))
    words = _philox(state, _counters(state, blocks))
    if wide:
        words = [words[0] | (words[1] << _HALF), words[2] | (words[3] << _HALF)]
    return np.stack(words, -1).reshape(-1)[:size].reshape(shape), blocks


def _threefry_array(state: Array, shape: tuple[int, ...], wide: bool) -> tuple[Array, int]:
    """Two words alternate along the first even dimension, or along the largest one, then cut to its size."""
    if wide:
        low, high = _threefry(state, _counters(state, prod(shape)))
        return (low | (high << _HALF)).reshape(shape), prod(shape)
    full = shape or (1,)
    even = [dim for dim, size in enumerate(full) if size % 2 == 0]
    split = even[0] if even else max(range(len(full)), key=lambda dim: full[dim])
    half = (*full[:split], -(-full[split] // 2), *full[split + 1 :])
    words = [word.reshape(half) for word in _threefry(state, _counters(state, prod(half)))]
    doubled = (*full[:split], 2 * half[split], *full[split + 1 :])
    alternating = np.stack(words, split + 1).reshape(doubled)
    return np.take(alternating, range(full[split]), split).reshape(shape), prod(half)


def _halves(word: Array) -> tuple[Array, Array]:
    """The low and high 32 bits."""
    return word & _LOW, word >> _HALF


def _philox(state: Array, counters: Array) -> list[Array]:
    key0, key1 = _halves(state[:1])
    high = np.broadcast_to(state[2:3] if state.size == 3 else state[:1], counters.shape)
    a, b, c, d = *_halves(counters), *_halves(high)
    for _ in range(10):
        low_a, high_a = _halves(np.uint64(0xD2511F53) * a)
        low_c, high_c = _halves(np.uint64(0xCD9E8D57) * c)
        a, b, c, d = high_c ^ b ^ key0, low_c, high_a ^ d ^ key1, low_a
        key0, key1 = (key0 + np.uint64(0x9E3779B9)) & _LOW, (key1 + np.uint64(0xBB67AE85)) & _LOW
    return [a, b, c, d]


_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))


def _threefry(state: Array, counters: Array) -> list[Array]:
    key0, key1 = _halves(state[:1])
    keys = [key0, key1, key0 ^ key1 ^ np.uint64(0x1BD11BDA)]
    low, high = _halves(counters)
    x, y = (low + key0) & _LOW, (high + key1) & _LOW
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            x = (x + y) & _LOW
            y = (((y << np.uint64(rotation)) | (y >> np.uint64(32 - rotation))) & _LOW) ^ x
        x = (x + keys[(group + 1) % 3]) & _LOW
        y = (y + keys[(group + 2) % 3] + np.uint64(group + 1)) & _LOW
    return [x, y]
