"""What names mean at a place of a program, from its syntax tree: parameters, variables, declarations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import cast

from msgspec import Struct

from shardc.editor.pruning import names_of
from shardc.editor.text import Text, Word
from shardc.frontend.text import syntax as s
from shardc.frontend.text.files import SourceFile
from shardc.frontend.text.syntax import Pos, Program

AFTER_AXIS_SIGN = re.compile(r"[\w)]@(?:\([^)@]*|)$")
"""What stands before the name of an axis in a type: 64@, 64@(data, ."""

_DOTTED = re.compile(r"([A-Za-z_]\w*)\.\s*$")


class Definition(Struct, frozen=True):
    """Where a name gets its meaning: a declaration (`node`), or a value of the function `inside`."""

    name: str
    kind: str
    file: str
    line: int
    col: int
    node: object = None
    inside: s.Function | None = None


def function_at(program: Program, line: int) -> s.Function | None:
    """The function that a line is in."""
    before = [one for one in _declared(program) if one.pos.line <= line]
    last = max(before, key=lambda one: one.pos.line, default=None)
    return last if isinstance(last, s.Function) else None


def _declared(program: Program) -> Sequence[s.Function | s.SizeDef | s.ConstDef | s.RecordDef | s.MeshDef]:
    return (
        *program.functions, *program.sizes, *program.constants, *program.records, *program.meshes,
    )  # fmt: skip


def globals_of(program: Program, text: Text) -> Iterator[Definition]:
    """What the declarations of a file name, but for those that it imports by name."""
    file = program.file
    kinds = {s.SizeDef: "size", s.ConstDef: "const", s.RecordDef: "record", s.Function: "function"}
    for declared in (*program.sizes, *program.constants, *program.records, *program.functions):
        yield Definition(declared.name, kinds[type(declared)], file, *declared.pos[:2], declared)
    for mesh in program.meshes:
        yield Definition(mesh.name, "mesh", file, *mesh.pos[:2], mesh)
        for name, _ in mesh.axes:
            found = re.search(rf"\b{name}\s*=", text.line(mesh.pos.line)[mesh.pos.col - 1 :])
            col = mesh.pos.col + (found.start() if found else 0)
            yield Definition(name, "axis", file, mesh.pos.line, col, mesh)
    for logical in program.logical:
        yield Definition(logical.name, "axes", file, *logical.pos[:2], logical)
    for one in program.imports:
        if not one.names:
            yield Definition(next(names_of(one)), "file", file, *one.pos[:2], one)


def locals_of(function: s.Function, file: str) -> Iterator[Definition]:
    """The parameters of a function and what its statements name, in the order of the text."""
    for parameter in function.parameters:
        yield Definition(parameter.name, "parameter", file, *parameter.pos[:2], parameter, function)
    found: list[Definition] = []
    todo: list[object] = [function.body]
    while todo:
        node = todo.pop()
        if isinstance(node, s.Function | s.Parameter):
            kind = "parameter" if isinstance(node, s.Parameter) else "function"
            found.append(Definition(node.name, kind, file, *node.pos[:2], node, function))
        if isinstance(node, s.Target):
            found.append(Definition(node.name, "variable", file, *node.pos[:2], node, function))
        if isinstance(node, tuple) and not isinstance(node, Pos):
            todo += cast("tuple[object, ...]", node)
        elif isinstance(node, Struct):
            todo += [getattr(node, field) for field in node.__struct_fields__]
    yield from sorted(found, key=lambda one: (one.line, one.col))


def resolve(program: Program, source: SourceFile | None, text: Text, word: Word) -> Definition | None:
    """What a word of the text means."""
    every = {one.name: one for one in reversed([*globals_of(program, text)])}
    dotted = _DOTTED.search(word.before)
    if dotted:
        return _member(program, source, every.get(dotted[1]), word.name)
    if AFTER_AXIS_SIGN.search(word.before) and every.get(word.name):
        return every[word.name]
    function = function_at(program, word.line)
    if function is not None:
        place = (word.line, word.col)
        own = [one for one in locals_of(function, program.file) if one.name == word.name]
        before = [one for one in own if (one.line, one.col) <= place]
        if own:
            return before[-1] if before else own[0]
    return every.get(word.name) or _imported(program, source, word.name)


def _member(
    program: Program, source: SourceFile | None, owner: Definition | None, name: str
) -> Definition | None:
    """layers.norm, or a field of a record."""
    if owner is not None and isinstance(owner.node, s.Import):
        file = source.imports.get(owner.node.path) if source else None
        return None if file is None else _in_file(file, name)
    files = source.imports.values() if source else ()
    for one in (program, *(file.program for file in files)):
        for field in (field for record in one.records for field in record.fields):
            if field.name == name:
                return Definition(name, "field", one.file, *field.pos[:2], field)
    return None


def record_named(source: SourceFile, name: str) -> tuple[s.RecordDef, SourceFile] | None:
    """The record that a type names in a file, and the file that declares it."""
    module, _, own = name.rpartition(".")
    for one in source.program.imports:
        file = source.imports.get(one.path)
        names = {alias.name: theirs.name for theirs, alias in one.names}
        if file and module and not one.names and module in names_of(one):
            return record_named(file, own)
        if file and name in names:
            return record_named(file, names[name])
    found = next((record for record in source.program.records if record.name == name), None)
    return None if found is None else (found, source)


def _imported(program: Program, source: SourceFile | None, name: str) -> Definition | None:
    """What `from "layers.shard" import norm as name` names."""
    for one in program.imports:
        for own, alias in one.names:
            if alias.name == name:
                file = source.imports.get(one.path) if source else None
                return None if file is None else _in_file(file, own.name)
    return None


def _in_file(source: SourceFile, name: str) -> Definition | None:
    every = {one.name: one for one in globals_of(source.program, Text(""))}
    return every.get(name) or _imported(source.program, source, name)


def members(source: SourceFile) -> list[Definition]:
    """What another file offers under the name that it is imported as."""
    kinds = ("function", "const", "size", "record")
    return [one for one in globals_of(source.program, Text("")) if one.kind in kinds]
