"""All errors of a text: what is wrong is cut out, with all that depends on it, and the rest is read again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os.path import join, normpath
from pathlib import PurePath

from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp

from shardc.diagnostics import Diagnostic, Location, ShardcError, collecting
from shardc.dialects.wellformed import verify
from shardc.editor.mending import MOST, Mended
from shardc.editor.pruning import Pruning, with_main, without_main
from shardc.frontend.text.files import load_imports
from shardc.frontend.text.program import readers_of
from shardc.frontend.text.syntax import Program
from shardc.frontend.text.values import Value


class Checked(Struct, frozen=True):
    """What the front end says of a text, with the syntax errors.

    `related` has for the numbers of errors in imported files those errors as they are there. `program` is
    what is left without the wrong parts, `module` its IR, None where nothing could be built; `known` the
    values of its sizes and constants, `turns` those of the names of unrolled loops, by file, line and column.
    """

    program: Program
    errors: tuple[Diagnostic, ...]
    related: Mapping[int, Diagnostic]
    warnings: tuple[Diagnostic, ...]
    module: ModuleOp | None
    known: Mapping[str, Value]
    turns: Mapping[tuple[str, int, int], Sequence[Value]]


def checked(mended: Mended, entry: str | None = None) -> Checked:
    """Read what is left of a text until nothing in it is wrong."""
    pruning = Pruning(mended.program)
    errors = list(mended.errors)
    related: dict[int, Diagnostic] = {}
    pruning.leave_holes(mended.holes)
    while True:
        program = with_main(pruning.program) if without_main(pruning.program) else pruning.program
        with collecting() as warnings:
            try:
                readers = readers_of(load_imports(program), {})
                module = readers[-1].module(entry, readers)
                verify(module)
                known = dict(readers[-1].known)
                turns = readers[-1].shared.turns
                return Checked(pruning.program, tuple(errors), related, tuple(warnings), module, known, turns)
            except ShardcError as error:
                found = error.diagnostic
        cut = _cut(pruning, found, errors, related) if len(errors) < MOST else False
        if not cut:
            return Checked(pruning.program, tuple(errors), related, tuple(warnings), None, {}, {})


def _cut(
    pruning: Pruning, found: Diagnostic, errors: list[Diagnostic], related: dict[int, Diagnostic]
) -> bool:
    """Note an error and take away what it is about; whether there is such a thing."""
    file = pruning.program.file
    if found.loc.file not in (None, file):
        index = import_of(pruning.program, found.loc.file)
        if index is None:
            return False
        place = pruning.program.imports[index].pos
        related[len(errors)] = found
        what = f"{PurePath(found.loc.file or '').name}:{found.loc.line}:{found.loc.col}: {found.message}"
        errors.append(Diagnostic("error", what, Location(file, place.line, place.col), found.hint))
        pruning.cut_import(index)
        return True
    if found in errors:
        return False
    errors.append(found)
    return pruning.cut(found.loc.line)


def import_of(program: Program, path: str | None) -> int | None:
    """The number of the import that names a file; else the first, by which it came perhaps."""
    folder = PurePath(program.file).parent
    paths = [normpath(join(folder, one.path)) for one in program.imports]
    if path in paths:
        return paths.index(path)
    return 0 if paths else None
