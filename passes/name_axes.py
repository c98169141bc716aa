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

from typing import cast

from msgspec import Struct
from msgspec.structs import replace
from xdsl.rewriter import Rewriter

from shardc.analysis.manual import mesh_of, own_axes
from shardc.diagnostics import ShardcError
from shardc.dialects.build import IRBuilder
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.snapshot import Snapshot
from shardc.dialects.stablehlo.calls import CustomCallOp
from shardc.graph import Node, Region, walk
from shardc.layout import Mesh
from shardc.ops import Trait, has, sdy
from shardc.passes.graph_pass import GraphPass
from shardc.rewrite.device_numbers import (
    NUMBER,
    name_positions,
    open_number,
)
from shardc.rewrite.numbered_collectives import NAMED, Site, Way, way
from shardc.rewrite.outside_manual import replace_alone


class NameAxes(GraphPass):
    """Replace the collectives over numbered devices, and what is computed from the device's number."""

    name = "name-axes"

    def rewrite(self, shared: SharedGraph) -> bool:
        if not any(op.name in _NUMBERED for op in shared.ops()):
            return False
        snap = shared.snapshot()
        numbered = [f for f in snap.graph.functions.values() if any(map(_is_numbered, walk(f.body)))]
        for function in numbered:
            _Body(snap, IRBuilder(shared.module)).region(function.body)
        return bool(numbered)


_NUMBERED = {*NAMED, NUMBER, CustomCallOp.name, sdy.manual_computation.name}
"""Operations that may be numbered, or hold what is."""


def _is_numbered(node: Node) -> bool:
    return way(node) is not None or node.name == NUMBER or bool(own_axes(node))


class _Body(Struct):
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
            elif self.mesh is None and (way(node) or node.name == NUMBER):
                replace_alone(self.snap, self.builder, node)
            elif self.mesh and (named := way(node)):
                self._replace(node, self.mesh, named)
            elif has(node.name, Trait.REGION) or node.name == sdy.named_computation.name:
                for inner in node.regions:
                    self.region(inner)

    def _enter(self, node: Node) -> None:
        mesh = mesh_of(node, [self.mesh] if self.mesh else self.snap.graph.meshes.values())
        own = cast("tuple[str, ...]", node.attrs["manual_axes"])
        twice = [name for name in own if name in self.manual]
        if twice:
            raise ShardcError(
                f"this code is written per device of {', '.join(twice)}, and so is the code around it",
                node.loc,
                "each axis of the mesh is manual once",
            )
        inner = replace(self, mesh=mesh, manual=(*self.manual, *own))
        inner.region(node.regions[0])
        name_positions(self.snap, self.builder, node, mesh, inner.manual)
        if self.manual:
            open_number(self.snap.ops[node.id])

    def _replace(self, node: Node, mesh: Mesh, named: Way) -> None:
        op = self.snap.ops[node.id]
        notes = {key: value for key, value in node.attrs.items() if key.startswith("shardc.")}
        self.builder.before(op)
        with self.builder.at(node.loc), self.builder.tagged(notes):
            site = Site(self.snap.graph, self.manual, node, mesh, self.builder)
            made = named(site, list(op.operands))
        Rewriter.replace_op(op, [], made)
