"""name-axes: collectives between numbered devices -> collectives over the axes of the mesh.

    %1 = "stablehlo.all_reduce"(%0) <{replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]>, …}> ({ add })
    %2 = stablehlo.partition_id
    %3 = stablehlo.divide %2, 4
    %4 = stablehlo.remainder %3, 2
    %5 = stablehlo.convert %4

becomes, on a mesh x=2, y=4,

    %1 = "spmd.all_reduce"(%0) {axes = ["x"], kind = "sum"}
    %5 = "spmd.axis_index"() {axes = ["x"]}

JAX prints the collectives of shard_map so. Which axes, and which parts of axes, groups lie along is worked
out from the numbers (layout/groups.py); groups that lie along none are an error. A combination that no
collective has, such as a product, is a gather and a reduction. Per-device code that takes nothing and is
written for further axes only to have the device's number (so JAX prints axis_index where some axes are not
manual) is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from shardc.analysis.manual import own_axes
from shardc.diagnostics import ShardcError
from shardc.dialects.build import IRBuilder
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.snapshot import Snapshot
from shardc.forms.localize import replay
from shardc.forms.site import scalar, spread
from shardc.graph import Node, Region, walk
from shardc.layout import Axis, Mesh, Sharding, text_of
from shardc.layout.groups import Numbers, axes_of_pairs, axes_of_rows
from shardc.ops import Trait, has, hlo, op_of, sdy, spmd
from shardc.ops.custom_calls import RAGGED_ALL_TO_ALL
from shardc.ops.rule_builder import partial_kind
from shardc.passes.graph_pass import GraphPass
from shardc.rewrite.device_numbers import (
    NUMBER,
    device_numbers,
    is_of_partitions_of_replicas,
    is_of_the_only_replica,
    name_positions,
    open_number,
)
from shardc.rewrite.outside_manual import replace_alone

Axes = tuple[Axis, ...]


class NameAxes(GraphPass):
    """Replace the collectives over numbered devices, and what is computed from the device's number."""

    name = "name-axes"

    def rewrite(self, shared: SharedGraph) -> bool:
        snap = shared.snapshot()
        numbered = [f for f in snap.graph.functions.values() if any(map(_is_numbered, walk(f.body)))]
        for function in numbered:
            _Body(snap, IRBuilder(shared.module)).region(function.body)
        return bool(numbered)


def _is_numbered(node: Node) -> bool:
    return _way(node) is not None or node.name == NUMBER or bool(own_axes(node))


def _way(node: Node) -> _Way | None:
    """What puts a collective over named axes in the place of one between numbered devices."""
    if node.attrs.get("call_target_name") == RAGGED_ALL_TO_ALL:
        return ragged_all_to_all
    return NAMED.get(node.name)


@dataclass
class _Body:
    """Walks per-device code. `manual` names the axes that it is written for, none outside of it."""

    snap: Snapshot
    builder: IRBuilder
    mesh: Mesh | None = None
    manual: tuple[str, ...] = ()

    def region(self, region: Region) -> None:
        """Rewrite the operations of a region and of those in it."""
        for node in region.nodes:
            if node.name == sdy.manual_computation.name:
                self._enter(node)
            elif self.mesh is None and (_way(node) or node.name == NUMBER):
                replace_alone(self.snap, self.builder, node)
            elif self.mesh and (way := _way(node)):
                self._replace(node, self.mesh, way)
            elif has(node.name, Trait.REGION) or node.name == sdy.named_computation.name:
                for inner in node.regions:
                    self.region(inner)

    def _enter(self, node: Node) -> None:
        shardings = (
            *cast("Sequence[Sharding]", node.attrs["in_shardings"]),
            *cast("Sequence[Sharding]", node.attrs["out_shardings"]),
        )
        outer = [self.mesh] if self.mesh else list(self.snap.graph.meshes.values())
        meshes = [s.mesh for s in shardings] or outer
        own = cast("tuple[str, ...]", node.attrs["manual_axes"])
        twice = [name for name in own if name in self.manual]
        if twice:
            raise ShardcError(
                f"this code is written per device of {', '.join(twice)}, and so is the code around it",
                node.loc,
                "each axis of the mesh is manual once",
            )
        inner = replace(self, mesh=meshes[0], manual=(*self.manual, *own))
        inner.region(node.regions[0])
        name_positions(self.snap, self.builder, node, meshes[0], inner.manual)
        if self.manual:
            open_number(self.snap.ops[node.id])

    def _replace(self, node: Node, mesh: Mesh, way: _Way) -> None:
        op = self.snap.ops[node.id]
        notes = {key: value for key, value in node.attrs.items() if key.startswith("shardc.")}
        self.builder.before(op)
        with self.builder.at(node.loc), self.builder.tagged(notes):
            site = Site(self, node, mesh, self.builder)
            made = way(site, list(op.operands))
        Rewriter.replace_op(op, [], made)


@dataclass(frozen=True)
class Site:
    """One collective over numbered devices."""

    body: _Body
    node: Node
    mesh: Mesh
    builder: IRBuilder

    def attr(self, key: str) -> int:
        return cast(int, self.node.attrs[key])

    def positions(self, key: str) -> Numbers:
        """The positions in the mesh of the devices in an attribute."""
        try:
            numbers = device_numbers(self.node, key)
        except (KeyError, TypeError, ValueError):
            raise self.error(f"{title(self.node)} names no devices in its {key}") from None
        if not ((0 <= numbers) & (numbers < self.mesh.size)).all():
            raise self.error(f"{title(self.node)} names devices that mesh {self.mesh} does not have")
        return np.argsort(self.mesh.devices.reshape(-1))[numbers]

    def axes(self, ordered: bool = True) -> Axes:
        """The axes along which the groups lie; if not `ordered`, members may be in any order."""
        rows = self.positions("replica_groups")
        if is_of_partitions_of_replicas(self.node):
            rows = self._everyone(rows)
        elif is_of_the_only_replica(self.node, rows):
            return ()
        axes = axes_of_rows(self.mesh, rows if ordered else np.sort(rows, axis=-1))
        if axes is None:
            raise self.error(
                f"the groups of {title(self.node)} do not lie along axes of mesh {self.mesh}: {_rows(rows)}",
                "the devices of a group differ along whole axes, or along a part of one that divides it",
            )
        for axis in axes:
            if axis.name not in self.body.manual:
                raise self.error(
                    f"{title(self.node)} over {text_of(axis, self.mesh)}, "
                    "which this code is not written per device of",
                    f"it is written over {', '.join(self.body.manual)}",
                )
        return axes

    def _everyone(self, replicas: Numbers) -> Numbers:
        """All devices of the group of the one replica."""
        if self.node.name != hlo.all_reduce.name or replicas.tolist() != [[0]]:
            raise self.error(
                f"the groups of {title(self.node)} are of replicas, of which there is one: {_rows(replicas)}",
                "use_global_device_ids makes them groups of devices",
            )
        return np.arange(self.mesh.size)[None]

    def error(self, message: str, hint: str | None = None) -> ShardcError:
        return ShardcError(message, self.node.loc, hint)


def _rows(rows: Numbers) -> str:
    """The first few."""
    shown = ", ".join(str(row) for row in rows[:4].tolist())
    return shown + (", …" if len(rows) > 4 else "")


def title(node: Node) -> str:
    """The name without its dialect."""
    return node.name.partition(".")[2]


# Collectives


def all_reduce(site: Site, operands: list[SSAValue]) -> list[SSAValue]:
    """Each operand combined over the axes."""
    axes = site.axes(ordered=False)
    return [_combined(site, x, axes) if axes else x for x in operands]


def all_gather(site: Site, operands: list[SSAValue]) -> list[SSAValue]:
    """Each operand's blocks joined: everyone gets the same."""
    axes, dim = site.axes(), site.attr("all_gather_dim")
    if not axes:
        return operands
    return [site.builder.one(spmd.all_gather.name, x, axes=axes, dim=dim, invariant=True) for x in operands]


def reduce_scatter(site: Site, operands: list[SSAValue]) -> list[SSAValue]:
    """The operand combined over the axes; each device keeps its part."""
    axes, dim = site.axes(), site.attr("scatter_dimension")
    (x,) = operands
    kind = _kind(site, x)
    if not axes:
        return operands
    if kind is None:
        return [site.builder.one(spmd.all_slice.name, _combined(site, x, axes), axes=axes, dim=dim)]
    return [site.builder.one(spmd.reduce_scatter.name, x, axes=axes, dim=dim, kind=kind)]


def all_to_all(site: Site, operands: list[SSAValue]) -> list[SSAValue]:
    """Parts of one dimension exchanged for parts of another."""
    axes = site.axes()
    split, concat = site.attr("split_dimension"), site.attr("concat_dimension")
    if not axes:
        return operands
    return [
        site.builder.one(spmd.all_to_all.name, x, axes=axes, split_dim=split, concat_dim=concat)
        for x in operands
    ]


def collective_permute(site: Site, operands: list[SSAValue]) -> list[SSAValue]:
    """Blocks sent along pairs; without any, everyone gets zeros."""
    pairs = tuple((int(a), int(b)) for a, b in site.positions("source_target_pairs").reshape(-1, 2))
    if is_of_the_only_replica(site.node, np.array(pairs)):
        return operands
    found = axes_of_pairs(site.mesh, pairs, site.body.manual)
    if found is None:
        raise site.error(
            f"the pairs of {title(site.node)} do not lie along {', '.join(site.body.manual)}, "
            f"which this code is written per device of: {_rows(np.array(pairs))}",
            "devices that differ only along other axes must send alike, and not to each other",
        )
    axes, own = found
    (x,) = operands
    if not own:
        return [scalar(site.builder, 0, site.builder.type_of(x))]
    return [site.builder.one(spmd.collective_permute.name, x, axes=axes, pairs=own) if axes else x]


def collective_broadcast(site: Site, operands: list[SSAValue]) -> list[SSAValue]:
    """The block of a group's first device."""
    axes = site.axes()
    (x,) = operands
    return [site.builder.one(spmd.collective_broadcast.name, x, axes=axes, root=0) if axes else x]


def ragged_all_to_all(site: Site, operands: list[SSAValue]) -> list[SSAValue]:
    """Rows sent where tables of each device say; over an axis of one device to itself."""
    axes = site.axes() or tuple(Axis(name, 1) for name in site.body.manual if site.mesh.sizes[name] == 1)[:1]
    if not axes:
        raise site.error(
            f"{title(site.node)} within each device, which has no axis of size 1 here",
            "over the axes of a group, devices send to each other",
        )
    return [site.builder.one(spmd.ragged_all_to_all.name, *operands, axes=axes)]


def _kind(site: Site, x: SSAValue) -> str | None:
    """How the region of a reduction combines: sum, max, min, or None if it takes a gather."""
    combiner = op_of(site.body.snap.graph, site.node).combiner
    kind = partial_kind(combiner, site.builder.type_of(x).dtype)
    if kind is None and combiner not in NEUTRAL:
        raise site.error(
            f"{title(site.node)} combines by a function that is no sum, maximum, product, and, or, xor"
        )
    return kind


def _combined(site: Site, x: SSAValue, axes: Axes) -> SSAValue:
    """The operand combined over the axes; by a gather where there is no collective for it."""
    builder, kind = site.builder, _kind(site, x)
    if kind is not None:
        return builder.one(spmd.all_reduce.name, x, axes=axes, kind=kind)
    graph, type = site.body.snap.graph, builder.type_of(x)
    row = spread(builder, x, (1, *type.shape), tuple(range(1, type.rank + 1)))
    rows = builder.one(spmd.all_gather.name, row, axes=axes, dim=0, invariant=True)
    init = scalar(builder, NEUTRAL[str(op_of(graph, site.node).combiner)], type.with_shape(()))
    region = replay(graph, site.node.regions[0])
    return builder.op(hlo.reduce.name, rows, init, results=[type], regions=[region], dimensions=(0,))[0]


NEUTRAL = {"prod": 1, "xor": 0, "bitor": 0, "bitand": -1}
"""What changes nothing in the combinations that are reduced after a gather."""

_Way = Callable[[Site, list[SSAValue]], list[SSAValue]]

NAMED: dict[str, _Way] = {
    hlo.all_gather.name: all_gather,
    hlo.all_reduce.name: all_reduce,
    hlo.all_to_all.name: all_to_all,
    hlo.collective_broadcast.name: collective_broadcast,
    hlo.collective_permute.name: collective_permute,
    hlo.reduce_scatter.name: reduce_scatter,
}
"""Collectives between numbered devices -> what puts one over named axes in their place."""
