"""What draws one device's block of random numbers. The text below MARK is written into programs."""

# pyright: basic, reportArgumentType=false

import jax.numpy as jnp
from jax import lax
from jax.extend.random import threefry2x32_p

MARK = "what follows is written into programs"


def own_bernoulli(key, p, shape, split):
    """This device's block of jax.random.bernoulli(key, p, shape); `p` is a number, or a block."""
    return own_uniform(key, shape, split) < p


def own_gumbel(key, shape, split):
    """This device's block of jax.random.gumbel(key, shape)."""
    least = jnp.finfo(jnp.float32).tiny
    return -jnp.log(-jnp.log(own_uniform(key, shape, split, minval=least)))


def own_exponential(key, shape, split):
    """This device's block of jax.random.exponential(key, shape)."""
    return -jnp.log1p(-own_uniform(key, shape, split))


def own_normal(key, shape, split):
    """This device's block of jax.random.normal(key, shape)."""
    drawn = own_uniform(key, shape, split, minval=-0.99999994)  # of floats the next to -1
    return jnp.float32(2**0.5) * lax.erf_inv(drawn)


def own_uniform(key, shape, split, minval=0.0, maxval=1.0):
    """This device's block of jax.random.uniform(key, shape, minval=minval, maxval=maxval)."""
    low, high = jnp.float32(minval), jnp.float32(maxval)
    mantissa = lax.shift_right_logical(own_bits(key, shape, split), jnp.uint32(9))
    drawn = lax.bitcast_convert_type(mantissa | jnp.uint32(0x3F800000), jnp.float32) - 1
    return jnp.maximum(low, drawn * (high - low) + low)


def own_randint(key, shape, split, minval, maxval):
    """This device's block of jax.random.randint(key, shape, minval, maxval, jnp.int32)."""
    low, high = jnp.int32(minval), jnp.int32(maxval)
    count = jnp.where(low < high, (high - low).astype(jnp.uint32), jnp.uint32(1))
    two = jnp.arange(2, dtype=jnp.uint32)
    keys = jnp.stack(own_threefry2x32(key[0], key[1], jnp.zeros_like(two), two), axis=1)
    first, second = (lax.rem(own_bits(own, shape, split), count) for own in keys)
    half = lax.rem(jnp.uint32(2**16), count)
    drawn = lax.rem(first * lax.rem(half * half, count) + second, count)
    return low + drawn.astype(jnp.int32)


def own_bits(key, shape, split):
    """This device's block of jax.random.bits(key, shape); `split` names the axes of each dimension."""
    first, second = own_words(key, shape, split)
    return first ^ second


def own_split(key, shape, split):
    """This device's block of jax.random.split(key, shape)."""
    return jnp.stack(own_words(key, shape, split), axis=-1)


def own_words(key, shape, split):
    """Two random words for each place of this device's block of an array."""
    number = jnp.uint32(0)
    for size, axes in zip(shape, split, strict=True):
        own = -(-size // lax.axis_size(axes))
        place = lax.axis_index(axes) * own + jnp.arange(own)
        number = number[..., None] * jnp.uint32(size) + place.astype(jnp.uint32)
    return own_threefry2x32(key[0], key[1], jnp.zeros_like(number), number)


def own_threefry2x32(k0, k1, x0, x1):
    """The cipher where devices differ, which JAX notices neither of its results nor of one of two words."""
    same = jnp.zeros_like(k0 ^ k1 ^ x0 ^ x1)
    first, second = threefry2x32_p.bind(k0, k1, x0 ^ same, x1 ^ same)
    return first ^ same, second ^ same
