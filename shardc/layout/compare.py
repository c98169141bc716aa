"""Comparing layouts by what they put on each device, however their axes are spelled.

Two shardings may name different axes, even different meshes, and still say the same. Without a shape the
answers hold for all shapes that both divide; with one, for exactly that shape under a policy for uneven
dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm

import numpy as np
from numpy.typing import NDArray

from shardc.layout.mesh import Mesh
from shardc.layout.sharding import Sharding
from shardc.layout.slices import blocks, partials, slices
from shardc.layout.uneven import Policy


def same_layout(
    a: Sharding, b: Sharding, shape: Sequence[int] | None = None, policy: Policy = "ceil"
) -> bool:
    """Whether every device holds the same under both: the same slice, copies and partial results.

    Which device holds which partial result doesn't matter, only whose results are copies of one another.
    """
    return _on_same_devices(a, b) and (
        np.array_equal(*_bounds(a, b, shape, policy)) and _partials_agree(a, b)
    )


def finer(a: Sharding, b: Sharding, shape: Sequence[int] | None = None, policy: Policy = "ceil") -> bool:
    """Whether each device's part under `a` lies within its part under `b`: b becomes a without communication.

    Every layout is finer than itself and, without partial results, than the replicated one.
    """
    if not _on_same_devices(a, b):
        return False
    inner, outer = _bounds(a, b, shape, policy)
    empty = inner[..., 0] >= inner[..., 1]
    inside = (inner[..., 0] >= outer[..., 0]) & (inner[..., 1] <= outer[..., 1])
    return bool((inside.all(axis=1) | empty.any(axis=1)).all()) and _partials_agree(a, b)


def _on_same_devices(a: Sharding, b: Sharding) -> bool:
    return a.rank == b.rank and _device_names(a.mesh) == _device_names(b.mesh)


def _device_names(mesh: Mesh) -> tuple[int, ...]:
    """The numbers of the devices, ascending."""
    if mesh.ranks is not None:
        return mesh.ranks
    return mesh.device_ids or (0,) if mesh.is_maximal else tuple(range(mesh.size))


def _bounds(
    a: Sharding, b: Sharding, shape: Sequence[int] | None, policy: Policy
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if shape is None:
        shape = [lcm(x.parts, y.parts) for x, y in zip(a.dims, b.dims, strict=True)]
    return slices(a, shape, policy), slices(b, shape, policy)


def _partials_agree(a: Sharding, b: Sharding) -> bool:
    """Whether the partial results under `b`, cut to the blocks of `a`, are those of `a`."""
    block = blocks(a.mesh, [axis for dim in a.dims for axis in dim.axes])
    mine, theirs = partials(a), partials(b)
    count = int(mine.max(initial=0)) + 1
    if count != int(theirs.max(initial=0)) + 1 or (count > 1 and a.kind != b.kind):
        return False
    return np.array_equal(_first(block * count + mine), _first(block * count + theirs))


def _first(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each device the first one that has the same label: equal for equal partitions."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return first[inverse]
