"""Rows of each device to every other, as many as tables say, by exchanges of equal parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from shardc.runtime.collectives import Array


def ragged_all_to_all(
    x: Array, output: Array, tables: Sequence[Array], exchange: Callable[[Array], Array]
) -> Array:
    """`output`, with the rows that came. `exchange` is an all_to_all along dimension 0.

    `tables` are input_offsets, send_sizes, output_offsets and recv_sizes, as lax.ragged_all_to_all has them.
    ValueError for rows beyond an end, and where a sender and a receiver disagree.
    """
    starts, counts, places, expected = (np.asarray(table, np.int64) for table in tables)
    _check_inside("sends", starts, counts, len(x))
    parts = np.zeros((len(starts), *x.shape), x.dtype)
    for part, start, count in zip(parts, starts, counts, strict=True):
        part[:count] = x[start : start + count]
    came, counts, places = exchange(parts), exchange(counts), exchange(places)
    if not np.array_equal(counts, expected):
        raise ValueError(f"ragged_all_to_all: {counts} rows come, and recv_sizes says {expected}")
    _check_inside("receives", places, counts, len(output))
    result = np.array(output)
    for part, place, count in zip(came, places, counts, strict=True):
        result[place : place + count] = part[:count]
    return result


def _check_inside(what: str, starts: Array, counts: Array, size: int) -> None:
    if ((starts < 0) | (counts < 0) | (starts + counts > size)).any():
        raise ValueError(f"ragged_all_to_all {what} {counts} rows from {starts} on, of {size}")
