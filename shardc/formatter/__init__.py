"""The one way to write a .shard program: spaces, indentation, line breaks and blank lines, and nothing else.

Line breaks in brackets stay where the author has them; lines of more than WIDTH characters are broken at
brackets. Comments and the text of strings stay.
"""

from __future__ import annotations

from shardc.diagnostics import Location, ShardcError
from shardc.formatter.concrete import concrete
from shardc.formatter.document import WIDTH
from shardc.formatter.meaning import meaning
from shardc.formatter.rows import written
from shardc.frontend.text import parse

__all__ = ["WIDTH", "formatted"]


MOST = 8
"""How often a text is formatted until nothing changes; nearly always that is twice."""


def formatted(text: str, file: str) -> str:
    """The text as it is to be written. ShardcError if it is no program; `file` is what errors call it.

    The line ends stay what the first one is. The result parses as the same program.
    """
    before = parse(text, file)
    ending = "\r\n" if "\r\n" in text.partition("\n")[0] + "\n" else "\n"
    made, last = text.removeprefix("\ufeff"), ""
    for _ in range(MOST):
        made, last = written(concrete(made), ending), made
        if made == last:  # a comment that moved to the end of its line may let another line fit
            break
    if meaning(parse(made, file)) != meaning(before):
        hint = "the file is left as it is; this is a bug of shardc"
        raise ShardcError("the formatted text would be another program", Location(file, 1, 1), hint)
    return made
