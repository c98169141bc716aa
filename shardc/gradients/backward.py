"""The backward pass: operations from the last to the first, each by the formula of its definition."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from shardc.gradients.cotangents import NONE, Cotangents, Pending
from shardc.gradients.forward import Forward
from shardc.gradients.marks import STOP
from shardc.gradients.program import Program, derivative_of
from shardc.gradients.recording import Writer
from shardc.gradients.values import Values
from shardc.graph import Node, Region
from shardc.graph.marks import GROUP
from shardc.layout import Axis
from shardc.ops import Trait, has, hlo, op_of
from shardc.ops.derivative import Missing, Step, Summed
from shardc.ops.derivatives.terms import Term


class Slice(Struct, frozen=True):
    """A cotangent of a part of a stack: of the layer that a turn of a loop read."""

    node: Node
    term: Any
    places: tuple[Any, ...]
    pending: Pending


Special = Callable[["Backward", Node], None]


class Backward(Struct, dict=True):
    """The backward pass of one region. `stacks` are values of which parts are read turn by turn: what their
    parts get is kept apart, in `slices`.
    """

    program: Program
    writer: Writer[Any]
    values: Values
    special: Mapping[str, Special]
    stacks: frozenset[int] = frozenset()
    slices: dict[int, list[Slice]] = {}

    @cached_property
    def cotangents(self) -> Cotangents:
        return Cotangents(self.program, self.writer)

    def region(self, region: Region) -> None:
        """Take the cotangents of a region's values back to its arguments, and to what it reads outside."""
        for node in reversed(region.nodes[:-1]):
            if any(map(self.cotangents.has, node.results)) and any(
                v in self.program.active for v in node.results
            ):
                with self.writer.at(replace(node.loc, name=None)):
                    self.special.get(node.name, Backward.plain)(self, node)

    def seed(
        self, values: Sequence[int], cotangents: Sequence[Any], over: Sequence[Pending] | None = None
    ) -> None:
        """Begin with the cotangents of values; `over` are the axes over which each may differ."""
        for i, (value, ct) in enumerate(zip(values, cotangents, strict=True)):
            if ct is not None and value in self.program.active:
                held = self.program.over(value)
                self.cotangents.add(value, ct, (over[i] - held) if over else NONE)

    def plain(self, node: Node) -> None:
        """By the formula of the operation."""
        program, graph = self.program, self.program.graph
        cts, later = self._taken(node)
        derivative = derivative_of(node)
        if derivative is None:
            short = node.name.partition(".")[2]
            raise program.error(
                f"{short} has no derivative", node, "stop_gradient(x) before it leaves it out"
            )
        if STOP in node.attrs:
            return
        flows = range(len(node.operands)) if derivative.flows is None else derivative.flows
        wanted = frozenset(i for i in flows if node.operands[i] in program.active)
        if self._slice(node, cts, wanted, later):
            return
        forward = Forward(program, self.writer, {})
        step = Step(
            op_of(graph, node),
            lambda i: Term(self.writer, self.values[node.operands[i]]),
            lambda i: Term(self.writer, self.values[node.results[i]]),
            [forward.body(region, {}) for region in node.regions],
            node.regions,
            str(node.attrs.get(GROUP, "")).partition("#")[0],
            lambda i, axes: self._same(node.operands[i], axes),
            lambda i, axes: self._partial(node.operands[i], axes),
        )
        terms = [None if ct is None else Term(self.writer, ct) for ct in cts]
        try:
            found = derivative.vjp(step, terms, wanted)
        except Missing as missing:
            raise program.error(str(missing), node) from None
        for i in sorted(found):
            if found[i] is not None:
                self._give(node, i, found[i], later)

    def _taken(self, node: Node) -> tuple[list[Any | None], Pending]:
        """The cotangents of the results, and over which axes they are still to be summed: later, if what the
        operation is made of is no larger than what it makes.
        """
        sizes = [self.program.graph.type(v).size for v in node.operands if v in self.program.active]
        if len(node.results) == 1 and not has(node.name, Trait.COLLECTIVE):
            (result,) = node.results
            if sum(sizes) <= self.program.graph.type(result).size:
                ct, later = self.cotangents.take_common(result)
                return [ct], later
        return [self.cotangents.take(v) for v in node.results], NONE

    def _give(self, node: Node, i: int, found: Any, later: Pending) -> None:
        program, operand = self.program, node.operands[i]
        if isinstance(found, Summed):
            pending = program.parts_of(found.axes) - program.over(operand)
            self.cotangents.add(operand, found.term.v, pending | later)
            return
        self.cotangents.add(operand, found.v, self.pending(node, operand) | later)

    def pending(self, node: Node, operand: int) -> Pending:
        """The axes over which an operand is the same and the results are not."""
        results = NONE.union(*(self.program.over(r) for r in node.results))
        return results - self.program.over(operand)

    def _same(self, value: int, axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
        parts = self.program.parts_of(axes)
        return self.program.axes(parts - self.program.over(value))

    def _partial(self, value: int, axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return self.program.axes(self.program.parts_of(axes) & self.program.state(value).partial)

    def _slice(self, node: Node, cts: Sequence[Any], wanted: frozenset[int], later: Pending) -> bool:
        """Keep what the layer of a stack gets apart."""
        if node.name != hlo.dynamic_slice.name or node.operands[0] not in self.stacks or 0 not in wanted:
            return False
        places = tuple(self.values[v] for v in node.operands[1:])
        found = Slice(node, cts[0], places, self.pending(node, node.operands[0]) | later)
        self.slices.setdefault(node.operands[0], []).append(found)
        return True
