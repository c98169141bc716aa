"""Operations of one device that are made as one was made before, but for operands, places and names.

The hundredth layer of a network is localized as the first was: a node with the same attributes, types and
layouts becomes the same operation. Where a node has become a single operation on its own operands, that is
remembered, and the next like it is made without its form.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from shardc.diagnostics import Location
from shardc.dialects.build import IRBuilder
from shardc.dialects.locations import locate, location_of
from shardc.forms.localize import Localizer
from shardc.graph import Graph, Node, TensorType
from shardc.graph.builder import Builder
from shardc.layout import Mesh, Sharding
from shardc.ops import Trait, has


@dataclass(frozen=True, slots=True)
class _Recipe:
    """What is the same of operations that like nodes become."""

    kind: type[Operation]
    types: tuple[Attribute, ...]
    properties: dict[str, Attribute]
    attributes: dict[str, Attribute]

    def make(self, operands: Sequence[SSAValue]) -> Operation:
        return self.kind.create(
            operands=operands,
            result_types=self.types,
            properties=self.properties,
            attributes=self.attributes,
        )


class RememberingLocalizer(Localizer):
    """A Localizer that makes again what it has made before. Its builder is an IRBuilder."""

    def __init__(
        self,
        graph: Graph,
        mesh: Mesh,
        at: Callable[[Node], AbstractContextManager[object]],
        done: Callable[[Node, Sequence[Any]], None],
    ) -> None:
        super().__init__(graph, mesh, at, done)
        self._recipes: dict[Hashable, _Recipe | None] = {}
        self._kinds: dict[tuple[TensorType, Sharding | None], int] = {}
        self._kind_of: dict[int, int] = {}

    def step(self, builder: Builder[Any], node: Node, env: dict[int, Any]) -> list[Any]:
        """Build one node, by the recipe that there is for it."""
        if node.regions or not isinstance(builder, IRBuilder) or builder.tags:
            return super().step(builder, node, env)
        key = (node.name, id(node.attrs), *map(self._kind, node.operands), None, *map(self._kind, node.results))
        if key not in self._recipes:
            before = builder.last
            values = super().step(builder, node, env)
            self._recipes[key] = self._recipe(node, [env[v] for v in node.operands], before, builder, values)
            return values
        recipe = self._recipes[key]
        if recipe is None:
            return super().step(builder, node, env)
        place = node.loc.named(None)
        op = builder.insert(recipe.make([env[v] for v in node.operands]), place)
        for result, value in zip(node.results, op.results, strict=True):
            name_result(value, place, self.graph.values[result].loc)
        return list(op.results)

    def _kind(self, value: int) -> int:
        """The same for values of one type and sharding."""
        known = self._kind_of.get(value)
        if known is None:
            kind = self.graph.type(value), self.shardings.get(value)
            known = self._kind_of[value] = self._kinds.setdefault(kind, len(self._kinds))
        return known

    def _recipe(
        self,
        node: Node,
        operands: Sequence[SSAValue],
        before: Operation | None,
        builder: IRBuilder,
        values: Sequence[SSAValue],
    ) -> _Recipe | None:
        """How a node was built; None if it became more than an operation on its operands, or has names of
        its own."""
        op = builder.last
        if op is None or op is before or op.prev_op is not before or has(node.name, Trait.GLOBAL_COLLECTIVE):
            return None
        if op.regions or list(op.operands) != list(operands) or list(op.results) != list(values):
            return None
        locs = [self.graph.values[result].loc for result in node.results]
        named = [loc.name if is_hint(loc.name) else None for loc in locs]
        placed = [_place(node.loc.named(None), loc, len(locs) == 1) for loc in locs]
        if [value.name_hint for value in values] != named or {location_of(op.location)} != {*placed}:
            return None
        types = tuple(result.type for result in op.results)
        return _Recipe(type(op), types, dict(op.properties), dict(op.attributes))


def name_result(value: OpResult, place: Location, loc: Location) -> None:
    """Give a result, whose operation was made at `place`, the name and the place of the global value."""
    hint(value, loc.name)
    locate(value.op, _place(place, loc, len(value.op.results) == 1))


def _place(made: Location, loc: Location, alone: bool) -> Location:
    """Where an operation is: where it was made, with the name of its result if it has but one."""
    own = loc if alone else loc.named(None)
    return made.named(own.name) if made.file else own


def hint(value: SSAValue, name: str | None) -> None:
    """Let a value be called so, if it can be."""
    if is_hint(name):
        value.name_hint = name


def is_hint(name: str | None) -> bool:
    """Whether values can be called so."""
    return bool(name and SSAValue.is_valid_name(name))
