"""Data-flow edges that stand in the module as operations, as Shardy's layers want them.

    %0:2 = stablehlo.while(%iterArg = %arg0, %iterArg_0 = %c) …
->  %1 = sdy.data_flow_edge %0#0 : tensor<32x96xf32>      (before all uses of %0#0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import Struct
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, TensorType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.dialects.locations import locate, location_of
from shardc.dialects.sdy import DataFlowEdgeOp, ManualComputationOp, NamedComputationOp
from shardc.dialects.sdy_attributes import ShardingAttr
from shardc.dialects.shardings import SHARDING, attr_of, per_value, sharding_of
from shardc.dialects.snapshot import snapshot
from shardc.dialects.types import is_dynamic
from shardc.dialects.verify import module_meshes
from shardc.graph import Graph, Node, walk
from shardc.layout import Sharding
from shardc.ops import func
from shardc.passes.shardy.func_edges import add_func_edges
from shardc.propagation.edges import Edge, edges_of, outside


@dataclass(frozen=True)
class AddDataFlowEdges(ModulePass):
    """Write an edge behind everything that owns one and has none yet; those of functions too if asked for."""

    name = "sdy-add-data-flow-edges"

    enable_native_non_flat_support: bool = False
    add_func_data_flow_edges: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.add_func_data_flow_edges or self.enable_native_non_flat_support:
            add_func_edges(op)
        snap = snapshot(op)
        for function in snap.graph.functions.values():
            for node in walk(function.body):
                for edge in _edges(node, snap.graph):
                    owner = snap.ssa[edge.owner]
                    known = any(isinstance(use.operation, DataFlowEdgeOp) for use in owner.uses)
                    if not known and not is_dynamic(owner.type) and isinstance(owner.type, TensorType):
                        insert_edge(owner, None if edge.start is None else attr_of(edge.start), None)


@dataclass(frozen=True)
class SinkDataFlowEdges(ModulePass):
    """Give the shardings of edges to what owns them, and remove the edges."""

    name = "sdy-sink-data-flow-edges"

    sink_debug_sharding_origins: bool = False
    sink_debug_propagation_edge_sharding: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        taken = {edge.owner: edge for edge in take_edges(op)}
        snap = snapshot(op)
        for function in snap.graph.functions.values():
            for node in walk(function.body):
                edges = _edges(node, snap.graph)
                sides = (
                    [edge for edge in edges if isinstance(snap.ssa[edge.owner], BlockArgument)],
                    [edge for edge in edges if not isinstance(snap.ssa[edge.owner], BlockArgument)],
                )
                for name, side in zip(("in_shardings", "out_shardings"), sides, strict=True):
                    found = [
                        taken[snap.ssa[e.owner]].start if snap.ssa[e.owner] in taken else None for e in side
                    ]
                    _write(snap.ops[node.id], name, side, found, snap.graph)
                for key, names in self._kept().items():
                    found = [
                        [
                            edge.op.attributes[key]
                            for e in side
                            if (edge := taken.get(snap.ssa[e.owner])) and key in edge.op.attributes
                        ]
                        for side in sides
                    ]
                    if any(found):
                        for name, attributes in zip(names, found, strict=True):
                            snap.ops[node.id].attributes[name] = ArrayAttr(attributes)

    def _kept(self) -> dict[str, tuple[str, str]]:
        """What edges say for debugging that is to stay -> where it goes, of arguments and of results."""
        kept: dict[str, tuple[str, str]] = {}
        if self.sink_debug_sharding_origins:
            kept["sdy.sharding_origins"] = ("sdy.block_arg_sharding_origins", "sdy.result_sharding_origins")
        if self.sink_debug_propagation_edge_sharding:
            names = ("sdy.block_arg_propagation_edges", "sdy.result_propagation_edges")
            kept["sdy.propagation_edges"] = names
        return kept


def _edges(node: Node, graph: Graph) -> tuple[Edge, ...]:
    """A call's edges are those of the computation that it becomes."""
    edges = None if node.name == func.call.name else edges_of(node, graph)
    return () if edges is None else edges.all


def _write(
    op: Operation, name: str, side: Sequence[Edge], found: Sequence[Sharding | None], graph: Graph
) -> None:
    written = outside(side, found, graph)
    if written and isinstance(op, (ManualComputationOp, NamedComputationOp)):
        op.properties[name] = per_value(written)
    elif written:
        op.attributes[SHARDING] = per_value(written)


class TakenEdge(Struct, frozen=True):
    """A data-flow edge taken out of the module."""

    owner: SSAValue
    start: Sharding | None
    op: DataFlowEdgeOp

    def put_back(self, sharding: Sharding | None) -> DataFlowEdgeOp:
        """Insert the edge again behind its owner, with another sharding."""
        return insert_edge(self.owner, None if sharding is None else attr_of(sharding), self.op)


def insert_edge(owner: SSAValue, sharding: ShardingAttr | None, like: Operation | None) -> DataFlowEdgeOp:
    """Put an edge behind its owner, with the attributes of another, and let all uses go through it."""
    uses = [(use.operation, use.index) for use in owner.uses]
    properties = {} if sharding is None else {"sharding": sharding}
    made = DataFlowEdgeOp.create(
        operands=[owner],
        result_types=[owner.type],
        properties=properties,
        attributes={} if like is None else like.attributes,
    )
    if like is not None:
        locate(made, location_of(like.location))
    elif isinstance(owner.owner, Operation):
        locate(made, location_of(owner.owner.location))
    Rewriter.insert_op(made, _behind(owner))
    for user, number in uses:
        user.operands[number] = made.result
    return made


def _behind(value: SSAValue) -> InsertPoint:
    """Behind what makes a value, and behind the edges that are there already."""
    owner = value.owner
    following = owner.first_op if isinstance(owner, Block) else owner.next_op
    while isinstance(following, DataFlowEdgeOp):
        following = following.next_op
    assert following is not None  # blocks end in terminators
    return InsertPoint.before(following)


def take_edges(module: ModuleOp) -> list[TakenEdge]:
    """Remove the data-flow edges; their users use the owners."""
    meshes = module_meshes(module)
    edges: list[TakenEdge] = []
    for op in [op for op in module.walk() if isinstance(op, DataFlowEdgeOp)]:
        start = sharding_of(op.sharding, meshes) if isinstance(op.sharding, ShardingAttr) else None
        edges.append(TakenEdge(op.input, start, op))
        op.result.replace_all_uses_with(op.input)
        op.detach()
        op.operands = ()
    return edges
