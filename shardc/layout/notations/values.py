"""Reading the small languages in which layouts are written: calls, lists, braces, numbers, names.

Covers what Python code and Python's printed objects look like (`Layout((2, 2), ("a", "b"))("a", "None")`,
`NamedSharding(mesh=Mesh('a': 2), spec=P('a',))`) and protobuf-like text (`{device = [0, 1] axis: 0}`, `//`
and `#` start comments). Nothing is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import reduce
from typing import Union

from msgspec import Struct

from shardc.layout.mesh import LayoutError

Value = Union[
    int, str, None, bool, list["Value"], tuple["Value", ...], "Name", "Call", "Item", "Slice", "Fields"
]

_TOKEN = re.compile(
    r"""\s*(?:(?://|\#)[^\n]*+\s*)*+(?:(?P<number>-?\d+)|(?P<name>[A-Za-z_][\w.]*)|(?P<string>"[^"]*"|'[^']*')"""
    r"""|(?P<mark>[()\[\]{},:=.;*]))"""
)
_PROMPT = re.compile(r"^\s*(?:>>>|\.\.\.)(?: |$)", re.M)
_CONSTANTS = {"None": None, "True": True, "False": False, "true": True, "false": False}
DEEPEST = 50
MOST_TIMES = 1 << 16
LONGEST = 50  # of what is repeated so often
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class Name(Struct, frozen=True):
    """A bare name: `B`, `flow.sbp.broadcast`."""

    text: str

    @property
    def last(self) -> str:
        """What follows the last dot."""
        return self.text.rpartition(".")[2]

    def __repr__(self) -> str:
        return self.text


class Call(Struct, frozen=True):
    """`function(args, key=value)`; the function may be a call itself. `x.method` is `method(x)`."""

    function: Value
    args: tuple[Value, ...] = ()
    named: dict[str, Value] = {}

    @property
    def last(self) -> str:
        """What follows the last dot of the function's name; "" if it has no name."""
        return self.function.last if isinstance(self.function, Name) else ""

    def __repr__(self) -> str:
        named = (f"{key}={value!r}" for key, value in self.named.items())
        return f"{self.function!r}({', '.join([*map(repr, self.args), *named])})"


class Item(Struct, frozen=True):
    """`of[args]`."""

    of: Value
    args: tuple[Value, ...]

    def __repr__(self) -> str:
        return f"{self.of!r}[{', '.join(map(repr, self.args))}]"


class Slice(Struct, frozen=True):
    """`start:stop` of an item."""

    start: int | None = None
    stop: int | None = None

    def __repr__(self) -> str:
        return ":".join("" if end is None else str(end) for end in (self.start, self.stop))


class Fields(Struct, frozen=True):
    """`{key = value …}` or a set `{a, b}`: entries in order, keys None in a set."""

    entries: tuple[tuple[Value, Value], ...]

    def __repr__(self) -> str:
        texts = (repr(item) if key is None else f"{key!r}: {item!r}" for key, item in self.entries)
        return f"{{{', '.join(texts)}}}"


def parse(text: str) -> Value:
    """The value that `text` is; LayoutError saying where it stops making sense."""
    reader = _Reader(text)
    value = reader.value()
    if reader.token:
        raise reader.error("the end")
    return value


def parse_code(text: str) -> Value:
    """As `parse`, but the text may be assignments, `name = value`, one after the other.

    The last value counts, in which names that were assigned before stand for their values. Prompts of a
    session, >>>, are left out.
    """
    reader = _Reader(_PROMPT.sub("", text))
    known: dict[str, Value] = {}
    while True:
        value = _resolved(reader.value(), known)
        if isinstance(value, Name) and reader.token == "=":
            reader.next()
            name, value = value.text, _resolved(reader.value(), known)
            known[name] = value
        if reader.token == ";":
            reader.next()
        elif reader.token and reader.kind != "name":
            raise reader.error("the end")
        if not reader.token:
            return value


def _resolved(value: Value, known: dict[str, Value]) -> Value:
    """The value with the names that are known replaced by what they stand for, also in `name.method`."""
    match value:
        case Name():
            first, *methods = value.text.split(".")
            if first not in known:
                return value
            return reduce(lambda of, method: Call(Name(method), (of,)), methods, known[first])
        case Call():
            args = tuple(_resolved(item, known) for item in value.args)
            named = {key: _resolved(item, known) for key, item in value.named.items()}
            return Call(_resolved(value.function, known), args, named)
        case Item():
            return Item(_resolved(value.of, known), tuple(_resolved(item, known) for item in value.args))
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

    def following(self) -> str:
        """Move on; the token that is current then."""
        self.next()
        return self.token

    def error(self, wanted: str) -> LayoutError:
        found = repr(self.token) if self.token else "the end"
        return LayoutError(f"expected {wanted}, found {found} in {self.text.strip()!r}")

    def value(self) -> Value:
        """A value, or a product: of numbers, or of a tuple and how often it is repeated."""
        value = self.operand()
        while self.token == "*":
            self.next()
            value = _product(value, self.operand())
        return value

    def operand(self) -> Value:
        value = self.atom()
        while self.token in ("(", "[", ".") and isinstance(value, Name | Call | Item):
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

    def suffix(self, value: Name | Call | Item) -> Value:
        """What follows a name or call: arguments, an index, or a method."""
        if self.token == ".":
            self.next()
            if self.kind != "name":
                raise self.error("a name")
            return Call(Name(self.next()), (value,))
        if self.token == "[":
            return Item(value, tuple(item for _, item in self.entries("[", self.place)[0]))
        entries, _ = self.entries("(")
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

    def entries(
        self, opening: str, entry: Callable[[str], tuple[Value, Value]] | None = None
    ) -> tuple[list[tuple[Value, Value]], int]:
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
            found.append((entry or self.entry)(opening))
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

    def place(self, _: str) -> tuple[Value, Value]:
        """`value`, `start:stop`, either end of which may be left out."""
        start = None if self.token == ":" else self.value()
        if self.token != ":":
            return None, start
        closes = self.following() in ("]", ",")
        stop = None if closes else self.value()
        for end in (start, stop):
            if end is not None and not isinstance(end, int):
                raise LayoutError(f"{end!r} is no number of a place in {self.text.strip()!r}")
        return None, Slice(start, stop)  # pyright: ignore[reportArgumentType]


def _product(value: Value, times: Value) -> Value:
    if isinstance(times, int) and 0 <= times <= MOST_TIMES:
        if isinstance(value, int) and abs(value) <= MOST_TIMES:
            return value * times
        if isinstance(value, tuple | list) and len(value) <= LONGEST:
            return value * times
    raise LayoutError(f"{value!r} * {times!r} is no product of numbers, nor a tuple so often")


def _key(key: Value) -> str:
    return key.text if isinstance(key, Name) else str(key)
