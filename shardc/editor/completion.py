"""What may stand where the editor's caret is: names in scope, built-ins, axes, dtypes, fields, files."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from shardc.editor.analysis import Analysis
from shardc.editor.fields import record_of
from shardc.editor.hover import signature
from shardc.editor.names import (
    AFTER_AXIS_SIGN,
    Definition,
    function_at,
    globals_of,
    locals_of,
    members,
)
from shardc.frontend.text import syntax as s
from shardc.frontend.text.builtins.table import BUILTINS
from shardc.frontend.text.files import SourceFile
from shardc.frontend.text.modules import MODULES
from shardc.frontend.text.printer import type_text
from shardc.frontend.text.promotion import DTYPES
from shardc.frontend.text.scope import CONSTANTS

_STATEMENTS = ("for", "while", "if", "elif", "else", "return", "assert")
_DECLARATIONS = ("import", "from", "mesh", "axes", "size", "const", "record", "def", "assert")
_DECORATORS = ("shard_map", "per_device", "custom_vjp", "remat")
_OF_TENSORS = ("T", "at", "dtype", "ndim", "shape", "size")

_IN_QUOTES = re.compile(r'^(?:[^"\']|"[^"]*"|\'[^\']*\')*(["\'])([^"\']*)$')
_TYPE = re.compile(r"(?:\w\s*:|->\s*\(?)\s*(?:[^()=]*,\s*)?$")
_PATH = re.compile(r"((?:[A-Za-z_]\w*\.)+)$")


class Completion(Struct, frozen=True):
    """A word, what it is, how it is called or written, and more about it."""

    word: str
    kind: str
    detail: str = ""
    doc: str = ""


def completions(analysis: Analysis, line: int, column: int) -> list[Completion]:
    """What can stand at a place, each word once."""
    before = re.sub(r"[A-Za-z_]\w*$", "", analysis.text.line(line)[: column - 1])
    found = {one.word: one for one in reversed([*_candidates(analysis, line, before)])}
    return sorted(found.values(), key=lambda one: one.word)


def _candidates(analysis: Analysis, line: int, before: str) -> Iterator[Completion]:
    program, text = analysis.mended.program, analysis.text
    quoted = _IN_QUOTES.match(before)
    path = _PATH.search(before)
    if quoted:
        if re.match(r"\s*(import|from)\b", before):
            yield from _files(analysis, quoted[2])
    elif "#" in before:
        return
    elif re.match(r"\s*@$", before):
        yield from (Completion(word, "keyword") for word in _DECORATORS)
    elif AFTER_AXIS_SIGN.search(before):
        for one in globals_of(program, text):
            if one.kind in ("axis", "axes"):
                yield Completion(one.name, "axis", text.line(one.line).strip())
    elif path:
        yield from _members(analysis, line, path[1][:-1])
    elif _TYPE.search(before) and not before.lstrip().startswith(("for", "while", "if", "else", "elif")):
        yield from (Completion(word, "type", "dtype") for word in DTYPES)
        yield from (Completion(word, "type") for word in ("int", "float", "str", "bool"))
        yield from (
            _named(one, analysis) for one in globals_of(program, text) if one.kind in ("record", "file")
        )
    else:
        yield from _in_scope(analysis, line)


def _in_scope(analysis: Analysis, line: int) -> Iterator[Completion]:
    program = analysis.mended.program
    function = function_at(program, line)
    inside = analysis.text.line(line)[:1] in ("", " ") and function is not None
    if inside and function is not None:
        for one in locals_of(function, program.file):
            if one.line < line:
                yield _named(one, analysis)
    for one in globals_of(program, analysis.text):
        if one.kind not in ("mesh", "axes") and (one.kind != "axis" or _on_devices(function)):
            yield _named(one, analysis)
    for one in program.imports:
        yield from (Completion(alias.name, "function", f"from {one.path}") for _, alias in one.names)
    for name in BUILTINS:
        yield Completion(name, "function", signature(name), inspect.getdoc(BUILTINS[name]) or "")
    yield from (Completion(name, "constant") for name in CONSTANTS)
    yield from (Completion(name, "keyword") for name in (_STATEMENTS if inside else _DECLARATIONS))


def _on_devices(function: s.Function | None) -> bool:
    """Whether axes are values: psum(x, model)."""
    return function is not None and function.decorator is not None


def _named(one: Definition, analysis: Analysis) -> Completion:
    """A name of the program with the line that declares it."""
    kind = {"parameter": "variable", "size": "constant", "const": "constant", "axis": "axis"}.get(
        one.kind, one.kind
    )
    detail = "" if one.inside else analysis.text.line(one.line).strip().removesuffix(":")
    doc = one.node.doc if isinstance(one.node, s.Function | s.RecordDef) else None
    return Completion(one.name, kind, detail, doc or "")


def _members(analysis: Analysis, line: int, owner: str) -> Iterator[Completion]:
    """What follows a dot: of a file, a module of NumPy and JAX, a record, else of a tensor."""
    program = analysis.mended.program
    names = {one.name: one for one in globals_of(program, analysis.text)}
    declared = names.get(owner)
    if declared is not None and isinstance(declared.node, s.Import):
        file = analysis.source.imports.get(declared.node.path) if analysis.source else None
        yield from (
            Completion(one.name, one.kind, declared.node.path) for one in (members(file) if file else ())
        )
        return
    if owner in MODULES:
        yield from (
            Completion(name, "function", signature(name)) for name in MODULES[owner] if name in BUILTINS
        )
        return
    function = function_at(program, line)
    file = analysis.source or SourceFile(program, {})
    record = record_of(file, function, owner) if function else None
    if record is not None:
        for field in record.fields:
            yield Completion(field.name, "field", f"{field.name}: {type_text(field.type)}")
        return
    yield from (Completion(name, "field") for name in _OF_TENSORS)
    for name in BUILTINS:
        parameters = [*inspect.signature(BUILTINS[name]).parameters.values()]
        if len(parameters) > 1 and parameters[1].annotation in ("Tensor", "Operand"):
            yield Completion(name, "function", signature(name), inspect.getdoc(BUILTINS[name]) or "")


def _files(analysis: Analysis, begun: str) -> Iterator[Completion]:
    """The programs in the folder that a path leads to."""
    folder = Path(analysis.file).parent / begun.rpartition("/")[0]
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for entry in entries:
        if not entry.name.startswith(".") and (entry.is_dir() or entry.suffix == ".shard"):
            if entry != Path(analysis.file):
                yield Completion(f"{entry.name}/" if entry.is_dir() else entry.name, "file")
