"""Collectives and the device's number outside per-device code.

Over axes of one device, JAX prints no per-device code around them. There a collective gives its operand, a
permute without pairs zeros, and the number is 0. A number that nobody uses goes. Anything else is an error.
"""

from __future__ import annotations

from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from shardc.diagnostics import ShardcError
from shardc.dialects.build import IRBuilder
from shardc.dialects.snapshot import Snapshot
from shardc.forms.site import scalar
from shardc.graph import Node
from shardc.layout.groups import Numbers
from shardc.ops import hlo, sdy
from shardc.rewrite.device_numbers import NUMBER, device_numbers, is_of_partitions_of_replicas

PERMUTE = hlo.collective_permute.name
WRITE = f"write it in a {sdy.manual_computation.name}, as jax.shard_map does"


def replace_alone(snap: Snapshot, builder: IRBuilder, node: Node) -> None:
    """Put in the place of a collective, or of the device's number, what it is where devices are alone."""
    op = snap.ops[node.id]
    if node.name == NUMBER and op.results[0].first_use is None:
        Rewriter.erase_op(op)
        return
    if node.name == NUMBER:
        several = any(mesh.size > 1 for mesh in snap.graph.meshes.values())
        made = None if several else [_zero(snap, builder, node)]
    elif node.name == PERMUTE and len(_pairs(node)) == 0:
        made = [_zero(snap, builder, node)]
    else:
        several = any(mesh.size > 1 for mesh in snap.graph.meshes.values())
        alone = _is_alone(node) and not (several and is_of_partitions_of_replicas(node))
        made = list(op.operands) if alone else None
    if made is None:
        title = f"{node.name.partition('.')[2]} between numbered devices"
        what = "the device's number" if node.name == NUMBER else title
        raise ShardcError(f"{what} outside per-device code", node.loc, WRITE)
    Rewriter.replace_op(op, [], made)


def _is_alone(node: Node) -> bool:
    """Whether every device is a group of its own, or sends to itself."""
    if node.name == PERMUTE:
        pairs = _pairs(node).tolist()
        return pairs == [[i, i] for i in range(len(pairs))]
    return device_numbers(node, "replica_groups").shape[-1] == 1


def _pairs(node: Node) -> Numbers:
    return device_numbers(node, "source_target_pairs").reshape(-1, 2)


def _zero(snap: Snapshot, builder: IRBuilder, node: Node) -> SSAValue:
    builder.before(snap.ops[node.id])
    with builder.at(node.loc):
        return scalar(builder, 0, snap.graph.type(node.results[0]))
