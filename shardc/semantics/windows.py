"""Sliding windows: views, reduce_window, select_and_scatter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import as_strided

from shardc.graph.types import identity
from shardc.semantics.arrays import Array, Body, quiet, widen
from shardc.semantics.movement import pad
from shardc.semantics.reduction import UFUNCS, dtype_name, reduce, reduce_with

Pairs = Sequence[tuple[int, int]]


def windows(array: Array, window: Sequence[int], strides: Sequence[int], dilations: Sequence[int]) -> Array:
    """A read-only view [*positions, *window] of every position of a window over the array."""
    counts: list[int] = []
    for size, length, stride, dilation in zip(array.shape, window, strides, dilations, strict=True):
        room = size - (length - 1) * dilation - 1
        counts.append(0 if room < 0 else room // stride + 1)
    steps = [step * stride for step, stride in zip(array.strides, strides, strict=True)]
    inner = [step * dilation for step, dilation in zip(array.strides, dilations, strict=True)]
    return as_strided(array, (*counts, *window), (*steps, *inner), writeable=False)


@quiet
def reduce_window(
    operand: Array,
    init: Array,
    *,
    kind: str,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    base_dilations: Sequence[int] | None = None,
    window_dilations: Sequence[int] | None = None,
    padding: Pairs | None = None,
) -> Array:
    """Each window reduced by `kind` (sum, max, min, prod, …).

    Padding and the holes of base dilations hold `init`, as the specification has it; XLA skips them, which
    differs only where `init` is not the identity of `kind`.
    """
    rank = operand.ndim
    ones = (1,) * rank
    strides, around = window_strides or ones, padding or ((0, 0),) * rank
    plain = all(n == 1 for n in (*strides, *(base_dilations or ()), *(window_dilations or ())))
    running = _running_dimension(operand.shape, window_dimensions, around) if plain else None
    if running is not None and kind in ("sum", "max", "min", "prod"):
        dim, backwards = running
        if init == identity(kind, dtype_name(operand.dtype)):
            return _accumulate(operand, kind, dim, backwards)
    view = _padded_windows(
        operand, init, window_dimensions, strides, base_dilations, window_dilations, around
    )
    return reduce(view, init, dimensions=range(rank, 2 * rank), kind=kind)


def _running_dimension(
    shape: Sequence[int], window: Sequence[int], padding: Pairs
) -> tuple[int, bool] | None:
    """The one dimension over which a window as long as it runs, and whether from its end; None otherwise."""
    wide = [dim for dim, length in enumerate(window) if length != 1]
    if len(wide) != 1 or any(tuple(padding[d]) != (0, 0) for d in range(len(shape)) if d != wide[0]):
        return None
    (dim,) = wide
    before, after = padding[dim]
    if window[dim] != shape[dim] or (before, after) not in ((shape[dim] - 1, 0), (0, shape[dim] - 1)):
        return None
    return dim, before == 0


def _accumulate(operand: Array, kind: str, dim: int, backwards: bool) -> Array:
    wide = widen(operand)
    wide = np.flip(wide, dim) if backwards else wide
    totals = UFUNCS[kind].accumulate(wide, axis=dim, dtype=wide.dtype)
    return (np.flip(totals, dim) if backwards else totals).astype(operand.dtype, copy=False)


def _padded_windows(
    operand: Array,
    init: Array,
    window: Sequence[int],
    strides: Sequence[int],
    base_dilations: Sequence[int] | None,
    window_dilations: Sequence[int] | None,
    padding: Pairs,
) -> Array:
    ones = (1,) * operand.ndim
    padded = pad(
        operand,
        init,
        edge_padding_low=[low for low, _ in padding],
        edge_padding_high=[high for _, high in padding],
        interior_padding=[factor - 1 for factor in base_dilations or ones],
    )
    return windows(padded, window, strides, window_dilations or ones)


@quiet
def reduce_window_with(
    operands: Sequence[Array],
    inits: Sequence[Array],
    body: Body,
    *,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    base_dilations: Sequence[int] | None = None,
    window_dilations: Sequence[int] | None = None,
    padding: Pairs | None = None,
) -> list[Array]:
    """Each window reduced by a function of (accumulated…, elements…); padding holds the initial values."""
    rank = operands[0].ndim
    strides, around = window_strides or (1,) * rank, padding or ((0, 0),) * rank
    views = [
        _padded_windows(operand, init, window_dimensions, strides, base_dilations, window_dilations, around)
        for operand, init in zip(operands, inits, strict=True)
    ]
    return reduce_with(views, inits, body, dimensions=range(rank, 2 * rank))


@quiet
def select_and_scatter(
    operand: Array,
    source: Array,
    init: Array,
    select: Body,
    scatter: Body,
    *,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: Pairs | None = None,
) -> Array:
    """In each window the element that `select` prefers gets the window's source, added with `scatter`."""
    rank = operand.ndim
    strides, around = window_strides or (1,) * rank, padding or ((0, 0),) * rank
    places = np.arange(operand.size).reshape(operand.shape)
    outside = np.asarray(-1)
    geometry = (window_dimensions, strides, None, None, around)
    values = _padded_windows(operand, operand.dtype.type(0), *geometry).reshape((*source.shape, -1))
    places = _padded_windows(places, outside, *geometry).reshape((*source.shape, -1))
    chosen, place = values[..., 0], places[..., 0]
    for i in range(1, values.shape[-1]):
        keep = np.asarray(select(chosen, values[..., i])[0], bool)
        keep = ((place >= 0) & keep) | (places[..., i] < 0)
        chosen, place = np.where(keep, chosen, values[..., i]), np.where(keep, place, places[..., i])
    result = np.full(operand.size, init, operand.dtype)
    targets, updates = place.reshape(-1), source.reshape(-1)
    for target, update in zip(targets[targets >= 0], updates[targets >= 0], strict=True):
        result[target] = scatter(result[target], update)[0]
    return result.reshape(operand.shape)
