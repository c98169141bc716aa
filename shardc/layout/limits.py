"""What the numbers of a dtype are: their ends, their digits. NumPy's own, or those of ml_dtypes.

ml_dtypes tells NumPy how each of its dtypes becomes each other one, which takes as long as
a small compilation. So it is imported where a program has one of its dtypes, and nowhere before.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np


def finfo(dtype: np.dtype[Any]) -> Any:
    """The limits of a float dtype: eps, tiny, min, max, nmant."""
    if dtype.isbuiltin == 1:
        return np.finfo(dtype)
    import ml_dtypes

    return cast(Any, ml_dtypes).finfo(dtype)


def iinfo(dtype: np.dtype[Any]) -> Any:
    """The limits of an integer dtype: min, max, bits."""
    if dtype.isbuiltin == 1:
        return np.iinfo(dtype)
    import ml_dtypes

    return ml_dtypes.iinfo(dtype)


def dtype_of_name(name: str) -> np.dtype[Any]:
    """The dtype that NumPy or ml_dtypes calls so."""
    if hasattr(np, name):
        return np.dtype(getattr(np, name))
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name))
