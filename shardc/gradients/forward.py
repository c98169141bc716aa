"""The forward pass: a region built again, with what the backward pass needs stored on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from shardc.gradients.program import Program
from shardc.gradients.recording import Writer
from shardc.graph import Node, Region
from shardc.graph.marks import GROUP
from shardc.layout import Sharding
from shardc.ops import sdy

Special = Callable[["Forward", Node, dict[int, Any]], bool]
"""Builds an operation in its own way; False if the plain way will do."""


class Forward:
    """Builds regions; `special` are operations that store something besides, by name."""

    def __init__(self, program: Program, writer: Writer[Any], special: Mapping[str, Special]) -> None:
        self.program, self.writer, self.special = program, writer, special
        self._groups: dict[str, str] = {}

    def region(self, region: Region, known: dict[int, Any]) -> list[Any]:
        """Build the nodes of a region whose arguments are known; its results."""
        for node in region.nodes[:-1]:
            special = self.special.get(node.name)
            if special is None or not special(self, node, known):
                self.node(node, known)
        return [known[value] for value in region.results]

    def node(self, node: Node, known: dict[int, Any]) -> None:
        """Build one operation as it is."""
        regions = [self.body(region, known) for region in node.regions]
        self.emit(node, [known[v] for v in node.operands], regions, known)

    def emit(
        self,
        node: Node,
        operands: Sequence[Any],
        regions: Sequence[Any],
        known: dict[int, Any],
        more: Sequence[Any] = (),
        **attrs: Any,
    ) -> list[Any]:
        """Build an operation with these operands and regions; the values of its `more` last results."""
        types = [*self.program.graph.types(node.results), *more]
        loc = node.loc if len(node.results) != 1 else self.program.graph.values[node.results[0]].loc
        with self.writer.at(loc if loc.file else replace(node.loc, name=loc.name)):
            made = self.writer.op(
                node.name, *operands, results=types, regions=regions, **{**self.attrs(node), **attrs}
            )
        count = len(node.results)
        known.update(zip(node.results, made, strict=False))
        named = [(known[r], self.program.graph.values[r].loc.name) for r in node.results]
        self.writer.name([v for v, name in named if name], [name for _, name in named if name])
        return made[count:]

    def body(self, region: Region, known: dict[int, Any]) -> Any:
        """A region of an operation, as it is built."""

        def build(_: Any, *args: Any) -> list[Any]:
            self.name(region.args, args)
            return self.region(region, {**known, **dict(zip(region.args, args, strict=True))})

        return self.program.graph.types(region.args), build

    def name(self, values: Sequence[int], built: Sequence[Any]) -> None:
        """Give arguments of bodies their names."""
        named = [(b, self.program.graph.values[v].loc.name) for v, b in zip(values, built, strict=False)]
        self.writer.name([b for b, name in named if name], [name for _, name in named if name])

    def attrs(self, node: Node) -> dict[str, object]:
        """The attributes of a node; what is one function stays one, apart from that it is a copy of."""
        label = node.attrs.get(GROUP)
        if not isinstance(label, str):
            return dict(node.attrs)
        if label not in self._groups:
            self._groups[label] = self.writer.group_like(label)
        return {**node.attrs, GROUP: self._groups[label]}


def shardings(node: Node, name: str) -> list[Sharding]:
    """in_shardings or out_shardings of a sdy.manual_computation."""
    assert node.name == sdy.manual_computation.name
    return list(node.attrs[name])  # pyright: ignore[reportArgumentType,reportUnknownArgumentType,reportUnknownVariableType]
