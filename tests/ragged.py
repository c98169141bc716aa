"""What JAX documents of `lax.ragged_all_to_all`, and tables for it."""

from __future__ import annotations

import numpy as np

Tables = list[np.ndarray]


def tables(share: int, seed: int, devices: int = 4) -> Tables:
    """Offsets and sizes for `share` pieces to every device, [device, piece], with gaps where they arrive."""
    sizes = np.random.default_rng(seed).integers(0, 3, (devices, devices, share))  # from, to, piece
    starts = np.cumsum(sizes.reshape(devices, -1), 1).reshape(sizes.shape) - sizes
    arriving = sizes.transpose(1, 0, 2) + 1
    places = (np.cumsum(arriving.reshape(devices, -1), 1).reshape(sizes.shape) - arriving + 1).transpose(
        1, 0, 2
    )
    wholes = (starts, sizes, places, sizes.transpose(1, 0, 2))
    return [np.ascontiguousarray(whole, np.int32).reshape(devices, -1) for whole in wholes]


def documented(x: np.ndarray, output: np.ndarray, given: Tables) -> np.ndarray:
    """What jax.lax.ragged_all_to_all says that it does."""
    result, (starts, sizes, places, _) = output.copy(), given
    devices, count = starts.shape
    for source in range(devices):
        for i in range(count):
            rows = x[source, starts[source, i] : starts[source, i] + sizes[source, i]]
            target = i // (count // devices)
            result[target, places[source, i] : places[source, i] + sizes[source, i]] = rows
    return result
