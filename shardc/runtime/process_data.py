"""Global arrays from the data that each process has, as `jax.make_array_from_process_local_data` makes them.

All processes are emulated in this one, so the data of all of them is given at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from shardc.layout import LayoutError, Mesh, Sharding
from shardc.layout.slices import replicas, slices
from shardc.runtime.blocks import ReplicationError
from shardc.runtime.collectives import Array
from shardc.runtime.mesh import NamedSharding
from shardc.runtime.process_shapes import check_even, global_shape_of, legal_shapes, uniformity
from shardc.semantics.blocks import same


class Shard(Struct, frozen=True):
    """What one device holds: its place in the global array, (start, stop) per dimension, and the data."""

    device: int
    index: tuple[tuple[int, int], ...]
    data: Array


class DistributedArray(Struct, frozen=True):
    """A global array of which each device holds a block; `shards` is in order of device numbers."""

    sharding: Sharding
    shape: tuple[int, ...]
    shards: tuple[Shard, ...]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.shards[0].data.dtype

    def addressable_shards(self, process: int) -> tuple[Shard, ...]:
        """The shards on the devices of one process."""
        return tuple(s for s in self.shards if self.sharding.mesh.process_of(s.device) == process)

    def addressable_data(self, index: int, process: int = 0) -> Array:
        """The block on the index-th device of a process."""
        return self.addressable_shards(process)[index].data

    def check_replicas(self) -> None:
        """ReplicationError if two devices that hold the same block hold different values."""
        first: dict[int, Shard] = {}
        for number, shard in zip(replicas(self.sharding).tolist(), self.shards, strict=True):
            other = first.setdefault(number, shard)
            if not same(other.data, shard.data):
                process = self.sharding.mesh.process_of
                raise ReplicationError(
                    f"device {other.device} of process {process(other.device)} and device {shard.device} of "
                    f"process {process(shard.device)} hold the same block, {list(shard.index)}, but got "
                    "different data"
                )

    def __array__(self, dtype: np.dtype[Any] | None = None, copy: bool | None = None) -> Array:
        """The whole array; of replicas, the one on the last device."""
        whole = np.empty(self.shape, dtype or self.dtype)
        for shard in self.shards:
            whole[tuple(slice(*bounds) for bounds in shard.index)] = shard.data
        return whole


def make_array_from_callback(
    shape: Sequence[int],
    sharding: Sharding | NamedSharding,
    data_of: Callable[[tuple[slice, ...]], ArrayLike],
) -> DistributedArray:
    """The global array of which `data_of(index)` gives every device its block.

    LayoutError if a block has another shape than its index, or if the sharding doesn't divide the shape.
    """
    sharding = _of_rank(sharding, len(shape))
    check_even(sharding, shape)
    shards: list[Shard] = []
    for device, row in enumerate(slices(sharding, shape).tolist()):
        index = tuple((start, stop) for start, stop in row)
        data = np.asarray(data_of(tuple(slice(*bounds) for bounds in index)))
        wanted = tuple(stop - start for start, stop in index)
        if data.shape != wanted:
            raise LayoutError(f"device {device} is to have a block of shape {wanted}, not {data.shape}")
        shards.append(Shard(device, index, data))
    return DistributedArray(sharding, tuple(shape), tuple(shards))


def make_array_from_process_local_data(
    sharding: Sharding | NamedSharding,
    local_data: ArrayLike | Sequence[ArrayLike],
    global_shape: Sequence[int | None] | None = None,
    check_replicas: bool = True,
) -> DistributedArray:
    """The global array that the processes' data make up.

    `local_data` is a list with one array per process, or one NumPy array that every process has. Along each
    dimension a process gives either the whole global array, or only what its devices address: its blocks in
    order, without the gaps, so that slices (8, 12) and (24, 28) are found at (0, 4) and (4, 8). Without
    `global_shape` each process is taken to give only its own, which needs a uniform sharding.

    LayoutError says which dimension doesn't fit, and what would. ReplicationError if two processes give
    different data for one block; JAX does not look, nor does this with `check_replicas=False`.
    """
    sharding = _of_rank(sharding, _rank_of(local_data))
    data = _per_process(sharding.mesh, local_data)
    shape = _global_shape(sharding, data[0].shape, global_shape)
    bounds = slices(sharding, shape)
    local = np.stack([_local_bounds(sharding, shape, process, x, bounds) for process, x in enumerate(data)])
    shards = tuple(
        Shard(
            device,
            tuple((int(start), int(stop)) for start, stop in bounds[device]),
            _taken(data[sharding.mesh.process_of(device)], local.reshape(bounds.shape)[device]),
        )
        for device in range(sharding.mesh.size)
    )
    array = DistributedArray(sharding, shape, shards)
    if check_replicas:
        array.check_replicas()
    return array


def _of_rank(sharding: Sharding | NamedSharding, rank: int) -> Sharding:
    return sharding.of_rank(rank) if isinstance(sharding, NamedSharding) else sharding


def _rank_of(local_data: ArrayLike | Sequence[ArrayLike]) -> int:
    if isinstance(local_data, np.ndarray):
        return local_data.ndim
    return np.asarray(cast("Sequence[ArrayLike]", local_data)[0]).ndim


def _per_process(mesh: Mesh, local_data: ArrayLike | Sequence[ArrayLike]) -> list[Array]:
    if isinstance(local_data, np.ndarray):
        return [cast(Array, local_data)] * mesh.processes
    data = [np.asarray(x) for x in cast(Sequence[ArrayLike], local_data)]
    if len(data) != mesh.processes:
        raise LayoutError(f"there are {mesh.processes} processes, but data of {len(data)}")
    for process, x in enumerate(data):
        if x.dtype != data[0].dtype or x.ndim != data[0].ndim:
            raise LayoutError(
                f"process {process} gives {x.dtype} of {x.ndim} dimensions, process 0 {data[0].dtype} of "
                f"{data[0].ndim}"
            )
    return data


def _global_shape(
    sharding: Sharding, local_shape: tuple[int, ...], global_shape: Sequence[int | None] | None
) -> tuple[int, ...]:
    if global_shape is None:
        shape = global_shape_of(sharding, local_shape)
        check_even(sharding, shape)
        return shape
    for dim, size in enumerate(global_shape):
        if size is None:
            raise LayoutError(
                f"dimension {dim} of global shape {tuple(global_shape)} is None: give all sizes, or none"
            )
        if not isinstance(size, int | np.integer):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise LayoutError(f"dimension {dim} of global shape {tuple(global_shape)} is no whole number")
    shape = tuple(cast(Sequence[int], global_shape))
    check_even(sharding, shape)
    return shape


def _local_bounds(
    sharding: Sharding, shape: tuple[int, ...], process: int, x: Array, bounds: NDArray[np.int64]
) -> NDArray[np.int64]:
    """int64[devices of the process, rank, 2]: where in its local data each device finds its block."""
    count = sharding.mesh.size // sharding.mesh.processes
    local = bounds[process * count : (process + 1) * count].copy()
    for dim, verdict in enumerate(uniformity(sharding)):
        if not verdict.fits(x.shape[dim], shape[dim], process):
            raise LayoutError(
                f"dimension {dim} of the data of process {process} has {x.shape[dim]} elements; for global "
                f"shape {shape} it must have {shape[dim]}, all of them, or "
                f"{verdict.addressed(shape[dim], process)}, those its devices hold. As global sizes, "
                + legal_shapes(sharding, x.shape)
            )
        if x.shape[dim] != shape[dim]:
            block = shape[dim] // verdict.parts
            _, rank = np.unique(local[:, dim, 0], return_inverse=True)
            local[:, dim, 0] = rank * block
            local[:, dim, 1] = (rank + 1) * block
    return local


def _taken(x: Array, bounds: NDArray[np.int64]) -> Array:
    return x[tuple(slice(int(start), int(stop)) for start, stop in bounds)]
