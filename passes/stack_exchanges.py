"""stack-exchanges: all-to-alls of equal arrays -> the same side by side, sent as one of their stack.

    %0 = "spmd.all_to_all"(%q) {axes = ["d"], split_dim = 2, concat_dim = 1, …}    // f32[2, 16, 8, 16]
    %1 = "spmd.all_to_all"(%k) {axes = ["d"], split_dim = 2, concat_dim = 1, …}
    %2 = stablehlo.dot_general %0, %1
    %3 = "spmd.all_to_all"(%v) {axes = ["d"], split_dim = 2, concat_dim = 1, …}
    %4 = stablehlo.dot_general %2, %3

becomes

    %0 = "spmd.all_to_all"(%q) {axes = ["d"], split_dim = 2, concat_dim = 1, …}
    %1 = "spmd.all_to_all"(%k) {axes = ["d"], split_dim = 2, concat_dim = 1, …, shardc.together = …}
    %3 = "spmd.all_to_all"(%v) {axes = ["d"], split_dim = 2, concat_dim = 1, …, shardc.together = …}
    %2 = stablehlo.dot_general %0, %1
    %4 = stablehlo.dot_general %2, %3

and is written as `lax.all_to_all` of `jnp.stack([q, k, v])`. They go where the first of their results is
needed: those whose operands are there by then, and between whose needs nothing else is sent.

Runs by option, for JAX, on per-device code, on all-to-alls that shardc made of arrays of one type, over the
same axes, from and to the same dimensions, the same on the same devices, with `bytes` together at most. What
goes to one device, and what came from one, is in many pieces of an array whose dimensions before those are
not all 1: it is laid together piece by piece, and a stack of several so as well, without another copy. Where
it is in one piece, they are sent as one only on a machine whose latency takes longer than the copies.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from math import prod
from typing import cast

from msgspec import Struct
from xdsl.dialects.builtin import StringAttr
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.analysis.collectives import axes_of, sends
from shardc.analysis.loops import bodies
from shardc.check.varying import VaryingTypes
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.snapshot import Snapshot
from shardc.graph import Graph, Node, Region, TensorType, walk
from shardc.graph.marks import REASON, TOGETHER
from shardc.graph.program import own_attrs
from shardc.ops import spmd
from shardc.passes.graph_pass import GraphPass
from shardc.planning.machines import Machine, Stages, Wanted, load
from shardc.rewrite.waiting import operands


@dataclass(frozen=True)
class StackExchanges(GraphPass):
    """Put all-to-alls of up to `bytes` together side by side, on a `machine` (a Machine or its name) also
    where that takes copies, if it is quicker."""

    name = "stack-exchanges"
    bytes: int = 1 << 25
    machine: Machine | str | None = None

    def rewrite(self, shared: SharedGraph) -> bool:
        graph = shared.snapshot().graph
        if all(_few(graph, function.body) for function in graph.functions.values()):
            return False
        codes = shared.per_device()
        groups = [group for code, types in codes for group in self._worth_it(graph, code, types)]
        for group in groups:
            _move(shared.snapshot(), group)
        return bool(groups)

    def _worth_it(self, graph: Graph, code: Node, types: VaryingTypes) -> Iterator[_Group]:
        machine = load(self.machine) if isinstance(self.machine, str) else self.machine
        stages = Stages(machine, types.parts.mesh) if machine and machine.has_latency else None
        for region in bodies(code.regions[0]):
            yield from (g for g in _groups(graph, types, region, self.bytes) if _pays(graph, g, stages))


class _Exchange(Struct, frozen=True):
    """An all-to-all at a place of its region, and the places of the node that makes its operand (-1: none)
    and of the first that needs its result."""

    node: Node
    place: int
    there: int
    needed: int


class _Group(Struct, frozen=True):
    """All-to-alls that can be sent as one, and the node before which they are then."""

    nodes: list[Node]
    before: Node


def _few(graph: Graph, region: Region) -> bool:
    """Whether no two all-to-alls are of one type."""
    found = [graph.type(node.operands[0]) for node in walk(region) if node.name == spmd.all_to_all.name]
    return len(found) == len(set(found))


def _groups(graph: Graph, types: VaryingTypes, region: Region, most: int) -> list[_Group]:
    """Those of a region that have several."""
    alike: dict[Hashable, list[_Exchange]] = {}
    for exchange in _exchanges(region):
        alike.setdefault(_kind(graph, types, exchange.node), []).append(exchange)
    sending = [place for place, node in enumerate(region.nodes) if _sends(node)]
    found: list[_Group] = []
    for waiting in alike.values():
        waiting.sort(key=lambda exchange: exchange.needed)
        count = most // max(1, graph.type(waiting[0].node.operands[0]).nbytes)
        while waiting:
            taken = _together(waiting, sending)[: max(1, count)]
            waiting = [each for each in waiting if each not in taken]
            if len(taken) > 1:
                found.append(_Group([each.node for each in taken], region.nodes[taken[0].needed]))
    return found


def _together(waiting: list[_Exchange], sending: list[int]) -> list[_Exchange]:
    """The first of some, by need, and those that can go with it: nothing else is sent in between."""
    first, *others = waiting
    taken = [first]
    for other in others:
        own = {each.place for each in (*taken, other)}
        if any(first.needed <= place < other.needed and place not in own for place in sending):
            break
        if other.there < first.needed:
            taken.append(other)
    return taken


def _sends(node: Node) -> bool:
    """Whether devices exchange data in a node, or in the regions in it."""
    return sends(node) or any(sends(inner) for region in node.regions for inner in walk(region))


def _exchanges(region: Region) -> Iterator[_Exchange]:
    """The all-to-alls of a region that shardc made, but for such of what another one gives."""
    made, used = dict[int, int](), dict[int, int]()
    for place, node in enumerate(region.nodes):
        for value in operands(node):
            used.setdefault(value, place)
        made.update(dict.fromkeys(node.results, place))
    for place, node in enumerate(region.nodes):
        if node.name == spmd.all_to_all.name and REASON in node.attrs and node.results[0] in used:
            there = made.get(node.operands[0], -1)
            if there < 0 or region.nodes[there].name != spmd.all_to_all.name:
                yield _Exchange(node, place, there, used[node.results[0]])


def _kind(graph: Graph, types: VaryingTypes, node: Node) -> Hashable:
    """Equal for those that can be one."""
    how = types[node.operands[0]]
    alike = frozenset(how.varies), frozenset(how.partial)
    return graph.type(node.operands[0]), tuple(sorted(own_attrs(node).items())), alike


def _pays(graph: Graph, group: _Group, stages: Stages | None) -> bool:
    """Whether a stack takes no copies that each does not take alone, or they take less than latency."""
    first = group.nodes[0]
    operand, result = graph.type(first.operands[0]), graph.type(first.results[0])
    pieces = _is_apart(operand, first, "split_dim") + _is_apart(result, first, "concat_dim")
    if pieces == 2 or stages is None:
        return pieces == 2
    wanted = Wanted(spmd.all_to_all, axes_of(first), operand.shape, operand.numpy.itemsize)
    count = len(group.nodes)
    stack = Wanted(wanted.op, wanted.over, (count, *operand.shape), wanted.itemsize)
    copied = stages.machine.work(0, "other", 2 * (2 - pieces) * stack.nbytes)
    return stages.at_once(stack) + copied < count * stages.at_once(wanted)


def _is_apart(type: TensorType, node: Node, dim: str) -> bool:
    """Whether parts of a dimension are in several pieces."""
    return prod(type.shape[: cast(int, node.attrs[dim])]) != 1


def _move(snap: Snapshot, group: _Group) -> None:
    """Put the all-to-alls of a group before the node that needs one of them first."""
    before = snap.ops[group.before.id]
    for number, op in enumerate(snap.ops[node.id] for node in group.nodes):
        op.detach()
        Rewriter.insert_op(op, InsertPoint.before(before))
        if number:
            op.attributes[TOGETHER] = StringAttr("with the one before")
