"""The places that a program names in its source, which move when somebody edits what is before them.

A column moves when a number or a name before it has more letters, a line when one is written or deleted above
it. So in what is kept of a program each is its rank: a line among those that the program names of files of
one name, a column among those of its line. Reasons and warnings have lines in their texts, as
shardc.diagnostics.place writes them,

    the result of dot_general in model.py:95 is a partial sum over model

and there only the name of a Python file stands, and none of others: lines are ranked among those that such a
text cannot tell apart. Where a text of the user's may look like one, lines are what they are.

The program's own file, the only one that is not of Python, may have another name next time: another word
stands for it, unless a text has its name.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePath
from typing import Any, cast

from msgspec import Struct, structs
from xdsl.ir import Attribute, Operation

from shardc.diagnostics import Location, titles_of
from shardc.dialects.locations import location_of

Where = Callable[[Location], Location]
"""Says where something is in other words."""

Text = str | list[Any]
"""A text, or its parts, of which each second one is the name of files and the rank of a line."""

OWN = "<program>"
"""What stands for the program's own file."""

_PYTHON = r"[^\s/\\:]+\.py"
_SAID = re.compile(rf"\bin (?:line (\d+)|({_PYTHON}):(\d+))")
_MAY_SAY = re.compile(rb"\blines? \d|\.py:\d")


def says_line(kept: bytes) -> bool:
    """Whether a text in what is to be kept may say a line."""
    return _MAY_SAY.search(kept) is not None


def _is_text(name: str) -> bool:
    """Whether a name has whole characters alone, as those of files may not."""
    return not any("\ud800" <= each <= "\udfff" for each in name)


class SourcePlaces(Struct):
    """The lines of files of a name that are named, and the columns of each line, all in order. Without
    `lines` these don't move. own: the program's own file, for which OWN stands; None where its name stays."""

    columns: Mapping[tuple[str | None, int], list[int]]
    lines: Mapping[str, list[int]] | None = None
    own: str | None = None

    @staticmethod
    def of(ops: Iterable[Operation]) -> SourcePlaces:
        """Those of operations and of the arguments of their bodies."""
        attrs = dict[int, Attribute]()
        for op in ops:
            attrs[id(op.location)] = op.location
            blocks = [block for region in op.regions for block in region.blocks]
            attrs.update((id(arg.location), arg.location) for block in blocks for arg in block.args)
        return SourcePlaces.among(map(location_of, attrs.values()))

    @staticmethod
    def among(places: Iterable[Location]) -> SourcePlaces:
        """Those of some places. Lines don't move where a text would not tell which they are."""
        found = dict[tuple[str | None, int], set[int]]()
        for loc in places:
            found.setdefault((loc.file, loc.line), set()).add(loc.col)
        columns = {line: sorted(held) for line, held in found.items()}
        files = {file for file, line in columns if file or line}
        if not all(file and _moves(file) for file in files):
            return SourcePlaces(columns)
        lines = dict[str, set[int]]()
        for file, line in columns:
            if file:
                lines.setdefault(_name(file), set()).add(line)
        others = [file for file in files if file and not _name(file)]
        own = others[0] if len(others) == 1 and others[0] != OWN and _is_text(others[0]) else None
        return SourcePlaces(columns, {name: sorted(held) for name, held in lines.items()}, own)

    def fixed(self) -> SourcePlaces:
        """The same, of which lines don't move and the file keeps its name."""
        return SourcePlaces(self.columns)

    def are_said(self, kept: bytes) -> bool:
        """Whether a text in what is to be kept may say a line that moves, or the file that has another name
        next time."""
        if self.lines is None:
            return False
        name = PurePath(self.own or "").name.encode("utf-8", "surrogatepass")
        return says_line(kept) or (name != b"" and name in kept)

    def every(self) -> Iterator[Location]:
        """All of them, without names."""
        return (Location(file, line, col) for (file, line), held in self.columns.items() for col in held)

    def rank(self, loc: Location) -> Location:
        """The place, with ranks for its line and its column. LookupError if the program has it not."""
        if not loc.file:
            return loc
        col = _rank(self.columns[loc.file, loc.line], loc.col)
        if self.lines is None:
            return structs.replace(loc, col=col)
        file, line = OWN if loc.file == self.own else loc.file, _rank(self.lines[_name(loc.file)], loc.line)
        return structs.replace(loc, file=file, line=line, col=col)

    def place(self, loc: Location) -> Location:
        """The place with these ranks. LookupError if there is none."""
        if not loc.file:
            return loc
        file = self.own if loc.file == OWN and self.own else loc.file
        line = loc.line if self.lines is None else self.lines[_name(file)][loc.line]
        return structs.replace(loc, file=file, line=line, col=self.columns[file, line][loc.col])

    def ranked(self, text: str) -> Text:
        """A text with ranks for the lines that it says. LookupError if the program has one of them not."""
        if self.lines is None or " " not in text:
            return text
        parts, end = list[Any](), 0
        for said in _SAID.finditer(text):
            name, line = said[2] or "", int(said[1] or said[3])
            parts += [text[end : said.start()], [name, _rank(self.lines[name], line)]]
            end = said.end()
        return [*parts, text[end:]] if parts else text

    def told(self, text: Text) -> str:
        """The text, with the lines that have these ranks."""
        if isinstance(text, str) or self.lines is None:
            return cast("str", text)
        parts: list[Any] = [*text]
        for index in range(1, len(parts), 2):
            name, rank = cast("tuple[str, int]", parts[index])
            line = self.lines[name][rank]
            parts[index] = f"in {name}:{line}" if name else f"in line {line}"
        return "".join(parts)

    def written(self) -> list[Any]:
        """As what can be kept."""
        return [[(file, line, held) for (file, line), held in self.columns.items()], self.lines, self.own]

    @staticmethod
    def read(kept: Sequence[Any]) -> SourcePlaces:
        """What was written."""
        columns, lines, own = kept
        return SourcePlaces({(file, line): held for file, line, held in columns}, lines, own)


@lru_cache(maxsize=1 << 8)
def _name(file: str) -> str:
    """What a text says of a line's file: its name if it is of Python, else nothing."""
    return PurePath(file).name if PurePath(file).suffix == ".py" else ""


def _moves(file: str) -> bool:
    """Whether texts say lines of a file by their numbers, and its name so that it can be found in them."""
    return not titles_of(file) and (not _name(file) or re.fullmatch(_PYTHON, _name(file)) is not None)


def _rank(held: Sequence[int], one: int) -> int:
    place = bisect_left(held, one)
    if place == len(held) or held[place] != one:
        raise LookupError(one)
    return place
