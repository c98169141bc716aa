"""Reading the small languages in which layouts are written: calls, lists, braces, numbers, names.

Covers what Python code and Python's printed objects look like (`Layout((2, 2), ("a", "b"))("a", "None")`,
`NamedSharding(mesh=Mesh('a': 2), spec=P('a',))`) and protobuf-like text (`{device = [0, 1] axis: 0}`, `//`
and `#` start comments). Nothing is evaluated.
"""

from __future__ import annotations

import re
from typing import Union

from msgspec import Struct

from shardc.layout.mesh import LayoutError

Value = Union[int, str, None, bool, list["Value"], tuple["Value", ...], "Name", "Call", "Fields"]

_TOKEN = re.compile(
    r"""\s*(?:(?://|\#)[^\n]*\s*)*(?:(?P<number>-?\d+)|(?P<name>[A-Za-z_][\w.]*)|(?P<string>"[^"]*"|'[^']*')"""
    r"""|(?P<mark>[()\[\]{},:=.;]))"""
)
_CONSTANTS = {"None": None, "True": True, "False": False, "true": True, "false": False}
DEEPEST = 50
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class Name(Struct, frozen=True):
    """A bare name: `B`, `flow.sbp.broadcast`."""

    text: str

    @property
    def last(self) -> str:
        """What follows the last dot."""
        return self.text.rpartition(".")[2]


class Call(Struct, frozen=True):
    """`function(args, key=value)`; the function may be a call itself, or an element or method of one."""

    function: Value
    args: tuple[Value, ...] = ()
    named: dict[str, Value] = {}

    @property
    def last(self) -> str:
        """What follows the last dot of the function's name; "" if it has no name."""
        return self.function.last if isinstance(self.function, Name) else ""


class Fields(Struct, frozen=True):
    """`{key = value …}` or a set `{a, b}`: entries in order, keys None in a set."""

    entries: tuple[tuple[Value, Value], ...]


def parse(text: str) -> Value:
    """The value that `text` is; LayoutError saying where it stops making sense."""
    reader = _Reader(text)
    value = reader.value()
    if reader.token:
        raise reader.error("the end")
    return value


def parse_code(text: str) -> Value:
    """As `parse`, but the text may be assignments, `name = value`, one after the other.

    The last value counts, in which names that were assigned before stand for their values.
    """
    reader = _Reader(text)
    known: dict[str, Value] = {}
    while True:
        value = _resolved(reader.value(), known)
        if isinstance(value, Name) and reader.token == "=":
            reader.next()
            name, value = value.text, _resolved(reader.value(), known)
            known[name] = value
        if not reader.token:
            return value
        if reader.kind != "name":
            raise reader.error("the end")


def _resolved(value: Value, known: dict[str, Value]) -> Value:
    """The value with the names that are known replaced by what they stand for."""
    match value:
        case Name():
            return known.get(value.text, value)
        case Call():
            args = tuple(_resolved(item, known) for item in value.args)
            named = {key: _resolved(item, known) for key, item in value.named.items()}
            return Call(_resolved(value.function, known), args, named)
        case tuple():
            return tuple(_resolved(item, known) for item in value)
        case list():
            return [_resolved(item, known) for item in value]
        case _:
            return value


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.token: str = ""
        self.kind: str | None = None
        self.next()

    def next(self) -> str:
        """Move on; the token that was current."""
        old = self.token
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            if self.text[self.at :].split("//")[0].split("#")[0].strip():
                raise LayoutError(
                    f"cannot read {self.text[self.at :].strip()[:20]!r} in {self.text.strip()!r}"
                )
            self.token, self.kind = "", None
            return old
        self.at, self.kind = match.end(), match.lastgroup
        self.token = match[self.kind or 0]
        return old

    def error(self, wanted: str) -> LayoutError:
        found = repr(self.token) if self.token else "the end"
        return LayoutError(f"expected {wanted}, found {found} in {self.text.strip()!r}")

    def value(self) -> Value:
        value = self.atom()
        while self.token in ("(", "[", ".") and isinstance(value, Name | Call):
            value = self.suffix(value)
        return value

    def atom(self) -> Value:
        kind, token = self.kind, self.token
        if kind == "number":
            return int(self.next())
        if kind == "string":
            return self.next()[1:-1]
        if kind == "name":
            self.next()
            return _CONSTANTS[token] if token in _CONSTANTS else Name(token)
        if token == "{":
            return Fields(tuple(self.entries("{")[0]))
        if token in ("(", "["):
            return self.sequence(token)
        raise self.error("a value")

    def suffix(self, value: Name | Call) -> Value:
        """What follows a name or call: arguments, an index (as an argument), or a method."""
        if self.token == ".":
            self.next()
            if self.kind != "name":
                raise self.error("a name")
            return Call(Name(self.next()), (value,))
        entries, _ = self.entries(self.token)
        args = tuple(item for key, item in entries if key is None)
        named = {_key(key): item for key, item in entries if key is not None}
        return Call(value, args, named)

    def sequence(self, opening: str) -> Value:
        """A list, a tuple, or a value in parentheses."""
        entries, commas = self.entries(opening)
        items = [item for _, item in entries]
        if opening == "[":
            return items
        return tuple(items) if commas or len(items) != 1 else items[0]

    def entries(self, opening: str) -> tuple[list[tuple[Value, Value]], int]:
        """(key or None, value) up to the closing bracket, and the number of commas.

        In braces, and before braces, commas are optional.
        """
        self.depth += 1
        if self.depth > DEEPEST:
            raise LayoutError(f"brackets nest more than {DEEPEST} deep")
        closing, commas = _CLOSING[opening], 0
        found: list[tuple[Value, Value]] = []
        self.next()
        while self.token != closing:
            found.append(self.entry(opening))
            if self.token in (",", ";"):
                self.next()
                commas += 1
            elif self.token not in (closing, "{") and opening != "{":
                raise self.error(f"a comma or {closing!r}")
        self.next()
        self.depth -= 1
        return found, commas

    def entry(self, opening: str) -> tuple[Value, Value]:
        """`value`, `key = value`, `key: value`, in braces also `key {…}`."""
        item = self.value()
        if self.token in ("=", ":"):
            self.next()
            return item, self.value()
        if opening == "{" and self.token == "{":
            return item, self.value()
        return None, item


def _key(key: Value) -> str:
    return key.text if isinstance(key, Name) else str(key)
