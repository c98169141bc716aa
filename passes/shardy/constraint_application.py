"""sdy-apply-sharding-constraints: a closed constraint says what its operand is to look like.

    %0 = stablehlo.tanh %arg0 : tensor<8x8xf32>
    %1 = sdy.sharding_constraint %0 <@m, [{"a"}, {}]> : tensor<8x8xf32>

becomes

    %0 = stablehlo.tanh %arg0 {sdy.sharding = …<[<@m, [{"a"}, {}]>]>} : tensor<8x8xf32>
    %1 = sdy.sharding_constraint %0 <@m, [{"a"}, {}]> : tensor<8x8xf32>

Where the operand is the value of a data-flow edge, all others who use it use the constraint's result instead.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from shardc.dialects.sdy import ShardingConstraintOp
from shardc.dialects.sharding_writer import write_shardings
from shardc.dialects.shardings import attr_of
from shardc.dialects.snapshot import snapshot
from shardc.passes.shardy.edges import take_edges
from shardc.propagation.constraints import apply_constraints
from shardc.propagation.edges import explicit
from shardc.propagation.editing import Editor, Uses
from shardc.rewrite.write_graph import write_graph_changes


@dataclass(frozen=True)
class ApplyShardingConstraints(ModulePass):
    """Apply constraints, and the input shardings of manual computations. The options change nothing here."""

    name = "sdy-apply-sharding-constraints"

    debug_sharding_origins: bool = False
    debug_propagation_edge_sharding: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        edges = take_edges(op)
        snap = snapshot(op)
        numbers = {ssa: number for number, ssa in enumerate(snap.ssa)}
        owners = {numbers[edge.owner]: edge.start for edge in edges}
        before = [value.sharding for value in snap.graph.values]
        editor = Editor.of(snap.graph, unit_axes=True)
        uses = Uses.of(editor.graph, explicit(owners))
        uses.exits.update(function.body.nodes[-1].id for function in editor.graph.functions.values())
        uses.owner.update((owner, owner) for owner in owners)
        uses.start.update(owners)
        apply_constraints(editor, uses)
        write_graph_changes(snap, editor.graph, editor.copies)
        changed = {
            number: value.sharding
            for number, value in enumerate(snap.graph.values[: len(before)])
            if value.sharding != before[number] and number not in owners
        }
        for number in list(changed):
            maker = uses.made_by.get(number)
            op_made = None if maker is None else snap.ops[maker.id]
            sharding = changed[number]
            if isinstance(op_made, ShardingConstraintOp) and sharding is not None:
                op_made.properties["sharding"] = attr_of(sharding)
                del changed[number]
        write_shardings(snap, changed)
        for edge in edges:
            edge.put_back(uses.start[numbers[edge.owner]])
