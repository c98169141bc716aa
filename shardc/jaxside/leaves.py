"""The leaves of arguments and results as the emitted program takes and gives them.

The program has plain arrays: a typed PRNG key is its data there, and a float0 tangent is nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from shardc.jaxside.untyped import jax


def is_key(leaf: Any) -> bool:
    """Whether a leaf is an array of typed PRNG keys."""
    dtype = getattr(leaf, "dtype", None)
    return dtype is not None and jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key)


def plain(leaves: Sequence[Any]) -> list[Any]:
    """The arrays that the emitted program takes for these leaves."""
    return [jax.random.key_data(leaf) if is_key(leaf) else leaf for leaf in leaves]


def typed(arrays: Any, types: Sequence[Any]) -> list[Any]:
    """What the function returns, from what the emitted program returned; `types` are of its leaves."""
    given: list[Any] = jax.tree.leaves(arrays)
    return [_typed(array, type) for array, type in zip(given, types, strict=True)]


def _typed(array: Any, type: Any) -> Any:
    if is_key(type):
        return jax.random.wrap_key_data(array, impl=type.dtype._impl.name)
    if type.dtype == jax.dtypes.float0:
        return np.zeros(type.shape, type.dtype)
    return array


def as_weak(array: Any, type: Any) -> Any:
    """A result as weakly typed as the function's own, so that promotion goes on in the same way."""
    if not getattr(type, "weak_type", False):
        return array
    lax = import_module("jax._src.lax.lax")
    return lax._convert_element_type(array, type.dtype, weak_type=True)
