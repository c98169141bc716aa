"""What the array functions share: the array type, and arithmetic that floats of 16 and 8 bits do in f32."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shardc.layout.limits import iinfo

Array = NDArray[Any]
Body = Callable[..., list[Array]]
"""A region over scalars, applied to whole arrays element by element."""

quiet = np.errstate(all="ignore")
"""Decorates functions in which overflow, division by zero and NaN are defined results."""


def is_narrow(dtype: np.dtype[Any]) -> bool:
    """Whether it is a float of 16 or 8 bits; those of ml_dtypes are of kind V."""
    return dtype.kind in "fV" and dtype.itemsize < 4 and not has_four_bits(dtype)


def is_whole(dtype: np.dtype[Any]) -> bool:
    """Whether it is of integers or truth values; integers of 4 bits are of kind V."""
    return dtype.kind in "iub" or has_four_bits(dtype)


def integer_ends(dtype: np.dtype[Any]) -> tuple[int, int]:
    """The least and the largest integer of a dtype."""
    info = iinfo(dtype)
    return int(info.min), int(info.max)


def has_four_bits(dtype: np.dtype[Any]) -> bool:
    """Whether it is of integers of 4 bits, each of which has a byte of its own."""
    return dtype.isbuiltin != 1 and dtype.name in ("int4", "uint4")


def is_float(array: Array) -> bool:
    """Whether the elements are real floats, those of ml_dtypes included."""
    return array.dtype.kind == "f" or is_narrow(array.dtype)


def widen(array: Array) -> Array:
    """An array of narrow floats as f32, any other as it is."""
    return array.astype(np.float32) if is_narrow(array.dtype) else array


def widened(function: Callable[..., Array]) -> Callable[..., Array]:
    """Compute narrow floats in f32, and round the result once."""

    @wraps(function)
    def wrapper(*arrays: Array, **attrs: Any) -> Array:
        if not is_narrow(arrays[0].dtype):
            return function(*arrays, **attrs)
        return np.asarray(function(*map(widen, arrays), **attrs)).astype(arrays[0].dtype)

    return wrapper
