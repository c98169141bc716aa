"""What calls of the host on whole arrays go through. The text below MARK is written into the program."""

# pyright: basic

import jax
import jax.numpy as jnp
from jax import lax

MARK = "what follows is written into programs"


def one_device(axes, function, results, *arrays):
    """`function(*arrays)` on the first device along the axes; all devices get what it returns, bit by bit."""

    def nothing(*arrays):
        return jax.tree.map(lambda result: jnp.zeros(result.shape, result.dtype), results)

    def sent(array):
        if not jnp.issubdtype(array.dtype, jnp.floating):
            return lax.psum(array, axes).astype(array.dtype)
        return lax.psum(array.view(f"uint{8 * array.dtype.itemsize}"), axes).view(array.dtype)

    return jax.tree.map(sent, lax.cond(lax.axis_index(axes) == 0, function, nothing, *arrays))
