"""regather: a weight gathered once for all uses -> a weight gathered again for later uses.

    %0 = "spmd.all_gather"(%w) {axes = ["data"], dim = 0, …}
    %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0]      // there
    …                                                                    // the loss
    %9 = stablehlo.dot_general %8, %0, contracting_dims = [1] x [1]      // and back: %8 is made from %1

becomes

    %0 = "spmd.all_gather"(%w) {axes = ["data"], dim = 0, …}
    %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0]
    …                                                                    // the whole weight is not there
    %2 = stablehlo.optimization_barrier %w
    %3 = "spmd.all_gather"(%2) {axes = ["data"], dim = 0, …}
    %9 = stablehlo.dot_general %8, %3, contracting_dims = [1] x [1]

Less memory, more bytes sent. Runs by option, on per-device code, and only on gathers that shardc made of
arguments. Uses that need nothing of each other share a copy; so does the same operation again, as in an
unrolled recurrence, if no other gathered copy is used in between. A loop is one use of what is gathered
before it. The barrier keeps other compilers from taking the first copy for the second.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from msgspec import Struct, field
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from shardc.analysis.text import title
from shardc.dialects.build import IRBuilder
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.snapshot import Snapshot
from shardc.graph import Graph, Node, Region, walk
from shardc.graph.marks import REASON, RELEASE
from shardc.ops import Trait, has, hlo, op_of, sdy, spmd
from shardc.passes.graph_pass import GraphPass
from shardc.rewrite.unused import remove_unused

GATHER = spmd.all_gather.name


@dataclass(frozen=True)
class Regather(GraphPass):
    """Gather arguments again rather than keep them.

    From Python: `kept` are the numbers of later uses that take the first copy; `told` is given the bytes of
    the copy that each later use may have.
    """

    name = "regather"
    kept: frozenset[int] = frozenset()
    told: Callable[[list[int]], None] | None = None

    def rewrite(self, shared: SharedGraph) -> bool:
        snap = shared.snapshot()
        builder = IRBuilder(shared.module)
        bodies = [
            _Body(snap.graph, node.regions[0])
            for function in snap.graph.functions.values()
            for node in walk(function.body)
            if node.name == sdy.manual_computation.name
        ]
        later = [(copy, uses) for body in bodies for copy in body.copies for uses in body.groups(copy)[1:]]
        if self.told is not None:
            self.told([snap.graph.type(copy.nodes[-1].results[0]).nbytes for copy, _ in later])
        made = [pair for number, pair in enumerate(later) if number not in self.kept]
        for copy, uses in made:
            _gather(snap, builder, copy, uses)
        if made:
            remove_unused(shared.module.body)
        return bool(made)


class _Copy(Struct, eq=False):
    """A gathered argument: the operations that make it and its views, their results, and what uses these."""

    nodes: list[Node]
    values: set[int]
    uses: list[Node] = field(default_factory=list[Node])


class _Body:
    """The copies in a manual computation, and which uses need results of which."""

    def __init__(self, graph: Graph, body: Region) -> None:
        self.graph = graph
        self.place = {node.id: number for number, node in enumerate(body.nodes)}
        self.copies = _copies(body)
        uses = [(self.place[use.id], copy) for copy in self.copies for use in copy.uses]
        self.uses = sorted(uses, key=lambda use: use[0])
        self.bit = {at: 1 << number for number, at in enumerate(dict.fromkeys(at for at, _ in self.uses))}
        self.needs = self._needs(body)

    def _needs(self, body: Region) -> dict[int, int]:
        """For each use the bits of the uses whose results it needs, by their places."""
        made: dict[int, int] = {}
        needs: dict[int, int] = {}
        for at, node in enumerate(body.nodes):
            bits = 0
            for value in _operands(node):
                bits |= made.get(value, 0)
            needs[at] = bits
            made.update(dict.fromkeys(node.results, bits | self.bit.get(at, 0)))
        return needs

    def groups(self, copy: _Copy) -> list[list[Node]]:
        """The uses that share a copy, in program order."""
        groups: list[list[Node]] = []
        for use in copy.uses:
            if groups and self._shares(copy, groups[-1], use):
                groups[-1].append(use)
            else:
                groups.append([use])
        return groups

    def _shares(self, copy: _Copy, group: list[Node], use: Node) -> bool:
        at = self.place[use.id]
        if not any(self.needs[at] & self.bit[self.place[earlier.id]] for earlier in group):
            return True
        last = group[-1]
        between = range(self.place[last.id] + 1, at)
        others = any(other is not copy and place in between for place, other in self.uses)
        return not others and self._way(copy, use) == self._way(copy, last)

    def _way(self, copy: _Copy, use: Node) -> Hashable:
        """Equal for the same operation on other data."""
        if use.regions:
            return use.id
        taken = tuple((i, value) for i, value in enumerate(use.operands) if value in copy.values)
        return op_of(self.graph, use).key(), taken


def _copies(body: Region) -> list[_Copy]:
    """What shardc gathers of arguments, and of what is made from arguments by views."""
    given = set(body.args)
    copies: list[_Copy] = []
    holder: dict[int, _Copy] = {}
    for node in body.nodes:
        held = {value: holder[value] for value in _operands(node) if value in holder}
        if node.name == GATHER and REASON in node.attrs and given.issuperset(node.operands):
            copies.append(_Copy([node], set(node.results)))
            holder.update(dict.fromkeys(node.results, copies[-1]))
        elif held and (has(node.name, Trait.EXCERPT) or (node.name == GATHER and REASON in node.attrs)):
            (copy,) = held.values()
            copy.nodes.append(node)
            copy.values.update(node.results)
            holder.update(dict.fromkeys(node.results, copy))
        elif has(node.name, Trait.EXCERPT) and given.issuperset(node.operands):
            given.update(node.results)
        else:
            for copy in dict.fromkeys(held.values()):
                copy.uses.append(node)
    return copies


def _operands(node: Node) -> list[int]:
    """What a node and the regions in it use."""
    inner = [value for region in node.regions for other in walk(region) for value in other.operands]
    return [*node.operands, *inner]


def _gather(snap: Snapshot, builder: IRBuilder, copy: _Copy, uses: list[Node]) -> None:
    """Make a copy before the first of these uses, for all of them."""
    first = copy.nodes[0]
    builder.before(snap.ops[uses[0].id])
    with builder.at(first.loc):
        block = builder.one(hlo.optimization_barrier.name, snap.ssa[first.operands[0]])
    made: dict[SSAValue, SSAValue] = {snap.ssa[first.operands[0]]: block}
    for node in copy.nodes:
        again = snap.ops[node.id].clone(made)
        if node.name == GATHER:
            why = f"{node.attrs[REASON]}, again for {title(uses[0])}"
            again.attributes[REASON] = StringAttr(why)
            for made_by in (snap.ops[node.id], again):
                made_by.attributes[RELEASE] = StringAttr("after its last use")
        for old, new in zip(snap.ops[node.id].results, again.results, strict=True):
            new.name_hint = old.name_hint
        Rewriter.insert_op(again, InsertPoint.before(snap.ops[uses[0].id]))
    for use in uses:
        for op in snap.ops[use.id].walk():
            for index, operand in enumerate(op.operands):
                op.operands[index] = made.get(operand, operand)
