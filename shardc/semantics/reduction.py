"""reduce, by a named combination or by any function; the combinations are NumPy's ufuncs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

from shardc.graph.types import name_of
from shardc.semantics.arrays import Array, Body, quiet, widen

UFUNCS: dict[str, np.ufunc] = {
    "sum": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "prod": np.multiply,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "bitand": np.bitwise_and,
    "bitor": np.bitwise_or,
}


def dtype_name(dtype: np.dtype[Any]) -> str:
    """The short name of a NumPy type: float32 -> f32. KeyError if it has none."""
    name = name_of(dtype)
    if name is None:
        raise KeyError(dtype)
    return name


@quiet
def reduce(operand: Array, init: Array, *, dimensions: Iterable[int], kind: str) -> Array:
    """The elements along the dimensions combined by `kind`, and with `init`, whose dtype the result has.

    Narrow floats are summed in f32.
    """
    wide, axes = widen(operand.astype(np.result_type(operand, init), copy=False)), tuple(dimensions)
    function = UFUNCS[kind]
    if wide.dtype == np.bool_ and kind in ("sum", "prod"):
        function = UFUNCS["or" if kind == "sum" else "and"]
    initial = np.asarray(init).astype(wide.dtype)[()]
    total = function.reduce(wide, axis=axes, dtype=wide.dtype, initial=initial)
    return np.asarray(total, init.dtype)


@quiet
def reduce_with(
    operands: Sequence[Array], inits: Sequence[Array], body: Body, *, dimensions: Iterable[int]
) -> list[Array]:
    """The same by a function of (accumulated…, elements…), which must be associative.

    Neighbours are combined in pairs, then pairs of pairs, so elements keep their order.
    """
    axes = tuple(dimensions)
    kept = [dim for dim in range(operands[0].ndim) if dim not in axes]
    shape = [operands[0].shape[dim] for dim in kept]
    count = prod(operands[0].shape[dim] for dim in axes)
    lines = [np.transpose(array, (*axes, *kept)).reshape((count, *shape)) for array in operands]
    while count > 1:
        even = [line[0 : count - 1 : 2] for line in lines]
        odd = [line[1:count:2] for line in lines]
        paired = [np.asarray(array) for array in body(*even, *odd)]
        if count % 2:
            paired = [np.concatenate([a, line[-1:]]) for a, line in zip(paired, lines, strict=True)]
        lines, count = paired, (count + 1) // 2
    starts = [np.broadcast_to(init, tuple(shape)) for init in inits]
    if count == 0:
        return starts
    results = body(*starts, *(line[0] for line in lines))
    return [np.broadcast_to(result, tuple(shape)) for result in results]
