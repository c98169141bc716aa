"""The syntax tree of a text in which lines are wrong or half-written: errors, and the tree of the rest."""

from __future__ import annotations

import re

from msgspec import Struct

from shardc.diagnostics import Diagnostic, Location, ShardcError, register_source
from shardc.editor.lines import block, statements
from shardc.frontend.text import parse
from shardc.frontend.text.syntax import Program

MOST = 30
"""How many errors are looked for."""

HOLE = "hole_"
"""The name that stands in the place of a wrong statement."""

_ASSIGNS = re.compile(r"\s*([A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)*)\s*(?:\[.*\]\s*)?(?:[:=]|[-+*/%@&|^<>]+=)")

_CARRIES = re.compile(r"\b(?:carrying|collecting)\b(.*)")


class Hole(Struct, frozen=True):
    """A line where a wrong statement stood, the names that it gave a value, and whether it was a return."""

    line: int
    names: tuple[str, ...]
    returns: bool = False


class Mended(Struct, frozen=True):
    """What could be read of a text."""

    program: Program
    errors: tuple[Diagnostic, ...]
    holes: tuple[Hole, ...]


def mended(text: str, file: str) -> Mended:
    """Read a text statement by statement: those that are wrong leave a hole in the tree."""
    lines = text.removeprefix("\ufeff").split("\n")
    errors: list[Diagnostic] = []
    holes: list[Hole] = []
    last = 0
    try:
        return Mended(parse(text, file), (), ())
    except ShardcError:
        pass
    for statement in statements("\n".join(lines)):
        if statement.open is not None and len(errors) < MOST:
            line, col, bracket = statement.open
            errors.append(Diagnostic("error", f'this "{bracket}" is not closed', Location(file, line, col)))
            holes.append(_cut(lines, statement.first))
    while True:
        try:
            program = parse("\n".join(lines), file)
            break
        except ShardcError as error:
            found = error.diagnostic
            line = found.loc.line
            if len(errors) >= MOST or not 0 < line <= len(lines):
                errors.append(found)
                program = parse("", file)
                break
            if line == last:  # what stands in the place of the wrong line is wrong too
                lines[line - 1] = ""
                continue
            errors.append(found)
            last = line
            if "\t" in lines[line - 1].partition("#")[0]:
                lines = [one.replace("\t", " ") for one in lines]
            else:
                holes.append(_cut(lines, line))
    register_source(file, text)
    return Mended(program, tuple(errors), tuple(holes))


def _cut(lines: list[str], line: int) -> Hole:
    """Put something harmless in the place of the statement at a line, and of the block below it."""
    found = statements("\n".join(lines))
    index = next((i for i, one in enumerate(found) if one.first <= line <= one.last), None)
    if index is None:
        lines[line - 1] = ""
        return Hole(line, ())
    statement = found[index]
    written = lines[statement.first - 1]
    last = block(found, index)
    while not statement.indent and index and lines[found[index - 1].first - 1].startswith("@"):
        index -= 1  # what stands above a function goes with it
    for number in range(found[index].first, last + 1):
        lines[number - 1] = ""
    if statement.indent:
        inside = next((one for one in reversed(found[:index]) if one.indent < statement.indent), None)
        record = inside is not None and lines[inside.first - 1].startswith("record")
        lines[statement.first - 1] = " " * statement.indent + (f"{HOLE}: f32[]" if record else f"{HOLE} = 0")
    assigned = _ASSIGNS.match(written) or _CARRIES.search(written)
    names = tuple(re.findall(r"\w+", assigned[1])) if assigned else ()
    if not statement.indent:
        names = tuple(re.findall(r"[A-Za-z_]\w*", written.partition("(")[0]))
    return Hole(statement.first, names, written.lstrip().startswith("return"))
