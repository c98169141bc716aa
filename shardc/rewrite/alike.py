"""What operations that do the same have in common: a key, equal for them, that is quick to hash.

    alike = Alike(ignored=lambda name: name == "shardc.reason")
    alike.key(op, number)    # `number` says of each operand which value it is

Attributes stand in a key as numbers. Operations share most attribute objects, and each is hashed once.
"""

# pyright: reportPrivateUsage=false
# op.operands makes an object each time, and a value's type is a call

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from msgspec import Struct
from xdsl.ir import Attribute, Operation, Region, SSAValue

Number = Callable[[SSAValue], Hashable]


def _name(op: Operation) -> Hashable:
    return op.name


class Alike(Struct):
    """Keys of operations, blind to the attributes (no properties) that are `ignored`.

    `named` gives what must be equal of the operations themselves: unless said, their names.
    """

    ignored: Callable[[str], bool]
    named: Callable[[Operation], Hashable] = _name
    _numbers: dict[Attribute, int] = {}
    _seen: dict[int, tuple[Attribute, int]] = {}
    _kinds: dict[Hashable, Hashable] = {}
    """Kinds of operations by the ids of their attributes and types, which `_seen` keeps."""

    def number(self, attr: Attribute) -> int:
        """Equal for equal attributes, and for no others."""
        known = self._seen.get(id(attr))
        if known is None:  # the attribute is kept, so that no other gets its id
            known = self._seen[id(attr)] = attr, self._numbers.setdefault(attr, len(self._numbers))
        return known[1]

    def key(self, op: Operation, number: Number) -> Hashable:
        """Equal for operations that do the same with the same operands; values inside are numbered here."""
        return self._key(op, number, {})

    def kind(self, op: Operation) -> Hashable:
        """Equal for operations that do the same to values of the same types."""
        if op.regions:
            return (self.key(op, lambda _: None), *[self.number(value.type) for value in op.operands])
        number, held = self.number, op.properties
        named = op.name if self.named is _name else self.named(op)
        used = [value._type for value in op._operands]
        made = [result._type for result in op.results]
        noted = self._noted(op) if op.attributes else None
        same = (named, *map(id, used), None, *map(id, made), *held, *map(id, held.values()), noted)
        known = self._kinds.get(same)
        if known is None:
            types = tuple([*map(number, used)]), tuple([*map(number, made)])
            known = self._kinds[same] = (named, *types, self._pairs(held), noted)
        return known

    def body(self, region: Region) -> Hashable:
        """Equal for bodies that do the same and use nothing from around them but what is the same value."""
        return self._region(region, lambda value: value, {})

    def steps(
        self, ops: Sequence[Operation], operands: Sequence[SSAValue], results: Sequence[SSAValue]
    ) -> Hashable:
        """Equal for operations that make the same of `operands`, by their place, where `results` are it."""
        inside = {value: place for place, value in enumerate(operands)}
        keys: list[Hashable] = [tuple([self.number(value.type) for value in operands])]
        for op in ops:
            keys.append(self._key(op, lambda value: value, inside))
            for result in op.results:
                inside[result] = len(inside)
        return (*keys, tuple([inside[value] for value in results]))

    def _key(self, op: Operation, number: Number, inside: dict[SSAValue, int]) -> Hashable:
        used = op._operands
        return (
            self.named(op),
            tuple([inside[v] if v in inside else (number(v),) for v in used]),
            tuple([self.number(result.type) for result in op.results]),
            self._pairs(op.properties),
            self._noted(op),
            tuple([self._region(region, number, inside) for region in op.regions]) if op.regions else (),
        )

    def _noted(self, op: Operation) -> Hashable:
        held = op.attributes
        return self._pairs({k: attr for k, attr in held.items() if not self.ignored(k)}) if held else None

    def _pairs(self, attrs: Mapping[str, Attribute]) -> Hashable:
        return frozenset([(key, self.number(attr)) for key, attr in attrs.items()]) if attrs else None

    def _region(self, region: Region, number: Number, inside: dict[SSAValue, int]) -> Hashable:
        """The key of a region; its own values are in `inside` only meanwhile."""
        keys, around = list[Hashable](), len(inside)
        for block in region.blocks:
            for value in block.args:
                inside[value] = len(inside)
            keys.append(tuple([self.number(value.type) for value in block.args]))
            for op in block.ops:
                keys.append(self._key(op, number, inside))
                for result in op.results:
                    inside[result] = len(inside)
        while len(inside) > around:
            inside.popitem()
        return tuple(keys)
