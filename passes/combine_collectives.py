"""combine-collectives: collectives that can wait for each other -> one, of their operands laid end to end.

    %0 = "spmd.all_reduce"(%a) {axes = ["data"], kind = "sum", …}     // f32[64, 16]
    %1 = stablehlo.subtract %u, %0
    %2 = "spmd.all_reduce"(%b) {axes = ["data"], kind = "sum", …}     // f32[16]; %b needs nothing of %0
    %3 = stablehlo.subtract %v, %2

becomes

    %4 = stablehlo.reshape %a                                         // f32[1024]
    %5 = stablehlo.concatenate %4, %b, dim = 0                        // f32[1040]
    %6 = "spmd.all_reduce"(%5) {axes = ["data"], kind = "sum", …}
    %7 = stablehlo.slice %6 [0:1024]
    %0 = stablehlo.reshape %7
    %2 = stablehlo.slice %6 [1024:1040]
    %1 = stablehlo.subtract %u, %0
    %3 = stablehlo.subtract %v, %2

The same bytes in fewer collectives; likewise all-gathers, reduce-scatters, and permutes between equal pairs.
Runs by option and on machines with latency, on per-device code, on collectives that shardc made. Those that
combine have one operation, kind, axes and dtype, are the same on the same devices, and have `bytes` together
at most, gathered. On a machine they combine as far as the time of one collective, and of copying all operands
and results once, is less than that of each alone; an all-reduce over several axes is done over some of them
and then over the others where these combine with more, so that all take less. They go where the first of
their results is needed: what their operands take is computed before, and small operations on their results
come as late as they can.

What some devices hold alike cannot be laid beside what they don't: the result would not be alike either. Of
all-reduces of both kinds on a machine two are left side by side, and the second has the note shardc.together:
runtimes send such in one go, and so they are priced.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.analysis.collectives import axes_of
from shardc.dialects.build import IRBuilder
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.snapshot import Snapshot
from shardc.graph import Node
from shardc.graph.marks import REASON, TOGETHER
from shardc.graph.program import own_attrs
from shardc.layout import Axis
from shardc.ops import spmd
from shardc.passes.graph_pass import GraphPass
from shardc.planning.machines import Combined, Machine, load
from shardc.rewrite.combining import best_splits, grouped
from shardc.rewrite.joinable import Joinable, joinable
from shardc.rewrite.joined_collectives import send, take
from shardc.rewrite.waiting import in_order


@dataclass(frozen=True)
class CombineCollectives(GraphPass):
    """Combine collectives of up to `bytes` together, on a `machine` (a Machine or its name) where that is
    quicker. `told` is given, of all that could be combined, how many there were and are."""

    name = "combine-collectives"
    bytes: int = 1 << 25
    machine: Machine | str | None = None
    told: Callable[[Combined], None] | None = None

    def rewrite(self, shared: SharedGraph) -> bool:
        blocks = self._blocks(shared)
        changed = any([block.split() for block in blocks])
        if changed:
            shared.drop()
            blocks = self._blocks(shared)
        for block in blocks:
            changed |= block.combine(self.told)
        return changed

    def _blocks(self, shared: SharedGraph) -> list[_Block]:
        machine = load(self.machine) if isinstance(self.machine, str) else self.machine
        snap, builder = shared.snapshot(), IRBuilder(shared.module)
        return [_Block(snap, builder, each) for each in joinable(shared, machine, self.bytes)]


class _Block:
    """The collectives of a region."""

    def __init__(self, snap: Snapshot, builder: IRBuilder, found: Joinable) -> None:
        self.snap, self.builder, self.found = snap, builder, found

    def split(self) -> bool:
        """Do sums over several axes over some of them and then over the others, where more is one then."""
        splits = best_splits(self.found.candidates, self.found.joint)
        for place in self.found.places:
            node = self.found.nodes[place]
            parts = splits.get(axes_of(node), ()) if node.name == spmd.all_reduce.name else ()
            if parts:
                self._split(node, parts)
        return bool(splits)

    def _split(self, node: Node, parts: Sequence[tuple[Axis, ...]]) -> None:
        op, notes = self.snap.ops[node.id], {REASON: node.attrs[REASON]}
        self.builder.before(op)
        value = op.operands[0]
        with self.builder.at(node.loc), self.builder.tagged(notes):
            for over in parts:
                attrs = {**own_attrs(node), "axes": over}
                (value,) = self.builder.op(node.name, value, results=None, regions=(), **attrs)
        value.name_hint = op.results[0].name_hint
        Rewriter.replace_op(op, [], [value])

    def combine(self, told: Callable[[Combined], None] | None) -> bool:
        """Make one of those that are quickest so; whether there were any."""
        groups, _ = grouped(self.found.candidates, self.found.joint)
        if told is not None:
            for combined in self.found.counted([(1, group) for group in groups]):
                told(combined)
        if all(len(group) == 1 for group in groups):
            return False
        nodes = self.found.nodes
        places = [[self.found.places[number] for number in group] for group in groups]
        block = self.snap.ops[nodes[0].id].parent
        assert block is not None
        ops = [self.snap.ops[node.id] for node in nodes]
        for op in ops:
            op.detach()
        block.add_ops([ops[place] for place in in_order(nodes, self.found.before, places)])
        for group in places:
            if len(group) > 1:
                self._side_by_side([nodes[place] for place in group])
        return True

    def _side_by_side(self, group: list[Node]) -> None:
        """One collective in the place of all that are the same on the same devices, one right after the
        other."""
        parts: dict[Hashable, list[Node]] = {}
        for node in group:
            parts.setdefault(self.found.alike(node), []).append(node)
        ops = {node.id: self.snap.ops[node.id] for node in group}
        behind = ops[group[-1].id].next_op
        assert behind is not None
        self.builder.before(behind)
        sent = [self._one(part, ops) for part in parts.values()]
        for number, op in enumerate(sent):
            op.detach()
            Rewriter.insert_op(op, InsertPoint.before(behind))
            if number:
                op.attributes[TOGETHER] = StringAttr("with the one before")
        for part, made in zip(parts.values(), sent, strict=True):
            if len(part) > 1:
                types = [self.snap.graph.type(node.operands[0]) for node in part]
                values = take(self.builder, part, made.results[0], types)
                for node, value in zip(part, values, strict=True):
                    Rewriter.replace_op(ops[node.id], [], [value])

    def _one(self, part: list[Node], ops: Mapping[int, Operation]) -> Operation:
        """One collective in the place of several, or of one."""
        if len(part) == 1:
            return ops[part[0].id]
        others = f"{len(part) - 1} more" if len(part) > 2 else cast(str, part[1].attrs[REASON])
        notes = {REASON: f"{part[0].attrs[REASON]}; and {others}"}
        return send(self.builder, part, [ops[node.id].operands[0] for node in part], notes)
