"""Single layers of propagation by the names of Shardy's passes.

A layer works on a module that is prepared already. It copies no constants, applies no constraints, and the
only data-flow edges are those that stand in the module as `sdy.data_flow_edge`. Members of a sharding group
that contradict each other are constrained first. It removes what nobody uses.

    %0 = stablehlo.add %arg0, %arg1 : tensor<8x8xf32>
->  %0 = stablehlo.add %arg0, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a", ?}, {?}]>]>} : …
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec.structs import replace
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from shardc.diagnostics import warn
from shardc.dialects.snapshot import Snapshot, snapshot
from shardc.layout import Sharding
from shardc.passes.propagate import check_strategy, read_custom_rules, write_result
from shardc.passes.shardy.debug import Debugger
from shardc.passes.shardy.edges import take_edges
from shardc.passes.shardy.rules import drop_rules, warn_of_unknown_call, write_rules
from shardc.propagation import Options, propagate
from shardc.propagation.dead import dead_nodes
from shardc.propagation.edges import EdgesOf, explicit
from shardc.propagation.editing import Editor, Uses
from shardc.propagation.groups import group_nodes, import_groups
from shardc.propagation.history import history
from shardc.propagation.provenance import Recorder
from shardc.rewrite.write_graph import write_graph_changes


@dataclass(frozen=True)
class _Layer(ModulePass):
    """The options that every layer of Shardy's has. `module_dump_directory` changes nothing here."""

    keep_sharding_rules: bool = False
    conservative_propagation: bool = False
    debug_sharding_origins: bool = False
    debug_propagation_edge_sharding: bool = False
    module_dump_directory: str = ""

    def options(self) -> Options:
        """What runs."""
        raise NotImplementedError

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        edges = take_edges(op)
        snap = snapshot(op)
        warn_of_unknown_call(op)
        read_custom_rules(snap)
        numbers = {ssa: number for number, ssa in enumerate(snap.ssa)}
        owners = {numbers[edge.owner]: edge.start for edge in edges}
        _separate_groups(snap, owners)
        options = replace(self.options(), conservative=self.conservative_propagation)
        recorder = Recorder() if self.debug_sharding_origins or self.debug_propagation_edge_sharding else None
        result = propagate(snap.graph, options, owners=owners, on_change=recorder)
        found = {owner: result.sharding(owner) for owner in owners}
        for body in result.bodies:
            for owner in owners:
                body.shardings.pop(owner, None)
        write_result(snap, snap.graph, result)
        made = {numbers[edge.owner]: edge.put_back(found[numbers[edge.owner]]) for edge in edges}
        if recorder is not None:
            debugger = Debugger(snap, result, history(result.flow, recorder.changes), made)
            if self.debug_sharding_origins:
                debugger.write_origins()
            if self.debug_propagation_edge_sharding:
                debugger.write_edges()
        erase_dead(snap, explicit(owners))
        if self.keep_sharding_rules:
            write_rules(op, self.conservative_propagation)
        else:
            drop_rules(op)


def _separate_groups(snap: Snapshot, owners: Mapping[int, Sharding | None]) -> None:
    """Where members of a group contradict each other, an open constraint behind each takes its place."""
    if not group_nodes(snap.graph):
        return
    editor = Editor.of(snap.graph, unit_axes=True)
    uses = Uses.of(editor.graph, explicit(owners))
    uses.owner.update((owner, owner) for owner in owners)
    uses.start.update(owners)
    conflicts = import_groups(editor, uses, annotate=False)
    for conflict in conflicts:
        warn(conflict.message, conflict.loc, conflict.hint)
    if conflicts:
        write_graph_changes(snap, editor.graph, editor.copies)


class BasicPropagate(_Layer):
    """One sweep with the basic strategy."""

    name = "sdy-basic-propagate"

    def options(self) -> Options:
        return Options("basic", op_priorities=False, user_priorities=False)


@dataclass(frozen=True)
class AggressivePropagate(_Layer):
    """A sweep with each strategy."""

    name = "sdy-aggressive-propagate"

    propagation_strategy: str = "aggressive"

    def options(self) -> Options:
        return Options(check_strategy(self.propagation_strategy), op_priorities=False, user_priorities=False)


@dataclass(frozen=True)
class OpPriorityPropagate(_Layer):
    """The strategies in rounds of operations."""

    name = "sdy-op-priority-propagate"

    propagation_strategy: str = "aggressive"
    run_op_priority_propagation: bool = True

    def options(self) -> Options:
        rounds = self.run_op_priority_propagation
        return Options(check_strategy(self.propagation_strategy), rounds, user_priorities=False)


@dataclass(frozen=True)
class UserPriorityPropagate(_Layer):
    """All layers."""

    name = "sdy-user-priority-propagate"

    propagation_strategy: str = "aggressive"
    run_op_priority_propagation: bool = True

    def options(self) -> Options:
        return Options(check_strategy(self.propagation_strategy), self.run_op_priority_propagation)


def erase_dead(snap: Snapshot, edges: EdgesOf) -> None:
    """Remove the operations whose results nobody uses."""
    for number in sorted(dead_nodes(snap.graph, edges), reverse=True):
        snap.ops[number].detach()
        snap.ops[number].erase(safe_erase=False)
