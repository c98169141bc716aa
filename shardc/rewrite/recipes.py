"""Operations of one device that are made as one was made before, but for operands, places and names.

The hundredth layer of a network is localized as the first was: a node with the same attributes, types and
layouts becomes the same operation. Where a node has become a single operation on its own operands, that is
remembered, and the next like it is made without its form. In a folded program each operation says which layer
it is of: what is made again says so of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from msgspec import Struct
from xdsl.dialects.builtin import UNKNOWN_LOC
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.ir import Region as IRRegion

from shardc.diagnostics import Location
from shardc.dialects.attribute_kinds import integers
from shardc.dialects.build import IRBuilder
from shardc.dialects.locations import locate, location_of
from shardc.dialects.nested import nested
from shardc.dialects.quick import body, made
from shardc.forms.localize import Localizer
from shardc.graph import Graph, Node, Region, TensorType
from shardc.graph.builder import Builder
from shardc.graph.marks import LAYER
from shardc.layout import Mesh, Sharding
from shardc.ops import Trait, has

_BY_THEMSELVES = (Trait.REGION, Trait.GLOBAL_COLLECTIVE, Trait.ANNOTATION)
"""Loops, branches and code per device have bodies to localize; each collective says why it is there."""


class _Recipe(Struct, frozen=True):
    """What is the same of operations that like nodes become."""

    kind: type[Operation]
    types: tuple[Attribute, ...]
    properties: dict[str, Attribute]
    attributes: dict[str, Attribute]
    regions: tuple[IRRegion, ...]

    def make(self, operands: Sequence[SSAValue], place: Location, layer: object) -> Operation:
        """The operation; `layer`: what is noted of which it is, if that is."""
        regions = [body(region) for region in self.regions]
        for region in regions:
            for block in region.blocks:
                for inner in (*block.args, *block.ops):
                    locate(inner, place)
        properties, attributes = self.properties.copy(), self.attributes.copy()
        op = made(self.kind, operands, self.types, properties, attributes, UNKNOWN_LOC, regions)
        if layer is not None:
            noted = integers(layer)
            for each in nested([op]):
                if LAYER in each.attributes:
                    each.attributes[LAYER] = noted
        return op


class RememberingLocalizer(Localizer):
    """A Localizer that makes again what it has made before. Its builder is an IRBuilder."""

    def __init__(
        self,
        graph: Graph,
        mesh: Mesh,
        at: Callable[[Node], AbstractContextManager[object]],
        done: Callable[[Node, Sequence[Any]], None],
        entered: Callable[[Region, Sequence[Any]], None],
    ) -> None:
        super().__init__(graph, mesh, at, done, entered)
        self._recipes: dict[Hashable, _Recipe | None] = {}
        self._kinds: dict[tuple[TensorType, Sharding | None], int] = {}
        self._kind_of: dict[int, int] = {}

    def step(self, builder: Builder[Any], node: Node, env: dict[int, Any]) -> list[Any]:
        """Build one node, by the recipe that there is for it."""
        if not isinstance(builder, IRBuilder) or builder.tags or has(node.name, *_BY_THEMSELVES):
            return super().step(builder, node, env)
        key = self._key(node)
        if key not in self._recipes:
            before = builder.last
            values = super().step(builder, node, env)
            self._recipes[key] = self._recipe(node, [env[v] for v in node.operands], before, builder, values)
            return values
        recipe = self._recipes[key]
        if recipe is None:
            return super().step(builder, node, env)
        place = node.loc.named(None)
        made = recipe.make([env[v] for v in node.operands], place, node.attrs.get(LAYER))
        op = builder.insert(made, place)
        for result, value in zip(node.results, op.results, strict=True):
            name_result(value, place, self.graph.values[result].loc)
        return list(op.results)

    def _key(self, node: Node) -> Hashable:
        """Equal for nodes that become the same operation."""
        kinds = tuple(map(self._kind, node.operands)), tuple(map(self._kind, node.results))
        return (node.name, _said(node), kinds, tuple([self._inside(region) for region in node.regions]))

    def _inside(self, region: Region) -> Hashable:
        """Equal for bodies that do the same to their arguments; values from around are those very values."""
        inside: dict[int, int] = {}
        keys: list[Hashable] = []
        for value in region.args:
            inside[value] = -1 - len(inside)
            keys.append(self.graph.type(value))
        for node in region.nodes:
            bodies = tuple([self._inside(inner) for inner in node.regions])
            operands = tuple([inside.get(value, value) for value in node.operands])
            keys.append((node.name, _said(node), operands, self.graph.types(node.results), bodies))
            for value in node.results:
                inside[value] = -1 - len(inside)
        return tuple(keys)

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
        if op is None or op is before or op.prev_op is not before:
            return None
        if (
            list(op.operands) != list(operands)
            or list(op.results) != list(values)
            or not _is_closed(op, node.loc.named(None))
        ):
            return None
        locs = [self.graph.values[result].loc for result in node.results]
        named = [loc.name if is_hint(loc.name) else None for loc in locs]
        placed = [_place(node.loc.named(None), loc, len(locs) == 1) for loc in locs]
        if [value.name_hint for value in values] != named or {location_of(op.location)} != {*placed}:
            return None
        types = tuple(result.type for result in op.results)
        return _Recipe(type(op), types, dict(op.properties), dict(op.attributes), op.regions)


def _said(node: Node) -> Hashable:
    """Equal for nodes that say the same, but for the layer that each is of."""
    attrs = node.attrs
    return id(attrs) if LAYER not in attrs else tuple([(k, id(attrs[k])) for k in attrs if k != LAYER])


def _is_closed(op: Operation, place: Location) -> bool:
    """Whether what is inside uses nothing from around, has no bodies in turn, no names and the one place."""
    for region in op.regions:
        for block in region.blocks:
            inside = {*block.args, *(result for inner in block.ops for result in inner.results)}
            for inner in block.ops:
                if (
                    inner.regions
                    or not inside.issuperset(inner.operands)
                    or location_of(inner.location) != place
                ):
                    return False
            if any(value.name_hint for value in inside):
                return False
    return True


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
