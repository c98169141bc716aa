"""What the array functions share: the array type, and arithmetic that 16-bit floats do in f32."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Body = Callable[..., list[Array]]
"""A region over scalars, applied to whole arrays element by element."""

NARROW = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))

quiet = np.errstate(all="ignore")
"""Decorates functions in which overflow, division by zero and NaN are defined results."""


def is_float(array: Array) -> bool:
    """Whether the elements are real floats, bfloat16 included."""
    return array.dtype.kind == "f" or array.dtype in NARROW


def widen(array: Array) -> Array:
    """A 16-bit float array as f32, any other as it is."""
    return array.astype(np.float32) if array.dtype in NARROW else array


def widened(function: Callable[..., Array]) -> Callable[..., Array]:
    """Compute 16-bit floats in f32, and round the result once."""

    @wraps(function)
    def wrapper(*arrays: Array, **attrs: Any) -> Array:
        if arrays[0].dtype not in NARROW:
            return function(*arrays, **attrs)
        return np.asarray(function(*map(widen, arrays), **attrs)).astype(arrays[0].dtype)

    return wrapper
