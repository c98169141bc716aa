"""What a user is told: `file:line:col: error: …`, the line with a caret, and a hint.

prog.shard:4:30: error: mesh pod has no axis modle
    def f(x: f32[8@modle]) -> f32[8]:
                   ^
    note: the axes of pod are data, model
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

WIDTH = 160
"""How many characters of a source line are shown."""


class Location(Struct, frozen=True):
    """A place in a source file (line and column from 1) and the name the value has there."""

    file: str | None = None
    line: int = 0
    col: int = 0
    name: str | None = None

    def named(self, name: str | None) -> Location:
        return self if name == self.name else Location(self.file, self.line, self.col, name)

    def __str__(self) -> str:
        return f"{visible(self.file)}:{self.line}:{self.col}" if self.file else "<unknown>"


UNKNOWN = Location()


def visible(text: str) -> str:
    """The text with escapes for what a terminal would not print as it is: control characters, line ends, …"""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


OWN_FILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")
"""How the names of shardc's own files begin."""


def is_own(file: str) -> bool:
    """Whether a file is one of shardc's, whose lines stand between a user's function and what calls it."""
    return file.startswith(OWN_FILES)


_sources: dict[str, list[str]] = {}
_titles: dict[str, Sequence[str]] = {}


def register_source(file: str, text: str, titles: Sequence[str] = ()) -> None:
    """Make the lines of `file` known, for carets. The text of stdin has no other way to be found.

    `titles` say what stands in each line, where people don't read the file as text.
    """
    _sources[file] = text.split("\n")
    _titles[file] = titles


def titles_of(file: str) -> Sequence[str]:
    """What stands in each line of a file, where people don't read it as text."""
    return _titles.get(file, ())


def place(loc: Location) -> str:
    """Where a location is: `in line 4`, or `of encoder/1/Conv` where lines have titles.

    `in linear.py:199` in Python, where a program comes from several files.
    """
    titles = titles_of(loc.file or "")
    title = titles[loc.line - 1] if loc.line <= len(titles) else ""
    file = Path(loc.file or "")
    line = f"in {file.name}:{loc.line}" if file.suffix == ".py" else f"in line {loc.line}"
    return f"of {title}" if title else line


class Diagnostic(Struct, frozen=True):
    """One message. `severity` is error or warning; `hint` says what would avoid it."""

    severity: str
    message: str
    loc: Location = UNKNOWN
    hint: str | None = None

    def __str__(self) -> str:
        place = str(self.loc) if self.loc.file else "shardc"
        lines = [f"{place}: {self.severity}: {self.message}"]
        source = source_line(self.loc)
        if source is not None:
            lines += _pointed(source, min(self.loc.col, len(source) + 1))
        if self.hint:
            lines.append(f"    note: {self.hint}")
        return "\n".join(lines)


class ShardcError(Exception):
    """A wrong input, with everything to tell the user. Commands print it and exit with 1."""

    def __init__(self, message: str, loc: Location = UNKNOWN, hint: str | None = None) -> None:
        super().__init__(message)
        self.diagnostic = Diagnostic("error", message, loc, hint)

    def __str__(self) -> str:
        return str(self.diagnostic)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is nearest to a misspelt one: with two neighbouring letters exchanged, else with
    most letters in common, if need be without regard to capitals. None if none is near.
    """
    from difflib import get_close_matches

    words = list(known)
    exchanged = {word[:i] + word[i : i + 2][::-1] + word[i + 2 :] for i in range(len(word) - 1)}
    if near := [each for each in words if each in exchanged] or get_close_matches(word, words, 1):
        return near[0]
    small = {each.lower(): each for each in words}
    near = get_close_matches(word.lower(), small, 1)
    return small[near[0]] if near else None


def did_you_mean(word: str, known: Iterable[str], otherwise: str | None = None) -> str | None:
    """A hint with the known word that is nearest to a misspelt one; `otherwise` if none is near."""
    near = nearest(word, known)
    return f"did you mean {near}?" if near is not None else otherwise


def listed(word: str, known: Iterable[str], introduction: str) -> str | None:
    """did you mean …, or else all that there is: `the axes are data, model`. None if there is nothing."""
    names = tuple(known)
    return did_you_mean(word, names, f"{introduction} {', '.join(names)}" if names else None)


def _pointed(source: str, column: int) -> list[str]:
    """A source line, cut to what is around the column where it is long, and a caret below."""
    text = "".join(c if c.isprintable() else " " for c in source)
    first = max(0, column - WIDTH // 2) if len(text) > WIDTH else 0
    front, back = "…" if first else "", "…" if len(text) > first + WIDTH else ""
    caret = " " * (column - 1 - first + len(front)) + "^"
    return [f"    {front}{text[first : first + WIDTH]}{back}", f"    {caret}"]


def source_line(loc: Location) -> str | None:
    """The line a location points to, if its file can be read."""
    if not loc.file or loc.line < 1:
        return None
    lines = _sources.get(loc.file) or _read(loc.file)
    return lines[loc.line - 1] if loc.line <= len(lines) else None


@lru_cache(maxsize=64)
def _read(file: str) -> list[str]:
    try:
        return Path(file).read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        return []


_collected: ContextVar[list[Diagnostic] | None] = ContextVar("shardc_diagnostics", default=None)


def warn(message: str, loc: Location = UNKNOWN, hint: str | None = None) -> None:
    """Say something that does not stop the compilation. It goes to the innermost `collecting`.

    What stands before a colon says it; what differs only after it, at the same place, is said once.
    """
    sink = _collected.get()
    diagnostic = Diagnostic("warning", message, loc, hint)
    if sink is not None and not any(_alike(diagnostic, other) for other in sink):
        sink.append(diagnostic)


def pass_on(warnings: Iterable[Diagnostic]) -> None:
    """Warn of what was collected, outside of that `collecting`."""
    for each in warnings:
        warn(each.message, each.loc, each.hint)


def _alike(one: Diagnostic, other: Diagnostic) -> bool:
    if one.loc == UNKNOWN or (one.loc, one.hint) != (other.loc, other.hint):
        return one == other
    return one.message.partition(": ")[0] == other.message.partition(": ")[0]


@contextmanager
def collecting() -> Generator[list[Diagnostic]]:
    """Collect the warnings of everything called inside, in order, each once."""
    sink: list[Diagnostic] = []
    token = _collected.set(sink)
    try:
        yield sink
    finally:
        _collected.reset(token)
