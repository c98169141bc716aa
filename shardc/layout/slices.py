"""Which slice of a tensor each device holds, for all devices at once.

Row d of every answer is device d: `mesh.devices` says where in the mesh it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from shardc.layout.axes import Axis
from shardc.layout.mesh import LayoutError, Mesh
from shardc.layout.sharding import Sharding


def slices(sharding: Sharding, shape: Sequence[int]) -> NDArray[np.int64]:
    """int64[devices, rank, 2]: the first element and the one after the last, per device and dimension.

    Blocks have the ceiling size; where the axes don't divide a dimension the last ones are short or empty
    (start = stop = size). LayoutError if `shape` has not the sharding's rank.
    """
    if len(shape) != sharding.rank:
        raise LayoutError(
            f"{sharding} is a sharding of {sharding.rank} dimensions, {list(shape)} has {len(shape)}"
        )
    bounds = np.empty((sharding.mesh.size, sharding.rank, 2), np.int64)
    for i, (block, size) in enumerate(zip(sharding.local_shape(shape), shape, strict=True)):
        number = blocks(sharding.mesh, sharding.dims[i].axes)
        bounds[:, i, 0] = np.minimum(number * block, size)
        bounds[:, i, 1] = np.minimum(bounds[:, i, 0] + block, size)
    return bounds


def blocks(mesh: Mesh, axes: Iterable[Axis]) -> NDArray[np.int64]:
    """int64[devices]: the device's position over the axes, row-major: the number of its block."""
    number = np.zeros(mesh.size, np.int64)
    for axis in axes:
        number = number * axis.size + mesh.coordinates(axis)
    return by_device(mesh, number)


def replicas(sharding: Sharding) -> NDArray[np.int64]:
    """int64[devices]: devices with equal numbers hold copies of one another.

    The number counts blocks in row-major order over the dimensions, then over the unreduced axes, since
    partial results differ from device to device.
    """
    axes = [axis for dim in sharding.dims for axis in dim.axes]
    return blocks(sharding.mesh, [*axes, *sharding.unreduced])


def by_device(mesh: Mesh, values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Values per mesh position (row-major) as values per device number."""
    if mesh.device_ids is None or mesh.is_maximal:
        return values
    ordered = np.empty_like(values)
    ordered[np.array(mesh.device_ids)] = values
    return ordered
