"""The different numbers of an array.

numpy.unique alone imports numpy's masked arrays, which takes longer than a small program is compiled; with
counts it does not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def distinct(numbers: NDArray[np.integer[Any]]) -> list[int]:
    """Each number of an array of any shape once, ascending."""
    return np.unique(numbers, return_counts=True)[0].tolist()
