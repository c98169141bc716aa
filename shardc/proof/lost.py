"""The order of a draw in which the per-device program alone could not decide.

A wrong program may have 0 / 0 where the global one has numbers: exp(-1e9) over its own sum, where a mask is
what the greatest should have been. Such a value has no place among others, so every draw of it is stuck.
Here it is NaN, as it is in f64, and numbers that f64 does not tell apart are equal: exp(-1e9) is 0.

What is decided so is what f64 decides, not what exact arithmetic does. So a draw with this order may show
that results differ as real numbers; it proves nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shardc.proof.order import Order
from shardc.proof.values import Floats, either, error, whole
from shardc.semantics.arrays import Array


class LostLast(Order):
    """The order of shadows where those are infinite, NaN or one number; else the real one."""

    def places(self, array: Array, beside: Array | None = None) -> tuple[Floats, Floats]:
        other = whole(np.zeros(())) if beside is None else beside
        sure = ~np.isfinite(array["shadow"] + other["shadow"])
        sure |= (array["shadow"] == other["shadow"]) & (array["other"] == other["other"])
        return np.clip(array["shadow"], -_FAR, _FAR), np.where(sure, -1.0, error(array))

    def unordered(self, array: Array) -> NDArray[np.bool_]:
        return np.isnan(array["shadow"])

    def chosen(self, left: Array, right: Array, wanted: int, how: NDArray[np.int8] | None = None) -> Array:
        real = Order.chosen(self, left, right, wanted, how)
        return either(self.unordered(left), left, either(self.unordered(right), right, real))


_FAR = np.finfo(np.float64).max
