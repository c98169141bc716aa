"""Sums, maxima and minima of windows, each by combining windows of half the length.

window of 6:  pairs of neighbours, then fours; a four and the pair behind it
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shardc.semantics import ops
from shardc.semantics.arrays import Array, Body

FOLDS = ("sum", "max", "min")
"""What is done so: in any order, and with the degrees of a sum or of a choice."""


def folded(
    operand: Array,
    init: Array,
    body: Body,
    *,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    base_dilations: Sequence[int] | None = None,
    window_dilations: Sequence[int] | None = None,
    padding: Sequence[tuple[int, int]] | None = None,
) -> Array:
    """What reduce_window makes of one operand, by an associative and commutative body of two elements.

    No element is combined twice in a window.
    """
    ones = (1,) * operand.ndim
    strides, dilations, holes = (
        given or ones for given in (window_strides, window_dilations, base_dilations)
    )
    around = padding or ((0, 0),) * operand.ndim
    found = ops.pad(
        operand,
        init,
        edge_padding_low=[low for low, _ in around],
        edge_padding_high=[high for _, high in around],
        interior_padding=[hole - 1 for hole in holes],
    )
    for dim, (length, dilation) in enumerate(zip(window_dimensions, dilations, strict=True)):
        found = _along(found, dim, length, dilation, body)
        found = found[(slice(None),) * dim + (slice(None, None, strides[dim]),)]
    return np.asarray(body(np.broadcast_to(init, found.shape), found)[0])


def _along(array: Array, dim: int, length: int, dilation: int, body: Body) -> Array:
    """Every position of a window along one dimension."""
    count = max(0, array.shape[dim] - (length - 1) * dilation)
    power, span, done = array, 1, 0
    found: Array | None = None
    while True:
        if length & span:
            piece = _part(power, dim, done * dilation, count)
            found = piece if found is None else np.asarray(body(found, piece)[0])
            done += span
        if done == length:
            assert found is not None
            return found
        rest = max(0, power.shape[dim] - span * dilation)
        pair = (_part(power, dim, start, rest) for start in (0, span * dilation))
        power, span = np.asarray(body(*pair)[0]), 2 * span


def _part(array: Array, dim: int, start: int, size: int) -> Array:
    return array[(slice(None),) * dim + (slice(start, start + size),)]
