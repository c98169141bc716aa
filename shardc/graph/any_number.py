"""Floats about which nothing is special: to planning and to most passes they are any numbers."""

from __future__ import annotations

from math import isfinite

import numpy as np
from numpy.typing import NDArray

from shardc.graph.types import name_of

_WIDE = ("bf16", "f16", "f32", "f64")  # narrower ones may have no infinities


def is_any(number: NDArray[np.generic]) -> bool:
    """Whether a scalar is one: none of 0, 1, -1, the infinities, NaN."""
    if name_of(number.dtype) not in _WIDE:
        return False
    value = float(number)
    return isfinite(value) and value not in (0, 1, -1)
