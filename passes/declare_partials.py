"""declare-partials: per-device code -> the same with the operand of every reduction declared partial.

    %z = stablehlo.dot_general %a, %b, …
    %t = stablehlo.transpose %z, …
    %y = "spmd.all_reduce"(%t) {axes = ["j"], kind = "sum"}
    %x = "spmd.all_reduce"(%block) {axes = ["j"], kind = "sum"}

becomes

    %z = stablehlo.dot_general %a, %b, … {shardc.partial_over = ["j"]}
    %t = stablehlo.transpose %z, …
    %y = "spmd.all_reduce"(%t) {axes = ["j"], kind = "sum"}
    %p = "spmd.as_partial"(%block) {axes = ["j"], kind = "sum"}
    %x = "spmd.all_reduce"(%p) {axes = ["j"], kind = "sum"}

That a value is reduced says that it is a partial result, from the operation that made it on. With that said,
the check refuses the program as soon as the reduction is lost or runs over another axis, which else it cannot
see of a value that may differ between devices. A value with other uses is partial for its reduction only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec.structs import replace

from shardc.check.partials import Paths, natural_kind
from shardc.check.varying import VaryingTypes
from shardc.diagnostics import collecting
from shardc.dialects.build import IRBuilder
from shardc.dialects.convert import attribute_of
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.snapshot import Snapshot
from shardc.graph import Graph, Node, walk
from shardc.graph.marks import CALL, LAYER, PARTIAL_OVER
from shardc.layout import Axis, axis_named, merge, text_of
from shardc.ops import Trait, has, is_tensor_op, sdy, spmd
from shardc.passes.graph_pass import GraphPass


class DeclarePartials(GraphPass):
    """Say of everything that per-device code reduces that it is partial."""

    name = "declare-partials"

    def rewrite(self, shared: SharedGraph) -> bool:
        snap, changed = shared.snapshot(), False
        with collecting():
            types = shared.varying()
        for function in snap.graph.functions.values():
            for node in function.body.nodes:
                if node.name == sdy.manual_computation.name:
                    changed |= _Declarer(snap, types[node.id], node).run()
        return changed


class _Declarer:
    def __init__(self, snap: Snapshot, types: VaryingTypes, manual: Node) -> None:
        self.snap, self.types = snap, types
        self.graph: Graph = snap.graph
        self.nodes = list(walk(manual.regions[0]))
        self.paths = Paths(snap.graph, self.nodes)
        self.builder = IRBuilder(snap.module)

    def run(self) -> bool:
        """Declare the operand of every reduction over axes that it varies over; whether there was any."""
        changed = False
        for end in self.nodes:
            if has(end.name, Trait.COMBINES):
                axes = self.types.parts.of(cast("tuple[Axis, ...]", end.attrs["axes"]))
                over = self.sorted(axes & self.types[end.operands[0]].varies)
                if over:
                    self.declare(end, over, str(end.attrs["kind"]))
                    changed = True
        return changed

    def sorted(self, axes: frozenset[Axis]) -> tuple[Axis, ...]:
        return tuple(merge(sorted(axes, key=self.types.parts.mesh.order)))

    def declare(self, end: Node, over: Sequence[Axis], kind: str) -> None:
        """The value that a reduction takes is partial, from as early on as an operation can say so."""
        value, first = end.operands[0], None
        while (maker := self.paths.makers.get(value)) is not None and self.straight(value, over, kind):
            if self.may_say(maker, kind):
                first = maker
            before, index = self.paths.kind_before(maker, kind), self.paths.carried(maker)
            if before is None or index is None:
                break
            value, kind = maker.operands[index], before
        if first is not None:
            self.mark(first, over)
        else:
            self.insert(end, over)

    def straight(self, value: int, over: Sequence[Axis], kind: str) -> bool:
        """Whether the value varies over the axes and nothing but reductions of this kind comes of it."""
        if not self.types.parts.of(over) <= self.types[value].varies:
            return False
        return self.paths.goes_straight(value, over, kind)

    def may_say(self, maker: Node, kind: str) -> bool:
        """Whether an operation can say that its result is partial."""
        plain = is_tensor_op(maker.name) and not has(maker.name, Trait.REGION)
        return plain and len(maker.results) == 1 and natural_kind(self.graph, maker) == kind

    def mark(self, maker: Node, over: Sequence[Axis]) -> None:
        mesh, attributes = self.types.parts.mesh, self.snap.ops[maker.id].attributes
        held = cast("tuple[str, ...]", maker.attrs.get(PARTIAL_OVER, ()))
        parts = self.types.parts.of([*over, *(axis_named(text, mesh) for text in held)])
        texts = tuple(text_of(axis, mesh) for axis in self.sorted(parts))
        maker.attrs = {**maker.attrs, PARTIAL_OVER: texts}
        attributes[PARTIAL_OVER] = attribute_of(PARTIAL_OVER, texts)

    def insert(self, end: Node, over: Sequence[Axis]) -> None:
        """spmd.as_partial before a reduction: the value under its own name, in the call of the reduction."""
        op = self.snap.ops[end.id]
        self.builder.before(op)
        notes = {name: end.attrs[name] for name in (CALL, LAYER) if name in end.attrs}
        loc = replace(end.loc, name=self.graph.values[end.operands[0]].loc.name)
        with self.builder.at(loc), self.builder.tagged(notes):
            op.operands[0] = self.builder.one(
                spmd.as_partial.name, op.operands[0], axes=tuple(over), kind=str(end.attrs["kind"])
            )
