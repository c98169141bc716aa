"""Sums and products of arrays in a dtype that the text names, as NumPy makes them.

    np.sum(x, axis=1, dtype=np.float32).astype(ml_dtypes.float8_e4m3fn)     x: f8e4m3fn[8, 12]
 -> stablehlo.reduce(%x init: 0) : tensor<8x12xf8E4M3FN> -> tensor<8xf8E4M3FN>

A sum of floats of 8 bits is made in wider ones and rounded once, and this is how it is written. A sum of
numbers that were cast before, `np.sum(x.astype(np.float32), axis=1)`, is one of the wider ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from shardc.graph import FP8
from shardc.proof.reading.recorded import Recorded, short

Make = Callable[[Recorded], Recorded]
"""What sums an array in its own dtype."""


class Named(Protocol):
    """A dtype of the text."""

    name: str


class Wide(Recorded):
    """A sum in a wider dtype: cast to the dtype of what is summed it is the sum in that."""

    def __init__(self, wide: Recorded, array: Recorded, make: Make) -> None:
        Recorded.__init__(self, wide.recorder, wide.value)
        self._array, self._make = array, make

    def astype(self, dtype: Any) -> Recorded:
        own = dtype.name == self._array.type.dtype
        return self._make(self._array) if own else Recorded.astype(self, dtype)


def summed(array: Recorded, dtype: Named | None, make: Make) -> Recorded:
    """What `make` sums, in the dtype; NumPy sums integers in wide ones unless it is told one."""
    wide = short(np.sum(np.empty(0, array.type.numpy)).dtype)
    found = make(array.recorder.converted(array, wide if dtype is None else dtype.name))
    narrow = array.type.dtype in FP8 and found.type.dtype not in FP8
    return Wide(found, array, make) if narrow else found
