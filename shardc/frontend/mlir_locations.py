"""Locations in MLIR text: `loc("h"("prog.shard":5:9))`, call sites, fused ones, and aliases for all of them.

JAX prints `#loc7 = loc(…)` after the module that uses it, so the aliases are found before parsing begins.
"""

from __future__ import annotations

import re
from typing import Any

from xdsl.dialects.builtin import (
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, BlockArgument, Operation
from xdsl.parser import Parser

from shardc.diagnostics import Location
from shardc.dialects.locations import SourceLoc, location_of, name_of, place_of

_ALIAS = re.compile(r"^(#loc\d*) = loc\((.*)\)[ \t]*$", re.M)
ALIAS_LINES = re.compile(r"(?:#loc\d* = loc\(.*\)[ \t]*(?:\n|\Z))+")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|#\w+|\w+|\S')
_ESCAPE = re.compile(r"\\([0-9a-fA-F]{2}|.)")


class LocationReader:
    """Reads locations of one text. Equal texts give the same attribute object."""

    def __init__(self, text: str) -> None:
        self.aliases = {name: body for name, body in _ALIAS.findall(text)} if "#loc" in text else {}
        self._known: dict[str, Attribute | None] = {}
        self._defined: dict[str, Any] = {}
        self._open: set[str] = set()

    def read(self, body: str) -> Attribute | None:
        """What stands between `loc(` and `)`; None if it is unknown. ValueError if it is no location."""
        if body not in self._known:
            self._known[body] = _simplified(self._parse(body))
        return self._known[body]

    def _parse(self, body: str) -> Any:
        tokens = _Tokens(body)
        loc = self._location(tokens)
        if tokens.peek():
            raise ValueError(f"there is text after the location: {tokens.peek()}")
        return loc

    def _location(self, tokens: _Tokens) -> Any:
        word = tokens.next()
        if word.startswith('"'):
            return self._named(_unquoted(word), tokens)
        if word.startswith("#"):
            return self._alias(word)
        if word == "unknown":
            return UnknownLoc()
        if word == "callsite":
            tokens.expect("(")
            callee = self._location(tokens)
            tokens.expect("at")
            caller = self._location(tokens)
            tokens.expect(")")
            return CallSiteLoc(callee, caller)
        if word == "fused":
            return self._fused(tokens)
        raise ValueError(f"{word or 'nothing'} is no location")

    def _named(self, text: str, tokens: _Tokens) -> Any:
        if tokens.peek() == "(":
            tokens.next()
            inner = self._location(tokens)
            tokens.expect(")")
            return NameLoc(StringAttr(text), inner)
        if tokens.peek() != ":":
            return NameLoc(StringAttr(text), NoneAttr())
        tokens.next()
        line = tokens.number()
        tokens.expect(":")
        column = tokens.number()
        if tokens.peek() == "to":
            tokens.skip_range()
        return FileLineColLoc(StringAttr(text), IntAttr(line), IntAttr(column))

    def _fused(self, tokens: _Tokens) -> Any:
        if tokens.peek() == "<":
            tokens.skip_metadata()
        tokens.expect("[")
        parts = [self._location(tokens)]
        while tokens.peek() == ",":
            tokens.next()
            parts.append(self._location(tokens))
        tokens.expect("]")
        return FusedLoc(tuple(parts), NoneAttr())

    def _alias(self, name: str) -> Any:
        if name in self._defined:
            return self._defined[name]
        if name not in self.aliases:
            raise ValueError(f"{name} is not defined")
        if name in self._open:
            raise ValueError(f"{name} is defined by itself")
        self._open.add(name)
        try:
            self._defined[name] = self._parse(self.aliases[name])
        finally:
            self._open.discard(name)
        return self._defined[name]


class _Tokens:
    """The words of a location, one after the other; "" at the end."""

    def __init__(self, text: str) -> None:
        self._words: list[str] = [match[0] for match in _TOKEN.finditer(text)]
        self._position = 0

    def peek(self) -> str:
        return self._words[self._position] if self._position < len(self._words) else ""

    def next(self) -> str:
        word = self.peek()
        self._position += 1
        return word

    def expect(self, wanted: str) -> None:
        word = self.next()
        if word != wanted:
            raise ValueError(f"expected {wanted} in a location, not {word or 'its end'}")

    def number(self) -> int:
        word = self.next()
        if not word.isdigit():
            raise ValueError(f"expected a number in a location, not {word or 'its end'}")
        return int(word)

    def skip_range(self) -> None:
        """Skip `to :61` or `to 75:61`: the place where it begins is enough."""
        self.next()
        while self.peek() == ":" or self.peek().isdigit():
            self.next()

    def skip_metadata(self) -> None:
        depth = 0
        while word := self.next():
            depth += (word == "<") - (word == ">")
            if depth == 0:
                return
        raise ValueError("a fused location's metadata does not end")


def _unquoted(text: str) -> str:
    def escaped(match: re.Match[str]) -> str:
        code = match[1]
        return chr(int(code, 16)) if len(code) == 2 else {"n": "\n", "t": "\t"}.get(code, code)

    body = _ESCAPE.sub(escaped, text[1:-1])
    try:
        return body.encode("latin-1").decode("utf-8") if "\\" in text else body
    except (UnicodeDecodeError, UnicodeEncodeError):
        return body


def placed(loc: Attribute | None, place: Location) -> Attribute:
    """The location, with its place in the text if it has none of its own."""
    if loc is None:
        return SourceLoc(place)
    known = location_of(loc)
    return loc if known.file else SourceLoc(place.named(known.name))


def set_location(target: Operation | BlockArgument | Parser.Argument, loc: Attribute) -> None:
    """Set a location; what a one-line body contains is at the same place."""
    setattr(target, "location", loc)
    if isinstance(target, Operation):
        for region in target.regions:
            first = region.blocks[0].first_op if region.blocks else None
            if first is not None and isinstance(first.location, UnknownLoc):
                for inner in (*region.blocks[0].args, *region.blocks[0].ops):
                    setattr(inner, "location", loc)


def _simplified(loc: Any) -> Attribute | None:
    """A place, a name, or a name at a place as one SourceLoc; nothing for the unknown."""
    if isinstance(loc, UnknownLoc):
        return None
    if isinstance(loc, FileLineColLoc):
        return SourceLoc(place_of(loc))
    if isinstance(loc, NameLoc) and isinstance(loc.location, (NoneAttr, UnknownLoc)):
        return SourceLoc(Location(name=name_of(loc)))
    if isinstance(loc, NameLoc) and isinstance(loc.location, FileLineColLoc):
        return SourceLoc(place_of(loc.location).named(name_of(loc)))
    return loc
