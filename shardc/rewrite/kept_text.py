"""What a text was compiled to before its numbers were edited, found without reading it.

    seen = unread(text, options)            # None if nothing is kept of such a text
    kept = seen and seen.find()             # what kept_program.py has of the program
    …
    seen.keep(kept, made)                   # of the program that was read, and what reading it warned of

A line of MLIR that is a constant,

    %cst_7 = stablehlo.constant dense<1.000000e-01> : tensor<f32> loc(#loc361)

is read alike whatever float stands there, as long as it is none with a meaning of its own. So a text is known
by all else that is in it, and for each such number by which one of the distinct numbers it is. An entry says
under which key the program is kept, which places it names, and what reading it warned of.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from shardc import cache, outcome
from shardc.dialects.dense import number
from shardc.graph import Dense
from shardc.graph.any_number import is_any
from shardc.graph.types import DTYPES
from shardc.options import Options
from shardc.rewrite.kept_module import Key, Watched, packed, said_of, say, unpacked
from shardc.rewrite.kept_program import Sought, content, told_apart
from shardc.rewrite.source_places import SourcePlaces

_CONSTANT = re.compile(
    r"( = stablehlo\.constant dense<)(-?\d+\.\d+(?:[eE][-+]?\d+)?)"
    r"(?=> : tensor<(?:\d+x)*(bf16|f16|f32|f64)>(?: loc\([^\n]*\))?$)",
    re.MULTILINE,
)
"""What is before the number on a line, the number, and of what follows the dtype."""

_NAME = re.compile(r"[ \t]*%[\w$.-]+")
"""What such a line begins with."""


class Unread(Struct, frozen=True):
    """A text that may have been read before: its key, its distinct numbers, and which one each of them is."""

    key: Key
    numbers: Sequence[Dense]
    which: Sequence[int]

    def find(self) -> Sought | None:
        """What is kept of the program that it is; warns as reading it did. None if it was not read before."""
        entry = cache.get(*self.key)
        if entry is None:
            return None
        kept = unpacked(entry)
        say(kept["said"])
        places = SourcePlaces.read(kept["places"])
        return Sought(tuple(kept["key"]), self.numbers, places, self.which)

    def keep(self, kept: Sought, made: Watched) -> None:
        """Keep what was read, if its numbers are those of the text, in the same order."""
        if [self.which, *map(content, self.numbers)] != [kept.which, *map(content, kept.numbers)]:
            return
        entry = {"key": kept.key, "places": kept.places.written(), "said": said_of(made.warnings)}
        cache.put(packed(entry), *self.key)


def unread(program: str, options: Options) -> Unread | None:
    """What is to be looked for of a text; None if that has no such numbers, or nothing is kept of it."""
    if cache.ANEW.get():
        return None
    found, known = list[Dense](), dict[tuple[str, str], Dense | None]()

    def left(line: re.Match[str]) -> str:
        said = line[2], line[3]
        if said not in known:
            read = number(line[2], DTYPES[line[3]][1])
            known[said] = Dense(read, ()) if is_any(read) else None
        held, begin = known[said], program.rfind("\n", 0, line.start()) + 1
        if held is None or not _NAME.fullmatch(program, begin, line.start()):
            return line[0]
        found.append(held)
        return line[1]

    rest = _CONSTANT.sub(left, program)
    numbers, which = told_apart(found)
    key = outcome.key(rest, options, "text", str(which)) if found else None
    return Unread(key, numbers, which) if key else None
