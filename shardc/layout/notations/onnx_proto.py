"""ONNX sharding specifications as protobuf messages. `to_proto` needs the onnx package."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from shardc.layout.notations.onnx_spec import ShardedDim, ShardingSpec, SimpleShard


def from_proto(proto: Any) -> ShardingSpec:
    """The specification in an onnx.ShardingSpecProto."""
    dims = tuple(
        ShardedDim(dim.axis, tuple(_shard(s) for s in dim.simple_sharding)) for dim in proto.sharded_dim
    )
    groups = tuple((entry.key, tuple(entry.value)) for entry in proto.index_to_device_group_map)
    return ShardingSpec(tuple(proto.device), dims, groups, proto.tensor_name)


def to_proto(spec: ShardingSpec) -> Any:
    """The onnx.ShardingSpecProto of a specification. ImportError without onnx."""
    proto = import_module("onnx").ShardingSpecProto(tensor_name=spec.tensor_name, device=spec.device)
    for key, members in spec.groups:
        proto.index_to_device_group_map.add(key=key, value=members)
    for dim in spec.sharded_dim:
        entry = proto.sharded_dim.add(axis=dim.axis)
        for shard in dim.simple_sharding:
            added = entry.simple_sharding.add(num_shards=shard.num_shards)
            if shard.dim is not None:
                setattr(added, "dim_param" if isinstance(shard.dim, str) else "dim_value", shard.dim)
    return proto


def _shard(proto: Any) -> SimpleShard:
    kind = proto.WhichOneof("dim")
    return SimpleShard(proto.num_shards, getattr(proto, kind) if kind else None)
