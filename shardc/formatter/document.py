"""A text with places where lines may break, and the choice of where they do (Wadler, "A prettier printer").

A group is written on one line if it fits there; else the breaks directly in it are new lines.
"""

from __future__ import annotations

from collections.abc import Iterable
from sys import maxsize
from typing import TypeAlias

from msgspec import Struct

INDENT = 4
"""Spaces of a level."""

WIDTH = 100
"""How long lines may be that can be broken."""


class Break(Struct, frozen=True):
    """A new line, or in a group that fits on its line `flat`. None: always a new line.

    `fresh`: none where the line is empty so far.
    """

    flat: str | None
    fresh: bool = False


class Behind(Struct, frozen=True):
    """A comment at the end of the line, wherever that is."""

    text: str


class IfBroken(Struct, frozen=True):
    """A text that is written only if the group around it is broken."""

    text: str


class Join(Struct, frozen=True):
    """Parts one after the other. `broken`: something in them has to end the line."""

    parts: tuple[Doc, ...]
    broken: bool


class Nest(Struct, frozen=True):
    """Its lines are a level deeper."""

    inner: Doc


class Group(Struct, frozen=True):
    """Parts whose breaks are all taken, or none of them."""

    inner: Doc
    broken: bool


Doc: TypeAlias = "str | Break | Behind | IfBroken | Join | Nest | Group"

LINE, SOFT, HARD, FRESH = Break(" "), Break(""), Break(None), Break(None, fresh=True)


def join(*parts: Doc) -> Join:
    """The parts, and whether one of them has to end a line."""
    return Join(parts, any(map(is_broken, parts)))


def separated(parts: Iterable[Doc], separator: Doc) -> Join:
    """The parts with a separator between each two."""
    every: list[Doc] = []
    for part in parts:
        every += [separator, part] if every else [part]
    return join(*every)


def group(*parts: Doc, broken: bool = False) -> Group:
    """A group that is broken if it has to be."""
    inner = join(*parts)
    return Group(inner, broken or inner.broken)


def is_broken(doc: Doc) -> bool:
    """Whether something in a text has to end its line."""
    match doc:
        case Join() | Group():
            return doc.broken
        case Nest():
            return is_broken(doc.inner)
        case Break():
            return doc.flat is None
        case Behind():
            return True
        case str() | IfBroken():
            return False


def one_line(doc: Doc) -> str | None:
    """A text without breaks; None if something in it has to end a line."""
    made = None if is_broken(doc) else lines(Group(doc, False), 0, maxsize)
    return made[0] if made else None


_Part: TypeAlias = tuple[int, bool, Doc]
"""Spaces of a new line, whether on one line, and what."""


def lines(doc: Doc, level: int, width: int) -> list[str]:
    """The lines of a text at a level of indentation."""
    made: list[str] = []
    line, behind = " " * (INDENT * level), list[str]()
    todo: list[_Part] = [(INDENT * level, False, doc)]
    while todo:
        spaces, flat, part = todo.pop()
        match part:
            case str():
                line += part
            case Behind():
                behind.append(part.text)
            case IfBroken():
                line += "" if flat else part.text
            case Join():
                todo += [(spaces, flat, inner) for inner in reversed(part.parts)]
            case Nest():
                todo.append((spaces + INDENT, flat, part.inner))
            case Group():
                one = flat or (not part.broken and _fits(part.inner, width - len(line), todo))
                todo.append((spaces, one, part.inner))
            case Break():
                if flat and part.flat is not None:
                    line += part.flat
                elif not (part.fresh and not line.strip()):
                    made.append("  ".join([line.rstrip(), *behind]))
                    line, behind = " " * spaces, []
                else:
                    line = " " * spaces
    made.append("  ".join([line.rstrip(), *behind]))
    return made


def _fits(doc: Doc, room: int, after: list[_Part]) -> bool:
    """Whether a text on one line, and what follows it up to the next break, has room."""
    todo: list[tuple[bool, Doc]] = [(True, doc)]
    later = len(after)
    while room >= 0:
        if not todo:
            if not later:
                return True
            later -= 1
            _, flat, part = after[later]
            todo.append((flat, part))
        flat, part = todo.pop()
        match part:
            case str():
                room -= len(part)
            case Behind():
                pass
            case IfBroken():
                room -= 0 if flat else len(part.text)
            case Join():
                todo += [(flat, inner) for inner in reversed(part.parts)]
            case Nest():
                todo.append((flat, part.inner))
            case Group():
                todo.append((flat and not part.broken, part.inner))
            case Break():
                if not flat or part.flat is None:
                    return True
                room -= len(part.flat)
    return False
