"""How far apart the results of two programs in one dtype are, and how far they may be."""

from __future__ import annotations

import numpy as np

from shardc.graph import FP8
from shardc.interpret.tolerance import UNIT
from shardc.semantics.arrays import Array, is_whole

TOLERANCE = {"f64": 1e-10, "f32": 1e-4, "bf16": 4e-2, "f16": 1e-2, "c64": 1e-4, "c128": 1e-10} | {
    dtype: 8 * UNIT[dtype] for dtype in FP8
}
"""Between values of two programs in one dtype: the difference allowed, as a part of the largest element."""


def distance(want: Array, have: Array) -> float:
    """The largest difference as a part of the largest element; NaN equals NaN, infinity itself."""
    if want.shape != have.shape or want.dtype != have.dtype:
        return float("inf")
    if want.size == 0:
        return 0.0
    kind = np.complex128 if want.dtype.kind == "c" else np.float64
    if is_whole(want.dtype):
        return 0.0 if bool((want == have).all()) else float("inf")
    a, b = want.astype(kind), have.astype(kind)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    finite = np.isfinite(a) & np.isfinite(b)
    if not bool((same | finite).all()):
        return float("inf")
    scale = float(np.abs(a[finite]).max(initial=0.0))
    return float(np.abs(a[finite] - b[finite]).max(initial=0.0)) / (scale or 1.0)
