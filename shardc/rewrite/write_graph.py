"""A graph that preparation for propagation has changed -> the same changes in the IR.

The graph has copies of nodes, constraints that were added or moved, and operands that were redirected
(propagation/editing.py). The IR gets the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.dialects.locations import locate
from shardc.dialects.sdy import ShardingConstraintOp
from shardc.dialects.shardings import PARTIAL, attr_of, partial_of
from shardc.dialects.snapshot import Snapshot
from shardc.graph import Graph, Node, Region, walk
from shardc.layout import Sharding


def write_graph_changes(snap: Snapshot, graph: Graph, copies: Mapping[int, int]) -> None:
    """Change the module of a snapshot to a graph made from its own, which then is the snapshot's graph.

    `copies` maps the id of a node that is a copy to that of the node that it is a copy of.
    """
    functions = {f.sym_name.data: f for f in snap.module.body.block.ops if isinstance(f, FuncOp)}
    bodies = [(function.body, functions[name]) for name, function in graph.functions.items()]
    made = [node for body, _ in bodies for node in walk(body) if node.id >= len(snap.ops)]
    for node in sorted(made, key=lambda node: node.id):
        op = _make(snap, node, copies)
        snap.ops.append(op)
        snap.ssa.extend(op.results)
    for body, function in bodies:
        _order(snap, body, function.body.block)
    for body, _ in bodies:
        for node in walk(body):
            _redirect(snap, node)
    snap.graph = graph


def _make(snap: Snapshot, node: Node, copies: Mapping[int, int]) -> Operation:
    """An operation that is in no block yet, with any operands of the right types."""
    if node.id in copies:
        return snap.ops[copies[node.id]].clone()
    sharding = cast(Sharding, node.attrs["sharding"])
    partial = partial_of(sharding)
    value = snap.ssa[node.operands[0]]
    op = ShardingConstraintOp.create(
        operands=[value],
        result_types=[value.type],
        properties={"sharding": attr_of(sharding)},
        attributes={} if partial is None else {PARTIAL: partial},
    )
    locate(op, node.loc)
    return op


def _order(snap: Snapshot, region: Region, block: Block) -> None:
    """Put the operations of a block into the order of the region's nodes, inner bodies too."""
    current = block.first_op
    for node in region.nodes:
        op = snap.ops[node.id]
        if op is current:
            current = op.next_op
        else:
            assert current is not None  # the terminator never moves
            if op.parent is not None:
                op.detach()
            Rewriter.insert_op(op, InsertPoint.before(current))
        for inner, ir_region in zip(node.regions, op.regions, strict=True):
            _order(snap, inner, ir_region.block)


def _redirect(snap: Snapshot, node: Node) -> None:
    op = snap.ops[node.id]
    for number, operand in enumerate(node.operands):
        if op.operands[number] is not snap.ssa[operand]:
            op.operands[number] = snap.ssa[operand]
