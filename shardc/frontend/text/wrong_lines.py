"""Lines that show by their form what is wrong in them, where a token alone would not."""

from __future__ import annotations

import re

from shardc.frontend.text.indentation import keyword_problem
from shardc.frontend.text.syntax import Pos, SyntaxProblem

NO_SIZE = "a size is a whole number from 0"

_BROKEN_SIZE = re.compile(r"\s*size\b.*?=\s*(?=[0-9]*\.|[0-9]+[eE]|[\"'-])")
"""A size up to a value that is no whole number."""

_TYPE_AFTER_COLON = re.compile(r"\s*def\s+\w+\(.*\)\s*:(?=[^:]*:\s*(?:#.*)?$)")
"""A function whose result's type stands behind a colon."""

_CHANGED_FIELD = re.compile(r"\s*([A-Za-z_]\w*)((?:\.\w+)+)(\[.*\])?\s*([-+*/%@&|^]|//|\*\*|<<|>>)?=(?!=)")
"""An assignment to a field."""


_NAMED_KEYWORD = re.compile(r"\s*(def|for|while|if|return|assert)\s*=(?!=)")
"""An assignment to a word that begins a statement."""


def problem_of(line: str, number: int) -> SyntaxProblem | None:
    """What is wrong in a line of that number, in which something is; None if its form does not tell."""
    if size := _BROKEN_SIZE.match(line):
        hint = "const names any value known while compiling: const EPS = 1e-5"
        return SyntaxProblem(NO_SIZE, Pos(number, size.end() + 1), hint)
    if head := _TYPE_AFTER_COLON.match(line):
        hint = "the type of what a function returns stands behind ->"
        return SyntaxProblem('expected "->", found ":"', Pos(number, head.end()), hint)
    if named := _NAMED_KEYWORD.match(line):
        return keyword_problem(named[1], Pos(number, named.start(1) + 1))
    if field := _CHANGED_FIELD.match(line):
        name, last = field[1], field[2].rpartition(".")[2]
        pos = Pos(number, field.start(1) + 1)
        if last == "at" and field[3]:
            place = f"{name}{field[3]}"
            hint = f"{place} = … makes a new {name}, and so does {name} = {name}.at{field[3]}.set(…)"
            return SyntaxProblem(f"{name}.at[…] is not assigned to", pos, hint)
        hint = f"make a new one: {name} = Layer({last}=…, …), where {name} is a Layer"
        return SyntaxProblem("a field is not assigned to", pos, hint)
    return None
