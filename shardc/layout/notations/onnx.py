"""ONNX's ShardingSpecProto.

    {device = [0, 1, 2, 3] sharded_dim = [{axis = 0 simple_sharding = [{num_shards = 4}]}]}
    {device = [-1, -2] index_to_device_group_map = {-1: [0, 1], -2: [2, 3]} sharded_dim = [{axis = 0 …}]}

A specification lists devices, so it can say what no mesh can. Reading gives a sharding where there is one,
and the reason where there is none; `onnx_placement.placement` has who holds what in any case.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from shardc.layout.mesh import LayoutError, Mesh
from shardc.layout.notations import limits
from shardc.layout.notations.onnx_spec import ShardedDim, ShardingSpec, SimpleShard, spec_of_holders
from shardc.layout.notations.onnx_text import read_spec, write_spec
from shardc.layout.recognise import Table, in_mesh, on_own_mesh
from shardc.layout.sharding import Sharding, replicated
from shardc.layout.slices import blocks


def read(text: str, mesh: Mesh | None = None, rank: int | None = None) -> Sharding:
    """The sharding of a specification, on `mesh` or, without one, on a mesh made for it.

    Without `rank`, the tensor has as many axes as are listed. LayoutError with the reason if it is no
    sharding of a mesh, or of this one.
    """
    return sharding_of(read_spec(text), mesh, rank)


def write(sharding: Sharding, shape: Sequence[int] | None = None) -> str:
    """The specification, as `spec_of` has it."""
    return write_spec(spec_of(sharding, shape))


def sharding_of(spec: ShardingSpec, mesh: Mesh | None = None, rank: int | None = None) -> Sharding:
    """The sharding that says the same as `spec`. Errors as of `read`."""
    if rank is None:
        rank = max((dim.axis + 1 for dim in spec.sharded_dim), default=0)
        if any(dim.axis < 0 for dim in spec.sharded_dim):
            raise LayoutError("an axis is counted from the end: give the rank of the tensor")
    spec.check(rank)
    if not spec.device:
        raise LayoutError("the specification lists no devices")
    for dim in spec.sharded_dim:
        _check_contiguous(dim)
    devices = spec.devices()
    if mesh is None:
        if len(devices) == 1:
            return replicated(Mesh("mesh", (), devices), rank)
        return on_own_mesh(_table(spec, rank), ranks=devices)
    named = mesh.ranks or tuple(range(mesh.size))
    if named != devices:
        raise LayoutError(f"the specification is for devices {list(devices)}, mesh {mesh} has {list(named)}")
    return in_mesh(_table(spec, rank), mesh)


def spec_of(sharding: Sharding, shape: Sequence[int] | None = None, tensor_name: str = "") -> ShardingSpec:
    """The specification of a sharding: axes in order, a device or a group of devices for every shard.

    LayoutError for partial results, of which ONNX knows nothing, and for a `shape` that doesn't divide, for
    which ONNX leaves the blocks to the implementation.
    """
    limits.only_layouts(sharding, "ONNX")
    limits.no_partials(sharding, "an ONNX specification")
    limits.split_alike(sharding, shape, "ONNX", "refuse")
    mesh = sharding.mesh
    dims = tuple(
        ShardedDim(i, (SimpleShard(dim.parts),)) for i, dim in enumerate(sharding.dims) if dim.parts > 1
    )
    number = blocks(mesh, [axis for dim in sharding.dims for axis in dim.axes])
    world = mesh.device_ids or () if mesh.is_maximal else [mesh.rank_of(d) for d in range(mesh.size)]
    members = mesh.size // prod(dim.parts for dim in sharding.dims)
    order = np.argsort(number, kind="stable").reshape(-1, members)
    groups = [tuple(world[device] for device in group) for group in order.tolist()]
    return spec_of_holders(dims, groups, tensor_name)


def _check_contiguous(dim: ShardedDim) -> None:
    """LayoutError unless each shard of an axis is one stretch of it."""
    ended = False
    for factor in dim.simple_sharding:
        if ended and factor.num_shards > 1:
            raise LayoutError(
                f"each shard of axis {dim.axis} has separate stretches of it; no sharding says that"
            )
        ended = ended or factor.num_shards != factor.dim


def _table(spec: ShardingSpec, rank: int) -> Table:
    """Who holds which block, devices in ascending order. LayoutError if one holds several shards."""
    row = {device: i for i, device in enumerate(spec.devices())}
    held: dict[int, int] = {}
    for shard, devices in enumerate(spec.holders()):
        for device in devices:
            if device in held:
                raise LayoutError(
                    f"device {device} holds shards {held[device]} and {shard}; no sharding says that"
                )
            held[device] = shard
    shards = np.zeros(len(row), np.int64)
    for device, shard in held.items():
        shards[row[device]] = shard
    counts = [dim.num_shards for dim in spec.sharded_dim]
    places = np.unravel_index(shards, counts) if counts else ()
    numbers = [np.zeros(len(row), np.int64) for _ in range(rank)]
    parts = [1] * rank
    for place, count, axis in zip(places, counts, spec.axes(rank), strict=True):
        numbers[axis], parts[axis] = place.astype(np.int64), count
    return Table(tuple(numbers), tuple(parts), np.zeros(len(row), np.int64))
