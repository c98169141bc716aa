"""Where operations and arguments come from, as MLIR locations.

`SourceLoc` holds a graph Location and prints as `loc("h"("prog.shard":5:9))`. xDSL's own location attributes
(call sites, fused ones) stay as they were read; `location_of` says which place of the source they mean.

A Location's columns count from 1. In the text, those of a Python file count from 0, as JAX writes them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute, BlockArgument, BuiltinAttribute, Operation
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from shardc.diagnostics import is_own
from shardc.dialects.data_attribute import ValueAttr, data_attribute
from shardc.dialects.once import Once
from shardc.graph.types import UNKNOWN, Location


@data_attribute
class SourceLoc(ValueAttr[Location], BuiltinAttribute):
    """A place in a file, a name, or a name at a place."""

    name = "shardc.source_loc"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Location:
        parser.raise_error("a location is written loc(...)")

    def print_parameter(self, printer: Printer) -> None:
        self.print_builtin(printer)

    def print_builtin(self, printer: Printer) -> None:
        with printer.in_location():
            printer.print_string(_text(self.data))


def _text(loc: Location) -> str:
    place = f"{_quoted(loc.file)}:{loc.line}:{loc.col - _from_zero(loc.file)}" if loc.file else ""
    if not loc.name:
        return place or "unknown"
    return f"{_quoted(loc.name)}({place})" if place else _quoted(loc.name)


def _from_zero(file: str) -> bool:
    return file.endswith(".py")


def place_of(attr: FileLineColLoc) -> Location:
    """The place that a file, a line and a column of the text mean."""
    file = attr.filename.data
    return Location(file, attr.line.data, attr.column.data + _from_zero(file))


def _quoted(text: str) -> str:
    escaped = "".join(
        chr(byte) if 0x20 <= byte < 0x7F and byte not in b'"\\' else f"\\{byte:02X}" for byte in text.encode()
    )
    return f'"{escaped}"'


UNKNOWN_SOURCE = SourceLoc(UNKNOWN)


def location_of(attr: Attribute) -> Location:
    """The place in the source that a location attribute means, and the name it gives.

    The outermost name counts. Of a call site it is the callee, or the caller where the callee is in a file of
    shardc's own; of fused locations it is the first that is known.
    """
    return attr.data if type(attr) is SourceLoc else _meant(attr)


def _find(attr: Attribute) -> Location:
    meant = _MEANT.get(type(attr))
    return meant(attr) if meant else UNKNOWN


_meant = Once(_find)


def _of_name(attr: NameLoc) -> Location:
    return location_of(attr.location).named(name_of(attr))


def _of_call(attr: CallSiteLoc) -> Location:
    callee = location_of(attr.callee)
    if callee.file and not is_own(callee.file):
        return callee
    caller = location_of(attr.caller)
    return caller if caller.file else callee


def _of_fused(attr: FusedLoc) -> Location:
    parts = [location_of(part) for part in cast(ArrayAttr[Attribute], attr.locations)]
    return next((part for part in parts if part.file), parts[0] if parts else UNKNOWN)


_MEANT: dict[type[Attribute], Callable[[Any], Location]] = {
    FileLineColLoc: place_of,
    NameLoc: _of_name,
    CallSiteLoc: _of_call,
    FusedLoc: _of_fused,
}
"""Kind of location that xDSL has -> the place that it means."""


def is_location(attr: Attribute) -> bool:
    """Whether an attribute says where something is."""
    return type(attr) is SourceLoc or type(attr) in _MEANT


def name_of(attr: NameLoc) -> str | None:
    """The name that a location gives a value; none if it ends with a colon, as in JAX's "shard_map:"."""
    name = attr.desc.data
    return None if name.endswith(":") else name


def locate(target: Operation | BlockArgument[Attribute], loc: Location) -> None:
    """Set the location of an operation or of a block argument."""
    cast(Any, target).location = source_of(loc)


@lru_cache(maxsize=1 << 12)
def source_of(loc: Location) -> SourceLoc:
    """The attribute of a place; one object for a few that come close together."""
    return SourceLoc(loc) if loc != UNKNOWN else UNKNOWN_SOURCE
