"""The fast path of the MLIR reader: operations whose line was seen before, but for the names of values.

A program has many operations of few kinds: `%5 = stablehlo.add %3, %4 : tensor<8xf32>` differs from the
next addition only in its names. The first such line is parsed in full and becomes a template; a later line
with the same text between the names is built from it, in a fifth of the time. Templates share attributes and
types, so whoever converts or prints those can remember them by object.

So is a line with other types than the first, `%9 = stablehlo.add %7, %8 : tensor<4x8xf32>`, where the line
states the type of each operand and each result in order, or one that all of them have; an operation with a
constant or a body, which have types too, is parsed.
"""

# pyright: reportPrivateUsage=false
# a value's type is a call

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace
from xdsl.dialects.builtin import UNKNOWN_LOC
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from shardc.diagnostics import Location
from shardc.dialects.dense import DenseAttr
from shardc.dialects.locations import SourceLoc
from shardc.dialects.quick import body, made
from shardc.frontend.mlir_locations import LocationReader, placed, set_location

_NAME = re.compile(r"%([\w$.-]+(?:#\d+)?)")
_RESULT = re.compile(r"%[\w$.-]+(?::(\d+))?")
_SPACE = re.compile(r"[ \t\n\r]*")
TENSOR = re.compile(r"tensor<[^<>]*(?:<[^<>]*>)?>")
_PLAIN = r"""[^{}"'\\\n/]|"[^"\\{}\n]*\""""
DICTIONARY = re.compile(rf"\{{(?:{_PLAIN}|\{{(?:{_PLAIN})*\}})*\}}")
"""Attributes in braces, of which some hold others in braces, without comments and escapes."""

Values = dict[str, tuple[SSAValue, ...]]


class Template(Struct, frozen=True):
    """What lines of one look have in common.

    `results` are the numbers of values that the names before the = stand for; operand i is the name
    `operands[i]` of those after it.
    """

    cls: type[Operation]
    results: tuple[int, ...]
    operands: tuple[int, ...]
    operand_types: tuple[Attribute, ...]
    result_types: tuple[Attribute, ...]
    properties: Mapping[str, Attribute]
    attributes: Mapping[str, Attribute]
    regions: tuple[Region, ...]


class LineReader:
    """Builds operations from whole lines of one text; `types` are the tensor types read so far, by text."""

    def __init__(
        self, text: str, file: str, locations: LocationReader, types: Mapping[str, Attribute]
    ) -> None:
        self._text = text
        self._file = file
        self._locations = locations
        self._types = types
        self._templates: dict[tuple[str, ...], Template] = {}
        self._of_any_types: dict[tuple[str, ...], Template] = {}

    def read(self, block: Block, start: int, line: int, values: Values, pending: Mapping[str, object]) -> int:
        """Append operations to `block` for the lines from `start` on that have a template.

        `line` is the number of the first. `values` are the names in scope, and get the new ones; `pending`
        are names used before their definition. Returns where the first other line begins.
        """
        text, templates = self._text, self._templates
        while True:
            end = text.find("\n", start)
            parts = _NAME.split(text[start:end] if end >= 0 else text[start:])
            located = parts[-1].find(" loc(")
            where = ""
            if located >= 0:
                where, parts[-1] = parts[-1][located + 5 : -1], parts[-1][:located]
            look = tuple(parts[0::2])
            template = templates.get(look) or self._retyped(look)
            if template is None or end < 0:
                return start
            column = start - text.rfind("\n", 0, start)
            op = self._build(template, parts[1::2], values, pending)
            if op is None:
                return start
            set_location(op, self._location(where, line, column))
            block.add_op(op)
            following = _SPACE.match(text, end)
            start = following.end() if following else end
            line += text.count("\n", end, start)

    def _build(
        self, template: Template, names: Sequence[str], values: Values, pending: Mapping[str, object]
    ) -> Operation | None:
        """The operation, its results named; None if a name is not as it should be."""
        count = len(template.results)
        operands: list[SSAValue] = []
        for index, type in zip(template.operands, template.operand_types, strict=True):
            value = _lookup(names[count + index], values)
            if value is None or (value._type is not type and value._type != type):
                return None
            operands.append(value)
        for name in names[:count]:
            if name in values or name in pending:
                return None
        op = made(
            template.cls,
            operands,
            template.result_types,
            dict(template.properties),
            dict(template.attributes),
            UNKNOWN_LOC,
            [body(region) for region in template.regions],
        )
        results, first = op.results, 0
        for name, size in zip(names, template.results, strict=False):
            values[name] = results if len(results) == size else results[first : first + size]
            if not name[0].isdigit():
                for result in values[name]:
                    result.name_hint = name
            first += size
        return op

    def _retyped(self, look: tuple[str, ...]) -> Template | None:
        """The template of a line that was seen with other types, kept for the next one with these."""
        template = self._of_any_types.get(_without_types(look))
        if template is None:
            return None
        types = [self._types.get(text) for text in TENSOR.findall(look[-1])]
        known = [type for type in types if type is not None]
        count = len(template.operand_types)
        every = known if len(known) > 1 else known * (count + len(template.result_types))
        if len(known) < len(types):
            return None
        retyped = replace(template, operand_types=tuple(every[:count]), result_types=tuple(every[count:]))
        self._templates[look] = retyped
        return retyped

    def _location(self, where: str, line: int, column: int) -> Attribute:
        known = self._locations.read(where) if where else None
        if isinstance(known, SourceLoc) and known.data.file:
            return known
        return placed(known, Location(self._file, line, column))

    def learn(self, start: int, after: int, op: Operation, values: Values) -> None:
        """Make a template of the line at `start`, if `op` is all of it; `after` is where parsing goes on."""
        end = self._text.find("\n", start)
        text, _, where = self._text[start:end].partition(" loc(")
        whole_line = 0 <= end < after and not self._text[end:after].strip()
        if not whole_line or not _is_plain(text) or "%" in where:
            return
        parts = _NAME.split(text)
        names = parts[1::2]
        sizes = _result_sizes(text)
        used = [_lookup(name, values) for name in names[len(sizes) :]]
        if len(set(used)) != len(used) or set(used) != set(op.operands) or len(used) != len(op.operands):
            return
        look = tuple(parts[0::2])
        self._templates[look] = template = Template(
            type(op),
            sizes,
            tuple(used.index(operand) for operand in op.operands),
            tuple(operand.type for operand in op.operands),
            tuple(result.type for result in op.results),
            dict(op.properties),
            dict(op.attributes),
            tuple(map(_unlocated, op.regions)),
        )
        if self._states_types(look[-1], op):
            self._of_any_types[_without_types(look)] = template

    def _states_types(self, text: str, op: Operation) -> bool:
        """Whether the tensor types in a text are all that an operation has: of each value, or of all."""
        if op.regions or any(isinstance(attr, DenseAttr) for attr in op.properties.values()):
            return False
        types = [value.type for value in (*op.operands, *op.results)]
        stated = [self._types.get(each) for each in TENSOR.findall(text)]
        return bool(stated) and (stated == types or stated * len(types) == types)


def _without_types(look: tuple[str, ...]) -> tuple[str, ...]:
    return *look[:-1], TENSOR.sub("tensor", look[-1])


def _unlocated(region: Region) -> Region:
    """A copy of a region, its operations without a location."""
    copy = region.clone()
    for inner in (*copy.block.args, *copy.block.ops):
        inner.location = UNKNOWN_LOC
    return copy


def _lookup(name: str, values: Values) -> SSAValue | None:
    if "#" not in name:
        known = values.get(name)
        return known[0] if known is not None and len(known) > 0 else None
    name, _, index = name.partition("#")
    known = values.get(name)
    return known[int(index)] if known is not None and int(index) < len(known) else None


def _is_plain(text: str) -> bool:
    """Whether every string ends, and every % is outside strings, so that it begins a name."""
    pieces = text.split('"')
    strings = pieces[1::2]
    return len(pieces) % 2 == 1 and "\\" not in text and not any("%" in string for string in strings)


def _result_sizes(text: str) -> tuple[int, ...]:
    """How many results each of the names before the = stands for."""
    if not text.startswith("%"):
        return ()
    return tuple(int(size or 1) for size in _RESULT.findall(text.partition(" =")[0]))
