"""Which slice of a tensor each device holds, for all devices at once.

Row d of every answer is device d: `mesh.devices` says where in the mesh it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from shardc.layout.axes import Axis, merge
from shardc.layout.distinct import distinct
from shardc.layout.mesh import LayoutError, Mesh
from shardc.layout.sharding import Sharding
from shardc.layout.uneven import Policy, bounds


def slices(sharding: Sharding, shape: Sequence[int], policy: Policy = "ceil") -> NDArray[np.int64]:
    """int64[devices, rank, 2]: the first element and the one after the last, per device and dimension.

    `policy` says what happens where the axes don't divide a dimension; by default blocks have the ceiling
    size and the last ones are short or empty (start = stop = size). LayoutError if `shape` has not the
    sharding's rank or a negative size, or if the policy refuses.
    """
    check_shape(sharding, shape)
    table = np.empty((sharding.mesh.size, sharding.rank, 2), np.int64)
    for i, (dim, size) in enumerate(zip(sharding.dims, shape, strict=True)):
        axes = merge(dim.axes)
        digits = [positions(sharding.mesh, axis) for axis in axes]
        try:
            table[:, i, 0], table[:, i, 1] = bounds(policy, size, digits, [axis.size for axis in axes])
        except LayoutError as error:
            raise LayoutError(f"dimension {i} of {tuple(shape)}: {error}") from error
    return table


def local_shapes(sharding: Sharding, shape: Sequence[int], policy: Policy = "ceil") -> NDArray[np.int64]:
    """int64[devices, rank]: the shape of what each device holds, without padding. Errors as of `slices`."""
    table = slices(sharding, shape, policy)
    return table[..., 1] - table[..., 0]


def check_shape(sharding: Sharding, shape: Sequence[int]) -> None:
    """LayoutError unless `shape` has the sharding's rank and no negative size."""
    if len(shape) != sharding.rank:
        raise LayoutError(
            f"{sharding} is a sharding of {sharding.rank} dimensions, {list(shape)} has {len(shape)}"
        )
    for i, size in enumerate(shape):
        if size < 0:
            raise LayoutError(f"dimension {i} of {tuple(shape)} has a negative size")


def positions(mesh: Mesh, axis: Axis) -> NDArray[np.int64]:
    """int64[devices]: the device's position along an axis or a part of one."""
    return by_device(mesh, mesh.coordinates(axis))


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


def partials(sharding: Sharding) -> NDArray[np.int64]:
    """int64[devices]: which of the partial results that make up its block a device holds."""
    return blocks(sharding.mesh, sharding.unreduced)


def replica_groups(sharding: Sharding) -> NDArray[np.int64]:
    """int64[groups, members]: the devices that hold copies of one another, ascending, by first device."""
    return _groups(replicas(sharding))


def partial_groups(sharding: Sharding) -> NDArray[np.int64]:
    """int64[groups, members]: the devices whose values belong to one block, ascending, by first device.

    Without unreduced axes these are the replica groups; with them the combination over a group, of one
    device per partial result, is the block.
    """
    return _groups(blocks(sharding.mesh, [axis for dim in sharding.dims for axis in dim.axes]))


def _groups(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """The devices with equal labels; all labels occur equally often."""
    count = len(distinct(labels))
    groups = np.argsort(labels, kind="stable").reshape(count, -1)
    return groups[np.argsort(groups[:, 0])]
