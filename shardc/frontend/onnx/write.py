"""The model with a specification for every tensor of every node, as the compiler decided."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace
from onnx import GraphProto, ModelProto, NodeProto, ShardingSpecProto

from shardc.diagnostics import ShardcError
from shardc.dialects.snapshot import snapshot
from shardc.frontend.onnx.lowering import Lowering
from shardc.frontend.onnx.schema import subgraphs
from shardc.graph.program import walk
from shardc.graph.types import TensorType
from shardc.layout import Dim, LayoutError, Mesh, Sharding, replicated
from shardc.layout.notations.onnx import spec_of
from shardc.layout.notations.onnx_spec import ShardingSpec
from shardc.ops import sdy

LEAST_IR = 11
"""The first IR version that has device configurations."""


def decided(lowering: Lowering) -> dict[str, tuple[TensorType, Sharding]]:
    """Tensor -> its type and its layout after the stage `sharded`; whole where nothing splits it."""
    snap = snapshot(lowering.module)
    mesh = mesh_of(lowering)
    numbers = {value: number for number, value in enumerate(snap.ssa)}
    layouts = {number: value.sharding for number, value in enumerate(snap.graph.values)}
    for node in walk(snap.graph.main.body):
        stated = node.attrs.get("sharding") if node.name == sdy.sharding_constraint.name else None
        if isinstance(stated, Sharding):
            layouts[node.results[0]] = stated
    found: dict[str, tuple[TensorType, Sharding]] = {}
    for name, type in lowering.tensors.types.items():
        alive = [numbers[ssa] for ssa in lowering.tensors.spoken.get(name, ()) if ssa in numbers]
        known = layouts.get(alive[-1]) if alive else None
        found[name] = type, _closed(known) if known else replicated(mesh, type.rank)
    return found


def _closed(sharding: Sharding) -> Sharding:
    """The layout alone: nothing may be added, and nothing is ranked."""
    return replace(sharding, dims=tuple(Dim(dim.axes) for dim in sharding.dims), replicated=())


def mesh_of(lowering: Lowering) -> Mesh:
    """The mesh of the model. ShardcError if it has none."""
    if lowering.mesh is None:
        raise ShardcError(f"{lowering.file} has no mesh", hint='such as --mesh "pod[data=2, model=4]"')
    return lowering.mesh


def annotated(lowering: Lowering, approximate: bool = False) -> tuple[ModelProto, list[str]]:
    """A copy of the model with specifications; and what was written as replicated, since ONNX cannot say it.

    ShardcError that names the tensor for what it cannot say, unless `approximate`.
    """
    mesh = mesh_of(lowering)
    proto = ModelProto()
    proto.CopyFrom(lowering.model.proto)
    name = lowering.said.stated.name if lowering.said.stated else mesh.name
    _configure(proto, name, mesh)
    specs: dict[str, ShardingSpec] = {}
    changed: list[str] = []
    for tensor, (type, sharding) in decided(lowering).items():
        try:
            specs[tensor] = spec_of(sharding, None, tensor)
        except LayoutError as error:
            if not approximate:
                raise ShardcError(
                    f"{lowering.file}: tensor {tensor}: {error}", hint="--approximate writes it as replicated"
                ) from None
            specs[tensor] = spec_of(replicated(mesh, type.rank), None, tensor)
            changed.append(f"{tensor} is written as replicated: {error}")
    whole = spec_of(replicated(mesh, 0))
    for node in _nodes(proto.graph):
        _annotate(node, name, specs, whole)
    return proto, changed


def _configure(proto: ModelProto, name: str, mesh: Mesh) -> None:
    """The configuration of this name, which stays as it is if there is one."""
    proto.ir_version = max(proto.ir_version, LEAST_IR)
    if any(c.name == name for c in proto.configuration):
        return
    configuration = proto.configuration.add()
    configuration.name = name
    configuration.num_devices = 1 + max(mesh.rank_of(device) for device in range(mesh.size))


def _annotate(
    node: NodeProto, configuration: str, specs: dict[str, ShardingSpec], whole: ShardingSpec
) -> None:
    """Say how each tensor of a node lies: `whole` what is not in the program, as in a branch not taken."""
    part = next((p for p in node.device_configurations if p.configuration_id == configuration), None)
    if part is None:
        part = node.device_configurations.add()
        part.configuration_id = configuration
    del part.sharding_spec[:]
    for name in filter(None, dict.fromkeys((*node.input, *node.output))):
        part.sharding_spec.append(proto_of(specs.get(name, whole), name))


def proto_of(spec: ShardingSpec, name: str) -> ShardingSpecProto:
    """The message of a specification."""
    proto = ShardingSpecProto()
    proto.tensor_name = name
    proto.device.extend(spec.device)
    for key, members in spec.groups:
        entry = proto.index_to_device_group_map.add()
        entry.key = key
        entry.value.extend(members)
    for dim in spec.sharded_dim:
        sharded = proto.sharded_dim.add()
        sharded.axis = dim.axis
        for shard in dim.simple_sharding:
            simple = sharded.simple_sharding.add()
            simple.num_shards = shard.num_shards
            if isinstance(shard.dim, int):
                simple.dim_value = shard.dim
            elif shard.dim is not None:
                simple.dim_param = shard.dim
    return proto


def _nodes(graph: GraphProto) -> Iterator[NodeProto]:
    for node in graph.node:
        yield node
        for body in subgraphs(node):
            yield from _nodes(body)
