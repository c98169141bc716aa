"""Places in the texts of a program, and the error of a text that is none."""

from __future__ import annotations

from typing import NamedTuple


class Pos(NamedTuple):
    """Line and column, from 1; `file` is that of an imported text, None in the program's own."""

    line: int
    col: int
    file: str | None = None


class SyntaxProblem(Exception):
    """A text that is no program. The parser turns it into a ShardcError that names the file."""

    def __init__(self, message: str, pos: Pos, hint: str | None = None) -> None:
        super().__init__(message)
        self.message, self.pos, self.hint = message, pos, hint
