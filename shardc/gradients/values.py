"""What the backward pass knows of the forward pass: its values, or how to make them again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shardc.gradients.program import Program
from shardc.gradients.recording import Writer
from shardc.graph import Node, Region
from shardc.ops import Trait, has, hlo

_AGAIN = (hlo.broadcast_in_dim.name, hlo.reshape.name, hlo.constant.name, hlo.iota.name)
"""Operations that are rather done again than their results stored."""

_LIGHT = frozenset(
    op.name
    for op in (
        hlo.add,
        hlo.and_,
        hlo.compare,
        hlo.convert,
        hlo.maximum,
        hlo.minimum,
        hlo.multiply,
        hlo.negate,
        hlo.not_,
        hlo.or_,
        hlo.select,
        hlo.subtract,
    )
)
"""Arithmetic that takes less than reading its result from memory."""


class Values:
    """The values of one region, by number. What is not `known` is made again if that takes little, looked up
    outside if it is from there, else given by `lacking`.

    `fixed`: arguments that are the same in all turns of a loop, and its counter; what follows from them alone
    is made again too.
    """

    def __init__(
        self,
        program: Program,
        writer: Writer[Any],
        region: Region,
        known: Mapping[int, Any],
        *,
        outer: Values | None = None,
        lacking: Callable[[int], Any] | None = None,
        fixed: frozenset[int] = frozenset(),
    ) -> None:
        self.program, self.writer, self.region = program, writer, region
        self.known, self.outer, self.lacking, self.fixed = dict(known), outer, lacking, fixed
        self._makers: dict[int, Node] = {v: node for node in region.nodes for v in node.results}
        self._rests: dict[int, bool] = {}

    def __getitem__(self, value: int) -> Any:
        if value not in self.known:
            self.known[value] = self._found(value)
        return self.known[value]

    def _found(self, value: int) -> Any:
        if self.program.home.get(value) != id(self.region):
            assert self.outer is not None
            return self.outer[value]
        node = self._makers.get(value)
        if node is not None and (self._is_cheap(node) or self.lacking is None):
            return self._again(node)
        assert self.lacking is not None, f"value {value} is not stored"
        return self.lacking(value)

    def least(self, needed: Sequence[int], had: Sequence[int] = ()) -> tuple[int, ...]:
        """Those of the values that are stored, so that the others follow from them, and from what is had
        anyway, by light arithmetic.
        """
        known = frozenset((*needed, *had))
        return tuple(v for v in needed if not self._follows(v, known))

    def _follows(self, value: int, needed: frozenset[int]) -> bool:
        node = self._makers.get(value)
        return (
            node is not None
            and (node.name in _LIGHT or has(node.name, Trait.MOVES))
            and all(self._is_had(v, needed) for v in node.operands)
        )

    def _is_had(self, value: int, needed: frozenset[int]) -> bool:
        """Whether a value is among the needed ones, or made again without much ado from such."""
        if value in needed or value in self.region.args:
            return value in needed or value in self.fixed
        node = self._makers.get(value)
        return (
            node is not None and self._is_cheap(node) and all(self._is_had(v, needed) for v in node.operands)
        )

    def _again(self, node: Node) -> Any:
        types = self.program.graph.types(node.results)
        attrs: dict[str, Any] = {k: v for k, v in node.attrs.items() if not k.startswith("shardc.")}
        with self.writer.at(node.loc):
            (made,) = self.writer.op(node.name, *(self[v] for v in node.operands), results=types, **attrs)
        return made

    def _is_cheap(self, node: Node) -> bool:
        return node.name in _AGAIN or any(self._rests_on_fixed(v) for v in node.results)

    def _rests_on_fixed(self, value: int) -> bool:
        if not self.fixed:
            return False
        if value not in self._rests:
            node = self._makers.get(value)
            self._rests[value] = value in self.fixed or (
                node is not None
                and not node.regions
                and len(node.results) == 1
                and not has(node.name, Trait.PRODUCT)
                and not has(node.name, Trait.COLLECTIVE)
                and not has(node.name, Trait.CALL)
                and all(self._rests_on_fixed(v) for v in node.operands)
            )
        return self._rests[value]
