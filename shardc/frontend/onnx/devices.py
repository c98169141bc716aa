"""The shardings that a model states: a device configuration becomes a mesh, its specifications annotations.

configuration {name: "tp" num_devices: 4}                       mesh tp[d0=2, d1=2]
node {sharding_spec {tensor_name: "x" device: [-1, -2] …}}  ->  x: [{"d0"}, {}]
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct
from onnx import GraphProto, NodeProto, ShardingSpecProto

from shardc.diagnostics import ShardcError, warn
from shardc.frontend.onnx.model import Model, twice
from shardc.frontend.onnx.schema import subgraphs
from shardc.layout import LayoutError, Mesh, Sharding
from shardc.layout.axes import Axis
from shardc.layout.notations.onnx import sharding_of
from shardc.layout.notations.onnx_placement import factor_sizes
from shardc.layout.notations.onnx_spec import MOST_SHARDS, ShardedDim, ShardingSpec, SimpleShard

MOST_DEVICES = 1 << 16

ON_ALL = (
    "every tensor is on all devices of the program's mesh, as copies where it is not split: device: [-1] "
    "with index_to_device_group_map: {-1: [0, 1]}"
)
ANY_GROUPS = (
    "--mesh and --shard state other shardings; shardc-layout onnx-check says of any groups how nodes run"
)


class Stated(Struct, frozen=True):
    """The configuration that was chosen. `specs`: (node, tensor name, specification) in program order."""

    name: str
    num_devices: int
    specs: list[tuple[NodeProto, str, ShardingSpec]] = []


def chosen(model: Model, name: str | None) -> Stated | None:
    """The configuration of this name, or the only one there is. ShardcError if there is none, or a choice."""
    known = {c.name: c for c in model.proto.configuration}
    _check_names(model, known)
    if name is None:
        if len(known) > 1:
            raise ShardcError(
                f"{model.file} has {len(known)} device configurations: {', '.join(known)}",
                hint="choose one with --configuration NAME",
            )
        name = next(iter(known), None)
        if name is None:
            return None
    if name not in known:
        raise ShardcError(f"{model.file} has no configuration {name}; it has {', '.join(known) or 'none'}")
    devices = int(known[name].num_devices)
    if not 1 <= devices <= MOST_DEVICES:
        raise ShardcError(f"{model.file}: configuration {name} has {devices} devices")
    stated = Stated(name, devices)
    for node in _nodes(model.proto.graph):
        for part in node.device_configurations:
            if part.configuration_id != name:
                continue
            names = {*node.input, *node.output}
            if again := twice(spec.tensor_name for spec in part.sharding_spec):
                raise ShardcError(
                    f"{model.file}: node {node.name or node.op_type} has two shardings of {again} for {name}"
                )
            for spec in part.sharding_spec:
                if spec.tensor_name not in names:
                    raise ShardcError(
                        f"{model.file}: node {node.name or node.op_type} has a sharding of "
                        f"{spec.tensor_name}, which it neither reads nor makes"
                    )
                stated.specs.append((node, spec.tensor_name, spec_of_proto(spec)))
    return stated


def _check_names(model: Model, known: Collection[str]) -> None:
    """ShardcError for configurations that are there twice or that only a node knows; a warning for stages."""
    if again := twice(c.name for c in model.proto.configuration):
        raise ShardcError(f"{model.file} has two device configurations called {again}")
    stages = 0
    for node in _nodes(model.proto.graph):
        parts = [part.configuration_id for part in node.device_configurations]
        title = f"{model.file}: node {node.name or node.op_type}"
        if lost := next((part for part in parts if part not in known), None):
            raise ShardcError(
                f"{title} has shardings for configuration {lost}; the model has {', '.join(known) or 'none'}"
            )
        if again := twice(parts):
            raise ShardcError(f"{title} has shardings for configuration {again} twice")
        stages += any(part.HasField("pipeline_stage") for part in node.device_configurations)
    if stages:
        warn(f"{model.file}: pipeline stages are not used: {stages} nodes state one")


def spec_of_proto(proto: ShardingSpecProto) -> ShardingSpec:
    """The message as plain data."""
    dims = tuple(
        ShardedDim(
            int(dim.axis),
            tuple(SimpleShard(int(s.num_shards), _dim(s)) for s in dim.simple_sharding),
        )
        for dim in proto.sharded_dim
    )
    groups = tuple(
        (int(entry.key), tuple(map(int, entry.value))) for entry in proto.index_to_device_group_map
    )
    return ShardingSpec(tuple(map(int, proto.device)), dims, groups, proto.tensor_name)


def _dim(shard: object) -> int | str | None:
    which = shard.WhichOneof("dim")  # pyright: ignore
    return getattr(shard, which) if which else None  # pyright: ignore


def mesh_of(stated: Stated, ranks: Sequence[int | None], file: str) -> Mesh:
    """A mesh on which every specification is a sharding. ShardcError that shows the groups if there is none.

    `ranks` are the numbers of dimensions, in the order of the specifications; None for what is in no use.
    """
    specs: list[tuple[str, ShardingSpec, int]] = []
    for (node, name, spec), rank in zip(stated.specs, ranks, strict=True):
        if rank is None:
            continue
        try:
            spec.check(rank, stated.num_devices)
        except LayoutError as error:
            raise ShardcError(f"{file}: sharding of {name} at {node.op_type}: {error}") from None
        if spec.device:
            specs.append((name, spec, rank))
    devices = specs[0][1].devices() if specs else tuple(range(stated.num_devices))
    for name, spec, _ in specs:
        if spec.devices() != devices:
            raise _no_mesh(file, f"{specs[0][0]} and {name} are on different devices", specs, ON_ALL)
    reason = ""
    for order in _orders(specs, devices):
        plain = Mesh(stated.name or "devices", (("d", len(devices)),), order, ranks=devices)
        try:
            found = [sharding_of(spec, plain, rank) for _, spec, rank in specs]
        except LayoutError as error:
            reason = reason or f" ({error})"
            continue
        cuts = sorted({1, len(devices)} | {cut for s in found for a in s.axes() for cut in _cuts(a)})
        if all(b % a == 0 for a, b in pairwise(cuts)):
            sizes = [b // a for a, b in pairwise(cuts)]
            axes = tuple((f"d{i}", size) for i, size in enumerate(sizes)) or (("d0", 1),)
            return Mesh(stated.name or "devices", axes, order, ranks=devices)
    raise _no_mesh(
        file, f"the device groups do not factor into the axes of a mesh{reason}", specs, ANY_GROUPS
    )


def _cuts(axis: Axis) -> tuple[int, int]:
    return axis.pre, axis.pre * axis.size


def _orders(
    specs: Sequence[tuple[str, ShardingSpec, int]], devices: Sequence[int]
) -> Iterator[tuple[int, ...] | None]:
    """Orders of the devices on the mesh: ascending, then sorted by the shards that they hold."""
    yield None
    if not specs:
        return
    columns: list[np.ndarray] = []
    for _, spec, _ in specs:
        number = np.zeros(len(devices), np.int64)
        for shard, group in enumerate(spec.holders()):
            for device in group:
                number[devices.index(device)] = shard
        columns.append(number)
    columns.sort(key=lambda column: -len(set(column.tolist())))
    yield tuple(np.lexsort([np.arange(len(devices)), *reversed(columns)]).tolist())


def _no_mesh(file: str, why: str, specs: Sequence[tuple[str, ShardingSpec, int]], hint: str) -> ShardcError:
    lines = [
        f"{name}: {', '.join(str(list(g)) for g in spec.holders()[:16])}" for name, spec, _ in specs[:12]
    ]
    return ShardcError(f"{file}: {why}:\n    " + "\n    ".join(lines), hint=hint)


def sharding_on(
    mesh: Mesh, name: str, spec: ShardingSpec, shape: Sequence[int], file: str
) -> Sharding | None:
    """The specification on the mesh of a tensor of that shape; None where it says nothing. ShardcError if it
    is no sharding of it, or states other sizes.
    """
    if not spec.device:
        return None
    try:
        for dim, axis in zip(spec.sharded_dim, spec.axes(len(shape)), strict=True):
            if sum(not isinstance(factor.dim, int) for factor in dim.simple_sharding) < 2:
                factor_sizes(dim, shape[axis])
        return sharding_of(spec, mesh, len(shape))
    except LayoutError as error:
        raise ShardcError(f"{file}: sharding of {name}: {error}") from None


def _nodes(graph: GraphProto) -> Iterator[NodeProto]:
    for node in graph.node:
        yield node
        for body in subgraphs(node):
            yield from _nodes(body)


__all__ = ["MOST_SHARDS", "Stated", "chosen", "mesh_of", "sharding_on", "spec_of_proto"]
