"""ONNX's ShardingSpecProto as plain data, and what is wrong with one."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from msgspec import Struct

from shardc.layout.mesh import LayoutError

MOST_SHARDS = 1 << 20
"""A specification of more shards than this is taken for a slip."""


class SimpleShard(Struct, frozen=True):
    """A factor of an axis, split into `num_shards`; its size is a number, a symbol, or not given."""

    num_shards: int
    dim: int | str | None = None


class ShardedDim(Struct, frozen=True):
    """An axis and how it is split; several factors are the block shape of what was fused into the axis."""

    axis: int
    simple_sharding: tuple[SimpleShard, ...]

    @property
    def num_shards(self) -> int:
        """Into how many shards the axis is split."""
        return prod(factor.num_shards for factor in self.simple_sharding)


class ShardingSpec(Struct, frozen=True):
    """A tensor's shards and their devices.

    Shards are numbered over `sharded_dim` in the order listed, the last fastest; shard k is on device[k], or,
    if that is a key of `groups`, on every member of that group. Axes not listed are whole.
    """

    device: tuple[int, ...] = ()
    sharded_dim: tuple[ShardedDim, ...] = ()
    groups: tuple[tuple[int, tuple[int, ...]], ...] = ()
    tensor_name: str = ""

    @property
    def num_shards(self) -> int:
        """The number of shards of the tensor."""
        return prod(dim.num_shards for dim in self.sharded_dim)

    def holders(self) -> tuple[tuple[int, ...], ...]:
        """The devices of each shard."""
        groups = dict(self.groups)
        return tuple(groups.get(entry, (entry,)) for entry in self.device)

    def devices(self) -> tuple[int, ...]:
        """All devices, ascending."""
        return tuple(sorted({device for group in self.holders() for device in group}))

    def axes(self, rank: int) -> tuple[int, ...]:
        """The sharded axes counted from 0. LayoutError if one is outside the tensor."""
        for dim in self.sharded_dim:
            if not -rank <= dim.axis < rank:
                raise LayoutError(f"axis {dim.axis} is outside a tensor of {rank} dimensions")
        return tuple(dim.axis % rank for dim in self.sharded_dim)

    def check(self, rank: int, num_devices: int | None = None) -> ShardingSpec:
        """Itself, if it can be a sharding of a tensor of `rank` on `num_devices`. Else LayoutError."""
        axes = self.axes(rank)
        for axis in axes:
            if axes.count(axis) > 1:
                raise LayoutError(f"axis {axis} is sharded more than once")
        for dim in self.sharded_dim:
            if not dim.simple_sharding or any(f.num_shards < 1 for f in dim.simple_sharding):
                raise LayoutError(f"axis {dim.axis} needs at least one shard")
        if self.num_shards > MOST_SHARDS:
            raise LayoutError(f"{self.num_shards} shards; at most {MOST_SHARDS}")
        if self.device and len(self.device) != self.num_shards:
            raise LayoutError(f"{self.num_shards} shards, but {len(self.device)} devices are listed")
        if self.sharded_dim and not self.device:
            raise LayoutError(f"{self.num_shards} shards, but no devices are listed")
        self._check_devices(num_devices)
        return self

    def _check_devices(self, num_devices: int | None) -> None:
        keys = [key for key, _ in self.groups]
        for entry in self.device:
            if entry < 0 and entry not in keys:
                raise LayoutError(f"device {entry} is no device and no key of index_to_device_group_map")
        for group in self.holders():
            if not group or len(set(group)) != len(group):
                raise LayoutError(f"a group of devices needs different members, not {list(group)}")
        for device in self.devices():
            if device < 0 or (num_devices is not None and device >= num_devices):
                known = "" if num_devices is None else f"; there are {num_devices}"
                raise LayoutError(f"device index {device} is out of range{known}")


def spec_of_holders(
    dims: Sequence[ShardedDim], holders: Sequence[Sequence[int]], tensor_name: str = ""
) -> ShardingSpec:
    """The specification in which shard k is on holders[k]; keys -1, -2, … stand for groups of several."""
    keys: dict[tuple[int, ...], int] = {}
    device: list[int] = []
    for group in map(tuple, holders):
        device.append(group[0] if len(group) == 1 else keys.setdefault(group, -1 - len(keys)))
    groups = tuple((key, group) for group, key in keys.items())
    return ShardingSpec(tuple(device), tuple(dims), groups, tensor_name)
