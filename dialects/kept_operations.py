"""Operations with all that belongs to them as JSON, and back.

    kept = written(ops)                  # of a module, which use no values from around them
    read(kept, make_context())           # the same operations, in no block

Every distinct attribute, type and place is written once, also where others are made of it; values are numbers
in the order in which they are made. An operation is

    [kind, operands, attributes, place, names of results, regions]

and a kind its name, result types and properties.
"""

# pyright: reportPrivateUsage=false
# op.operands makes an object each time, and properties of names and types are calls

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DictionaryAttr, FunctionType, StringAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from shardc.dialects import kept_attributes
from shardc.dialects.attribute_kinds import integers
from shardc.dialects.convert import python_of
from shardc.dialects.kept_attributes import Unkept
from shardc.dialects.locations import SourceLoc, is_location, source_of
from shardc.dialects.nested import ops_of
from shardc.dialects.quick import append, made
from shardc.dialects.sdy_attributes import ShardingAttr, ShardingPerValueAttr
from shardc.graph.types import Location
from shardc.ops import hlo

Kept = dict[str, Any]
_Kind = tuple[type[Operation], list[Attribute], dict[str, Attribute]]


Properties = dict[str, Attribute]


def written(
    ops: Iterable[Operation],
    place: Callable[[Attribute], Attribute] = lambda attr: attr,
    seen: Callable[[Operation], Properties] = lambda op: op.properties,
    names: Mapping[str, str] | None = None,
    back: bool = True,
) -> Kept:
    """Operations as JSON; of where they are, and of locations in attributes, what `place` says, of the
    properties of constants those that are `seen`, and of their names those in `names` as these say. Unkept if
    some attribute has no form, or none that is read `back` as it was, if that is to be."""
    writer = _Writer(place, seen, names or {}, back)
    steps = [writer.operation(op) for op in ops]
    return {"attributes": writer.attributes, "kinds": writer.kinds, "operations": steps}


def read(
    kept: Kept, context: Context, place: Callable[[Location], Location] = lambda loc: loc
) -> list[Operation]:
    """The operations that were written; of places what `place` says."""
    return _Reader(kept, context, place).operations(kept["operations"])


def files(kept: Kept) -> list[str]:
    """The files in which the operations are."""
    every = [cast("dict[str, Any]", part) for part in kept["attributes"] if isinstance(part, dict)]
    return sorted({part["place"][0] or "" for part in every if "place" in part} - {""})


class _Writer:
    def __init__(
        self,
        place: Callable[[Attribute], Attribute],
        seen: Callable[[Operation], Properties],
        names: Mapping[str, str],
        back: bool,
    ) -> None:
        self.place, self.seen_of, self.names, self.back = place, seen, names, back
        self.attributes: list[Any] = []
        self.kinds: list[list[Any]] = []
        self.values: dict[int, int] = {}  # by the id of the SSA value
        self.numbers: dict[Attribute, int] = {}
        self.seen: dict[int, tuple[Attribute, int]] = {}
        self.places: dict[int, tuple[Attribute, int]] = {}
        self.kind_numbers: dict[Hashable, int] = {}
        self.seen_kinds: dict[Hashable, int] = {}  # by the ids of attributes

    def operation(self, op: Operation) -> list[Any]:
        values, used = self.values, op._operands
        operands = [values[id(value)] for value in used]
        if op._successors:
            raise Unkept(f"{op.name} jumps")
        bodies = op.regions
        regions = [[self.block(block) for block in region.blocks] for region in bodies] if bodies else []
        name, results, noted = op.name, op.results, op.attributes
        held = self.seen_of(op) if name == hlo.constant.name else op.properties
        seen = name, *[id(value._type) for value in results], None, *held, *map(id, held.values())
        known = self.seen_kinds.get(seen)
        kind = self.seen_kinds.setdefault(seen, self.kind(op, held)) if known is None else known
        attributes = (
            [part for k, attr in noted.items() for part in (k, self.attribute(attr))] if noted else []
        )
        for value in results:
            values[id(value)] = len(values)
        location = op.location
        located = self.places.get(id(location))
        place = self.placed(location) if located is None else located[1]
        return [kind, operands, attributes, place, [value._name for value in results], regions]

    def block(self, block: Block) -> list[Any]:
        types = [self.attribute(arg.type) for arg in block.args]
        places = [self.placed(arg.location) for arg in block.args]
        return [types, places, self.made(block.args), [self.operation(op) for op in ops_of(block)]]

    def made(self, values: Sequence[SSAValue]) -> list[str | None]:
        """Number values; their names."""
        numbers = self.values
        for value in values:
            numbers[id(value)] = len(numbers)
        return [value.name_hint for value in values]

    def kind(self, op: Operation, held: Properties) -> int:
        """The number of its name, result types and properties."""
        name = self.names.get(op.name, op.name)
        types = [self.attribute(result.type) for result in op.results]
        properties = [part for key, attr in held.items() for part in (key, self.attribute(attr))]
        key = name, *types, None, *properties
        if key not in self.kind_numbers:
            self.kind_numbers[key] = len(self.kinds)
            self.kinds.append([name, types, properties])
        return self.kind_numbers[key]

    def placed(self, attr: Attribute) -> int:
        """The number of where something is."""
        known = self.places.get(id(attr))
        if known is None:  # the attribute is kept, so that no other gets its id
            known = self.places[id(attr)] = attr, self.number(self.place(attr))
        return known[1]

    def attribute(self, attr: Attribute) -> int:
        known = self.seen.get(id(attr))
        if known is None:
            number = self.placed(attr) if is_location(attr) else self.number(attr)
            known = self.seen[id(attr)] = attr, number
        return known[1]

    def number(self, attr: Attribute) -> int:
        """The number of an attribute as it is."""
        number = self.numbers.get(attr)
        if number is None:
            form = self.form(attr)  # which may be of others, that are written first
            number = self.numbers[attr] = len(self.attributes)
            self.attributes.append(form)
        return number

    def form(self, attr: Attribute) -> Any:
        """What stands for an attribute; for one of others their numbers."""
        held = _HELD.get(type(attr))
        if held is None:
            return _attribute(attr, self.back)
        return {held.name: [self.attribute(part) for part in held.parts(attr)]}


class _Held(Struct, frozen=True):
    """How attributes of one kind are made of others: what they are called, their parts, and back."""

    name: str
    parts: Callable[[Any], Iterable[Attribute]]
    made: Callable[[list[Any]], Attribute]


_HELD: dict[type[Attribute], _Held] = {
    ArrayAttr: _Held("array", lambda attr: attr.data, ArrayAttr),
    DictionaryAttr: _Held(
        "named",
        lambda attr: (part for key, held in attr.data.items() for part in (StringAttr(key), held)),
        lambda parts: DictionaryAttr(
            {key.data: held for key, held in zip(parts[::2], parts[1::2], strict=True)}
        ),
    ),
    FunctionType: _Held("function", lambda attr: attr.parameters, FunctionType.new),
    ShardingPerValueAttr: _Held(
        "shardings",
        lambda attr: map(ShardingAttr, attr.data),
        lambda parts: ShardingPerValueAttr(tuple(part.data for part in parts)),
    ),
}
_MADE = {held.name: held.made for held in _HELD.values()}


def _attribute(attr: Attribute, back: bool) -> Any:
    """The frequent ones in short."""
    if isinstance(attr, SourceLoc):
        loc = attr.data
        return {"place": [loc.file, loc.line, loc.col, loc.name]}
    if type(attr) is StringAttr:
        return attr.data
    if type(attr) is DenseArrayBase and attr.elt_type == i64:
        return {"integers": python_of(cast("Attribute", attr))}
    kept = kept_attributes.written(attr)
    if back and kept_attributes.read(kept) != attr:
        raise Unkept(attr.name)
    return kept


class _Reader:
    def __init__(self, kept: Kept, context: Context, place: Callable[[Location], Location]) -> None:
        self.place = place
        self.attributes: list[Attribute] = []
        for attr in kept["attributes"]:
            self.attributes.append(self.attribute(attr))
        self.kinds = [self.kind(context, *kind) for kind in kept["kinds"]]
        self.values: list[SSAValue] = []

    def attribute(self, kept: Any) -> Attribute:
        if isinstance(kept, str):
            return StringAttr(kept)
        if isinstance(kept, list):
            return kept_attributes.read(cast("list[Any]", kept))
        ((kind, held),) = cast("dict[str, list[Any]]", kept).items()
        if kind == "integers":
            return integers(held)
        if kind == "place":
            return source_of(self.place(Location(*held)))
        return _MADE[kind]([self.attributes[number] for number in held])

    def kind(self, context: Context, name: str, types: Sequence[int], properties: Sequence[Any]) -> _Kind:
        return context.get_op(name), [self.attributes[type] for type in types], self.named(properties)

    def named(self, parts: Sequence[Any]) -> dict[str, Attribute]:
        return {key: self.attributes[number] for key, number in zip(parts[::2], parts[1::2], strict=True)}

    def operations(self, steps: Sequence[Any]) -> list[Operation]:
        return [self.operation(*step) for step in steps]

    def operation(
        self,
        kind: int,
        operands: Sequence[int],
        attributes: Sequence[Any],
        place: int,
        names: Sequence[str | None],
        regions: Sequence[Any],
    ) -> Operation:
        cls, types, properties = self.kinds[kind]
        bodies = [Region([self.block(*block) for block in region]) for region in regions]
        read = [self.values[number] for number in operands]
        noted = self.named(attributes) if attributes else {}
        op = made(cls, read, types, properties.copy(), noted, self.attributes[place], bodies)
        self.made(op.results, names)
        return op

    def block(
        self, types: Sequence[int], places: Sequence[int], names: Sequence[str | None], steps: Sequence[Any]
    ) -> Block:
        block = Block(arg_types=[self.attributes[type] for type in types])
        for arg, place in zip(block.args, places, strict=True):
            cast("Any", arg).location = self.attributes[place]
        self.made(block.args, names)
        append(block, self.operations(steps))
        return block

    def made(self, values: Sequence[SSAValue], names: Sequence[str | None]) -> None:
        self.values.extend(values)
        for value, name in zip(values, names, strict=True):
            if name is not None:
                value.name_hint = name
