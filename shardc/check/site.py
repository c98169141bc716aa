"""One operation as its typing rule sees it: the operands' states, and how to speak of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import cast

from msgspec import Struct

from shardc.analysis.text import name_of
from shardc.check.state import SAME, AxisParts, State
from shardc.diagnostics import ShardcError, warn
from shardc.graph import Graph, Location, Node
from shardc.graph.marks import GROUP
from shardc.layout import Axis
from shardc.ops import Trait, find, has, hlo, op_of


def called(name: str) -> str:
    """What a program calls an operation: its function in the language, else its name without dialect."""
    definition = find(name)
    if definition is None:
        return name.partition(".")[2]
    return definition.spelling.language or definition.spelling.called or definition.short


class CheckedOp(Struct, frozen=True, dict=True):
    """A node, and the states of all values before it. `manual` names the axes the code is written over,
    `makers` are the nodes that made the values. In a loop whose values may come to vary over more axes in
    later turns it is not `settled`.
    """

    graph: Graph
    node: Node
    parts: AxisParts
    manual: frozenset[str]
    known: Mapping[int, State]
    makers: Mapping[int, Node] = {}
    settled: bool = True

    @cached_property
    def states(self) -> tuple[State, ...]:
        """The states of the operands."""
        return tuple([self.known.get(v, SAME) for v in self.node.operands])

    @property
    def op_name(self) -> str:
        """What a program calls the operation: the function it is a part of, else its name without dialect."""
        group = str(self.node.attrs.get(GROUP, "")).partition("#")[0]
        if self.node.name == hlo.reduce.name and not group:
            group = op_of(self.graph, self.node).combiner or ""
        return group or called(self.node.name)

    def axes(self, key: str = "axes") -> frozenset[Axis]:
        """The parts of the axes in an attribute; ShardcError for one the code is not written over."""
        axes = cast(tuple[Axis, ...], self.node.attrs[key])
        for axis in axes:
            if axis.name not in self.manual:
                raise self.error(
                    f"{self.op_name} over {axis.name}, which this code is not written per device of",
                    f"it is written over {', '.join(sorted(self.manual)) or 'no axis'}",
                )
        return self.parts.of(axes)

    def name(self, index: int) -> str:
        """What the source calls an operand, or that which it is made from without computing."""
        value = self.node.operands[index]
        while (name := name_of(self.graph.values[value].loc)) is None:
            maker = self.makers.get(value)
            if maker is None or not (has(maker.name, Trait.VIEW) or maker.name == hlo.convert.name):
                return f"operand {index + 1}"
            (value,) = maker.operands
        return name

    def result(self) -> str:
        """What the source calls the first result."""
        return name_of(self.graph.values[self.node.results[0]].loc) or f"the result of {self.op_name}"

    def operand(self, index: int) -> str:
        """`z: f32[2, 32]{varies: i, j}`."""
        value = self.node.operands[index]
        return f"{self.name(index)}: {self.parts.type_text(self.graph.type(value), self.states[index])}"

    def operands(self, indices: Iterable[int] | None = None) -> str:
        """All operands, or some, with their types."""
        return ", ".join(map(self.operand, range(len(self.node.operands)) if indices is None else indices))

    @property
    def loc(self) -> Location:
        """Where the operation stands, or else the first value it takes."""
        candidates = (self.node.loc, *(self.graph.values[v].loc for v in self.node.operands))
        return next((loc for loc in candidates if loc.file), self.node.loc)

    def error(self, message: str, hint: str | None = None) -> ShardcError:
        return ShardcError(message, self.loc, hint)

    def warn(self, message: str, hint: str | None = None) -> None:
        warn(message, self.loc, hint)
