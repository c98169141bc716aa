"""What a file's imports make its names mean: sizes, constants, functions and records of other files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from shardc.diagnostics import listed
from shardc.frontend.text import syntax as s
from shardc.frontend.text.builder import SourceBuilder
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Value
from shardc.layout import Mesh

if TYPE_CHECKING:
    from shardc.frontend.text.declarations import Declarations
    from shardc.frontend.text.program import ProgramReader


class Shared(Struct):
    """What all files of a program have in common.

    `reserved` are the names of the functions and records of the program's own file, which keep them in the
    module; `symbols` and `classes` what is taken besides, classes with their docstrings. `named` are the
    axes that the shardings of the function being built name, and those of functions it calls. `turns` are
    the values that the names of unrolled loops had, by file, line and column; `unrolled` is the number of
    turns of the one that is being built and of those in it, None outside of any.
    """

    builder: SourceBuilder
    e: Emitter
    reserved: frozenset[str]
    meshes: dict[str, Mesh] = {}
    symbols: set[str] = set()
    classes: dict[str, str | None] = {}
    named: set[str] = set()
    turns: dict[tuple[str, int, int], list[Value]] = {}
    unrolled: int | None = None


def import_names(into: Declarations, written: s.Import, reader: ProgramReader) -> None:
    """Enter what one import statement names. Raises ShardcError for names that the file lacks."""
    for nested in reader.declared.records:
        into.records.setdefault(_hidden(reader, nested), _closed(reader, nested))
    if written.names:
        for own, alias in written.names:
            _check_declared(into.e, reader, own.name, own.pos)
            into.check_free(alias.name, alias.pos)
            _enter(into, reader, own.name, alias.name)
        return
    module, pos = _module(into.e, written)
    into.check_free(module, pos)
    into.modules[module] = reader.file
    for name in _declared(reader):
        _enter(into, reader, name, f"{module}.{name}")


def _module(e: Emitter, written: s.Import) -> tuple[str, s.Pos]:
    """The name in front of the dot: layers for "blocks/layers.shard"."""
    if written.module is not None:
        return written.module.name, written.module.pos
    name = PurePath(written.path).stem
    if not (name.isidentifier() and name.isascii()):
        hint = f'import "{written.path}" as layers'
        raise e.error(f'"{written.path}" does not make a name', hint, written.pos)
    return name, written.pos


def _declared(reader: ProgramReader) -> Iterator[str]:
    """The names that a file offers: what it declares, and what it has from other files by name."""
    names = (*reader.known, *reader.functions, *reader.records)
    return (name for name in names if name.isidentifier())


def _check_declared(e: Emitter, reader: ProgramReader, name: str, pos: s.Pos) -> None:
    names = tuple(_declared(reader))
    if name not in names:
        raise e.error(f"{reader.file} has no {name}", listed(name, names, "it has"), pos)


def _enter(into: Declarations, reader: ProgramReader, name: str, alias: str) -> None:
    if name in reader.known:
        into.known[alias] = reader.known[name]
        if name in reader.types.sizes:
            into.sizes[alias] = reader.types.sizes[name]
        elif name in reader.types.constants:
            into.types.constants[alias] = reader.types.constants[name]
    elif name in reader.functions:
        into.functions[alias] = reader.functions[name]
        into.owners[alias] = reader.owner(name)
    else:
        into.records[alias] = _closed(reader, name)


# ---- records in another file: their types name what is declared where they stand


def _hidden(reader: ProgramReader, name: str) -> str:
    """What a record of one file is called in types of another that does not import it by name."""
    return name if ":" in name else f"{reader.file}:{name}"


def _closed(reader: ProgramReader, name: str) -> s.RecordDef:
    """A record whose types mean the same in any file."""
    record = reader.records[name]
    fields = tuple(
        replace(field, type=_closed_type(reader, field.type)) for field in record.fields if field.type
    )
    return replace(record, fields=fields)


def _closed_type(reader: ProgramReader, written: s.AnyType) -> s.AnyType:
    if isinstance(written, s.TupleType):
        return replace(written, items=tuple(_closed_type(reader, item) for item in written.items))
    if isinstance(written, s.NamedType):
        known = written.name in reader.records
        return replace(written, name=_hidden(reader, written.name)) if known else written
    dims = tuple(
        replace(dim, size=_closed_size(reader, dim.size)) if isinstance(dim, s.DimType) else dim
        for dim in written.dims
    )
    dtype = _hidden(reader, written.dtype) if written.dtype in reader.records else written.dtype
    return replace(written, dtype=dtype, dims=dims)


def _closed_size(reader: ProgramReader, expr: s.Expr) -> s.Expr:
    """A size with numbers for the names that the file gives a value."""
    if isinstance(expr, s.Binary):
        left, right = _closed_size(reader, expr.left), _closed_size(reader, expr.right)
        return replace(expr, left=left, right=right)
    if isinstance(expr, s.Name):
        sizes = {**reader.types.constants, **reader.types.sizes}
        return s.Number(expr.pos, sizes[expr.id]) if expr.id in sizes else expr
    return expr
