"""Places in the text of an editor: lines and characters from 0, characters in units of UTF-16."""

from __future__ import annotations

import re
from functools import cached_property

from msgspec import Struct

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TOKEN = re.compile(r"[A-Za-z0-9_.]+|\"[^\"\n]*\"|'[^'\n]*'|\S")


class Word(Struct, frozen=True):
    """A name in the text: its line and columns from 1, and what stands before it on its line."""

    name: str
    line: int
    col: int
    end: int
    before: str


class Text(Struct, frozen=True, dict=True):
    """A text, whose lines end with LF or CRLF."""

    source: str

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends."""
        return [line.removesuffix("\r") for line in self.source.split("\n")]

    def line(self, number: int) -> str:
        """A line by its number from 1; empty behind the last."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def column(self, line: int, character: int) -> int:
        """The column from 1 of a place that the editor names; `line` from 1."""
        units = 0
        for index, letter in enumerate(self.line(line)):
            if units >= character:
                return index + 1
            units += 2 if ord(letter) > 0xFFFF else 1
        return len(self.line(line)) + 1

    def character(self, line: int, column: int) -> int:
        """The editor's character for a column from 1."""
        return sum(2 if ord(letter) > 0xFFFF else 1 for letter in self.line(line)[: max(column - 1, 0)])

    def word(self, line: int, column: int) -> Word | None:
        """The name at a column, or just before it."""
        text = self.line(line)
        for match in _WORD.finditer(text):
            if match.start() + 1 <= column <= match.end() + 1:
                return Word(match[0], line, match.start() + 1, match.end() + 1, text[: match.start()])
        return None

    def end(self, line: int, column: int) -> int:
        """The column behind the word, number, text or sign that begins at a column."""
        match = _TOKEN.match(self.line(line), max(column - 1, 0))
        return match.end() + 1 if match else column + 1
