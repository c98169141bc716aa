"""combine-collectives: all-reduces that can wait for each other -> one, of their operands laid end to end.

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

The same bytes in fewer collectives. Runs by option, on per-device code, on all-reduces that shardc made.
Those that combine have one kind, axes and dtype, are the same on the same devices, and have `bytes` together
at most. They go where the first of their results is needed; what little an operand still takes there is
computed before, and an operand that takes more is not waited for.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import cast

from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.check.varying import VaryingTypes
from shardc.diagnostics import collecting
from shardc.dialects.build import IRBuilder
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.snapshot import Snapshot
from shardc.graph import Node, Region, TensorType, walk
from shardc.ops import Trait, has, hlo, spmd
from shardc.passes.graph_pass import GraphPass

REASON = "shardc.reason"
REDUCE = spmd.all_reduce.name
FEW = 8  # operations that are moved for an operand to be there


@dataclass(frozen=True)
class CombineCollectives(GraphPass):
    """Combine all-reduces of up to `bytes` together."""

    name = "combine-collectives"
    bytes: int = 1 << 25

    def rewrite(self, shared: SharedGraph) -> bool:
        snap, builder = shared.snapshot(), IRBuilder(shared.module)
        changed = False
        with collecting():
            found = shared.varying()
        for function in snap.graph.functions.values():
            for node in walk(function.body):
                if node.id in found:
                    for region in _regions(node.regions[0]):
                        changed |= _Block(snap, builder, found[node.id], region).combine(self.bytes)
        return changed


def _regions(body: Region) -> Iterator[Region]:
    """A body, and the bodies of the loops and branches in it."""
    yield body
    for node in walk(body):
        if has(node.name, Trait.REGION):
            yield from node.regions


class _Block:
    """The nodes of a region, who makes each value, where it is first used, and where nodes have moved."""

    def __init__(self, snap: Snapshot, builder: IRBuilder, types: VaryingTypes, region: Region) -> None:
        self.snap, self.builder, self.types, self.nodes = snap, builder, types, region.nodes
        self.maker = {value: node for node in region.nodes for value in node.results}
        self.order = {node.id: place for place, node in enumerate(region.nodes)}
        self.place = dict(self.order)
        self.needed: dict[int, int] = {}
        for place, node in enumerate(region.nodes):
            for value in _operands(node):
                self.needed.setdefault(value, place)

    def combine(self, most: int) -> bool:
        """Take what is needed first, and with it what can run there too; whether there was any."""
        changed = False
        reduces = [node for node in self.nodes if node.name == REDUCE and REASON in node.attrs]
        reduces = [node for node in reduces if node.results[0] in self.needed]
        alike: dict[Hashable, list[Node]] = {}
        for node in sorted(reduces, key=lambda node: self.needed[node.results[0]]):
            alike.setdefault(self._kind(node), []).append(node)
        for waiting in alike.values():
            while waiting:
                place = self.needed[waiting[0].results[0]]
                group, before = self._group(waiting, place, most)
                waiting[:] = [node for node in waiting if node not in group]
                if len(group) > 1:
                    self._hoist(before, place)
                    _combine(self.snap, self.builder, self.nodes[place], group)
                    changed = True
        return changed

    def _kind(self, node: Node) -> Hashable:
        value = node.operands[0]
        how = self.types[value]
        dtype = self.snap.graph.type(value).dtype
        return node.attrs["axes"], node.attrs["kind"], dtype, frozenset(how.varies), frozenset(how.partial)

    def _group(self, waiting: list[Node], place: int, most: int) -> tuple[list[Node], list[Node]]:
        """The all-reduces that can run before a place, and what must be computed before it for them."""
        group: list[Node] = []
        before: dict[int, Node] = {}
        size = 0
        for node in waiting:
            nbytes = self.snap.graph.type(node.operands[0]).nbytes
            behind = self._behind(node, place)
            if behind is not None and (not group or size + nbytes <= most):
                group.append(node)
                size += nbytes
                before.update((other.id, other) for other in behind)
        return group, list(before.values())

    def _behind(self, reduce: Node, place: int) -> list[Node] | None:
        """The nodes at or behind a place that an operand needs; None if some of them cannot move."""
        found: dict[int, Node] = {}
        open = [reduce.operands[0]]
        while open:
            node = self.maker.get(open.pop())
            if node is None or node.id in found:
                continue
            if node.name == REDUCE:
                return None
            if self.place[node.id] >= place:
                if has(node.name, Trait.ALONG_AXES, Trait.REGION) or len(found) == FEW:
                    return None
                found[node.id] = node
                open += _operands(node)
        return list(found.values())

    def _hoist(self, nodes: list[Node], place: int) -> None:
        """Compute these before a place."""
        for node in sorted(nodes, key=lambda node: self.order[node.id]):
            op = self.snap.ops[node.id]
            op.detach()
            Rewriter.insert_op(op, InsertPoint.before(self.snap.ops[self.nodes[place].id]))
        self.place.update((node.id, place - 1) for node in nodes)


def _operands(node: Node) -> list[int]:
    """What a node and the regions in it use."""
    inner = [value for region in node.regions for other in walk(region) for value in other.operands]
    return [*node.operands, *inner]


def _combine(snap: Snapshot, builder: IRBuilder, before: Node, group: list[Node]) -> None:
    types = [snap.graph.type(node.operands[0]) for node in group]
    first, dtype = group[0], types[0].dtype
    builder.before(snap.ops[before.id])
    flat: list[SSAValue] = []
    for node, type in zip(group, types, strict=True):
        with builder.at(node.loc):
            value = snap.ssa[node.operands[0]]
            flat.append(builder.one(hlo.reshape.name, value, result=TensorType((type.size,), dtype)))
    others = f"{len(group) - 1} more" if len(group) > 2 else cast(str, group[1].attrs[REASON])
    with builder.tagged({REASON: f"{first.attrs[REASON]}; and {others}"}):
        joined = builder.one(hlo.concatenate.name, *flat, dimension=0)
        total = builder.one(REDUCE, joined, axes=first.attrs["axes"], kind=first.attrs["kind"])
    start = 0
    for node, type in zip(group, types, strict=True):
        end = start + type.size
        with builder.at(node.loc):
            part = builder.one(
                hlo.slice_.name, total, start_indices=(start,), limit_indices=(end,), strides=(1,)
            )
            whole = builder.one(hlo.reshape.name, part, result=type)
        Rewriter.replace_op(snap.ops[node.id], [], [whole])
        start = end
