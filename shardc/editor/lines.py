"""Statements of a text that may be no program: which lines belong together, and which brackets stay open."""

from __future__ import annotations

import re

from msgspec import Struct

_PART = re.compile(r'"""(?:.|\n)*?"""|\'\'\'(?:.|\n)*?\'\'\'|"[^"\n]*"|\'[^\'\n]*\'|#[^\n]*|[()\[\]{}]|\n')
_BEGINS = re.compile(r"( *)[A-Za-z_@]")
_CLOSES = {")": "(", "]": "[", "}": "{"}


class Statement(Struct, frozen=True):
    """Lines from `first` to `last` (from 1), and how far they are indented.

    `open` is the line and column of a bracket that is still open where a line as far out begins.
    """

    first: int
    last: int
    indent: int
    open: tuple[int, int, str] | None = None


def statements(text: str) -> list[Statement]:
    """The statements of a text, without comments and empty lines."""
    found: list[Statement] = []
    open: list[tuple[int, int, str]] = []
    lines = text.split("\n")
    first = 1
    line, start = 1, 0

    def indent(last: int) -> int:
        """How far the statement is indented that ends not before a line."""
        nonlocal first
        while first <= last and (not lines[first - 1].strip() or lines[first - 1].lstrip().startswith("#")):
            first += 1
        return len(lines[first - 1]) - len(lines[first - 1].lstrip()) if first <= last else 0

    def end(last: int) -> None:
        nonlocal first
        spaces = indent(last)
        if first <= last:
            found.append(Statement(first, last, spaces, open[-1] if open else None))
        first = last + 1
        open.clear()

    for match in _PART.finditer(text):
        part = match[0]
        if part == "\n":
            below = _BEGINS.match(text, match.end())
            if not open or (below and len(below[1]) <= indent(line)):
                end(line)
            line, start = line + 1, match.end()
        elif part in "([{":
            open.append((line, match.start() - start + 1, part))
        elif part in _CLOSES:
            if open and open[-1][2] == _CLOSES[part]:
                open.pop()
        elif "\n" in part:
            line += part.count("\n")
            start = match.start() + part.rindex("\n") + 1
    end(len(lines))
    return found


def block(found: list[Statement], index: int) -> int:
    """The last line of a statement and of the block below it."""
    last = found[index].last
    for statement in found[index + 1 :]:
        if statement.indent <= found[index].indent:
            break
        last = statement.last
    return last
