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
and results once, is less than that of each alone. They go where the first of their results is needed, and
small operations on these come as late as they can; what little an operand still takes there is computed
before, and an operand that takes more is not waited for.

What some devices hold alike cannot be laid beside what they don't: the result would not be alike either. Of
all-reduces of both kinds on a machine two are left side by side, and the second has the note shardc.together:
runtimes send such in one go, and so they are priced.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.analysis.collectives import axes_of
from shardc.analysis.marks import TOGETHER
from shardc.check.varying import VaryingTypes
from shardc.diagnostics import collecting
from shardc.dialects.build import IRBuilder
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.snapshot import Snapshot
from shardc.forms.exchange import MASKED
from shardc.graph import Node, Region, walk
from shardc.layout import Axis
from shardc.ops import Trait, has, spmd
from shardc.passes.graph_pass import GraphPass
from shardc.planning.machines import Combined, Joint, Machine, load, wanted_of
from shardc.rewrite.joined_collectives import JOINED, join
from shardc.rewrite.waiting import let_wait, operands

REASON = "shardc.reason"
TITLES = {op.name: op.title or "" for op in JOINED}
NAMES = frozenset(TITLES)
FEW = 8  # operations that are moved for an operand to be there


@dataclass(frozen=True)
class CombineCollectives(GraphPass):
    """Combine collectives of up to `bytes` together, on a `machine` (a Machine or its name) where that is
    quicker. `told` is given, of all that could be combined, how many there were and are."""

    name = "combine-collectives"
    bytes: int = 1 << 25
    machine: Machine | str | None = None
    told: Callable[[Combined], None] | None = None

    def rewrite(self, shared: SharedGraph) -> bool:
        machine = load(self.machine) if isinstance(self.machine, str) else self.machine
        changed, waited = False, _waited(shared.snapshot())
        if waited:
            shared.drop()
        snap, builder = shared.snapshot(), IRBuilder(shared.module)
        with collecting():
            found = shared.varying()
        for function in snap.graph.functions.values():
            for node in walk(function.body):
                if node.id in found:
                    types = found[node.id]
                    joint = Joint(types.parts.mesh, machine, self.bytes)
                    for region in _regions(node.regions[0]):
                        block = _block(snap, region)
                        if _Block(snap, builder, types, joint, region, self.told).combine():
                            changed = True
                            waited.pop(block, None)
        for block, order in waited.items():  # where nothing combined, so that equal layers stay equal
            for op in order:
                op.detach()
            block.add_ops(order)
        if waited:
            shared.drop()
        return changed


def _regions(body: Region) -> Iterator[Region]:
    """A body, and the bodies of the loops and branches in it."""
    yield body
    for node in walk(body):
        if has(node.name, Trait.REGION):
            yield from node.regions


def _waited(snap: Snapshot) -> dict[Block, list[Operation]]:
    """Let what uses results wait, where there are several collectives: blocks, and what order they had."""
    orders: dict[Block, list[Operation]] = {}
    for function in snap.graph.functions.values():
        for region in _regions(function.body):
            found = {node.id for node in region.nodes if node.name in NAMES and REASON in node.attrs}
            if len(found) > 1:
                block = _block(snap, region)
                order = list(block.ops)
                if let_wait(snap, region, found):
                    orders[block] = order
    return orders


def _block(snap: Snapshot, region: Region) -> Block:
    block = snap.ops[region.nodes[0].id].parent
    assert block is not None
    return block


def _counted(node: Node, before: int, after: int) -> Combined:
    """How many there were and are of the kind and axes of one."""
    names = sorted({axis.name for axis in axes_of(node)})
    return Combined(TITLES[node.name], tuple(names), before, after)


class _Block:
    """The nodes of a region, who makes each value, where it is first used, and where nodes have moved."""

    def __init__(
        self,
        snap: Snapshot,
        builder: IRBuilder,
        types: VaryingTypes,
        joint: Joint,
        region: Region,
        told: Callable[[Combined], None] | None,
    ) -> None:
        self.snap, self.builder, self.types, self.joint = snap, builder, types, joint
        self.told = told
        self.nodes = region.nodes
        self.maker = {value: node for node in region.nodes for value in node.results}
        self.order = {node.id: place for place, node in enumerate(region.nodes)}
        self.place = dict(self.order)
        self.needed: dict[int, int] = {}
        for place, node in enumerate(region.nodes):
            for value in operands(node):
                self.needed.setdefault(value, place)

    def combine(self) -> bool:
        """Take what is needed first, and with it what can run there too; whether there was any."""
        changed = False
        found = [node for node in self.nodes if node.name in NAMES and REASON in node.attrs]
        found = [node for node in found if node.results[0] in self.needed]
        alike: dict[Hashable, list[Node]] = {}
        for node in sorted(found, key=lambda node: self.needed[node.results[0]]):
            alike.setdefault(self._kind(node), []).append(node)
        for waiting in alike.values():
            first, many, after = waiting[0], len(waiting), 0
            while waiting:
                place = self.needed[waiting[0].results[0]]
                group, before = self._group(waiting, place)
                waiting[:] = [node for node in waiting if node not in group]
                if len(group) > 1:
                    self._hoist(before, place)
                    self._side_by_side(self.nodes[place], group)
                    changed = True
                after += 1
            if self.told is not None:
                self.told(_counted(first, many, after))
        return changed

    def _kind(self, node: Node) -> Hashable:
        """Equal for those that can be one, or side by side."""
        value = node.operands[0]
        how, dtype = self.types[value], self.snap.graph.type(value).dtype
        said = tuple(map(node.attrs.get, ("kind", "invariant", "pairs", MASKED)))
        apart = self._alike(node) if self.joint.stages is None or node.name != spmd.all_reduce.name else None
        return node.name, axes_of(node), said, dtype, apart, frozenset(how.partial)

    def _alike(self, node: Node) -> frozenset[Axis]:
        """Equal for those whose operands are the same on the same devices."""
        return frozenset(self.types[node.operands[0]].varies)

    def _group(self, waiting: list[Node], place: int) -> tuple[list[Node], list[Node]]:
        """The collectives that are best one before a place, and what must be computed before it for them."""
        behind = {node.id: found for node in waiting if (found := self._behind(node, place)) is not None}
        able = [node for node in waiting if node.id in behind]
        if not able or able[0] is not waiting[0]:
            return waiting[:1], []
        graph = self.snap.graph
        group = [able[i] for i in self.joint.chosen([wanted_of(graph, node) for node in able])]
        before = {other.id: other for node in group for other in behind[node.id]}
        return group, list(before.values())

    def _behind(self, waiting: Node, place: int) -> list[Node] | None:
        """The nodes at or behind a place that an operand needs; None if some of them cannot move."""
        found: dict[int, Node] = {}
        open = [waiting.operands[0]]
        while open:
            node = self.maker.get(open.pop())
            if node is None or node.id in found:
                continue
            if node.name in NAMES:
                return None
            if self.place[node.id] >= place:
                if has(node.name, Trait.ALONG_AXES, Trait.REGION) or len(found) == FEW:
                    return None
                found[node.id] = node
                open += operands(node)
        return list(found.values())

    def _hoist(self, nodes: list[Node], place: int) -> None:
        """Compute these before a place."""
        for node in sorted(nodes, key=lambda node: self.order[node.id]):
            op = self.snap.ops[node.id]
            op.detach()
            Rewriter.insert_op(op, InsertPoint.before(self.snap.ops[self.nodes[place].id]))
        self.place.update((node.id, place - 1) for node in nodes)

    def _side_by_side(self, before: Node, group: list[Node]) -> None:
        """One collective in the place of all that are the same on the same devices, one after the other."""
        parts: dict[Hashable, list[Node]] = {}
        for node in group:
            parts.setdefault(self._alike(node), []).append(node)
        for number, part in enumerate(parts.values()):
            op = self._one(before, part)
            if number:
                op.attributes[TOGETHER] = StringAttr("with the one before")

    def _one(self, before: Node, group: list[Node]) -> Operation:
        """One collective in the place of several, or of one."""
        place, ops = self.snap.ops[before.id], [self.snap.ops[node.id] for node in group]
        if len(group) == 1:
            ops[0].detach()
            Rewriter.insert_op(ops[0], InsertPoint.before(place))
            return ops[0]
        self.builder.before(place)
        others = f"{len(group) - 1} more" if len(group) > 2 else cast(str, group[1].attrs[REASON])
        notes = {REASON: f"{group[0].attrs[REASON]}; and {others}"}
        made, values = join(self.builder, group, [self.snap.ssa[node.operands[0]] for node in group], notes)
        for op, value in zip(ops, values, strict=True):
            Rewriter.replace_op(op, [], [value])
        return made
