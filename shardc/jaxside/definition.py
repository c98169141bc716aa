"""Where a JAX function is defined: what is said of an argument stands at its parameter.

    <step>:4:26: error: a value is of type i2, …      # in the text that JAX lowered, which nobody sees
    ->  train.py:12:13: error: a value is of type i2, …
            def step(x, scale):
                     ^

A function of JAX's own has the user's line that calls it.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec.structs import replace

from shardc.diagnostics import Diagnostic, Location, source_line
from shardc.jaxside.calling import is_between, user_place

_NAME = re.compile(r'loc\("([A-Za-z_]\w*)')
_BEGINS = re.compile(r"\b(?:def|lambda)\b")
LINES = 32
"""In how many lines a parameter is looked for."""


def at_definition(told: Diagnostic, text: str, traced: Any) -> Diagnostic:
    """What is told, at the function's parameter where it is at an argument in the file called `text`."""
    if told.loc.file != text:
        return told
    about = traced.jaxpr.jaxpr.debug_info
    if about.func_filename is None or is_between(about.func_filename):
        return replace(told, loc=user_place())
    found = _NAME.search(source_line(told.loc) or "", max(0, told.loc.col - 1))
    parameter = re.compile(rf"\b{found[1]}\b") if found else None
    return replace(told, loc=_place(about.func_filename, about.func_lineno, parameter))


def _place(file: str, first: int, parameter: re.Pattern[str] | None) -> Location:
    """The parameter of a function that begins in this line, or its `def`, or else the line."""
    begins: Location | None = None
    for line in range(first, first + LINES):
        source = source_line(Location(file, line)) or ""
        if begins is None and (word := _BEGINS.search(source)):
            begins = Location(file, line, word.start() + 1)
        if begins is None or parameter is None:
            continue
        if found := parameter.search(source, begins.col if begins.line == line else 0):
            return Location(file, line, found.start() + 1)
    return begins or Location(file, first, 1)
