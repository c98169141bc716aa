"""The files of a program: its own, and those that it imports, each read once."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from os.path import isabs, join, normpath
from pathlib import Path, PurePath
from types import MappingProxyType

from msgspec import Struct

from shardc.diagnostics import Location, ShardcError, did_you_mean
from shardc.frontend.text import syntax as s
from shardc.frontend.text.parser import parse

MAX_NESTED = 64
"""How deep files may import each other."""


class SourceFile(Struct, frozen=True):
    """One file, and those that its imports name, by the path that is written."""

    program: s.Program
    imports: Mapping[str, SourceFile]

    @property
    def name(self) -> str:
        """What errors call it."""
        return self.program.file


def load(text: str, file: str) -> list[SourceFile]:
    """The files of a program, what is imported before what imports it, its own last. Raises ShardcError."""
    return load_imports(parse(text, file))


def load_imports(program: s.Program) -> list[SourceFile]:
    """The same for a program that is read already."""
    return _Loader().load(program)


opened: ContextVar[Mapping[str, str]] = ContextVar("shardc_opened", default=MappingProxyType({}))
"""Texts that an editor has open, by path: they count instead of what the disk has."""


class _Loader:
    def __init__(self) -> None:
        self.found: dict[str, SourceFile] = {}

    def load(self, program: s.Program) -> list[SourceFile]:
        own = self._source(program, (normpath(program.file),))
        return [*self.found.values(), own]

    def _source(self, program: s.Program, outer: tuple[str, ...]) -> SourceFile:
        return SourceFile(program, {one.path: self._imported(program, one, outer) for one in program.imports})

    def _imported(self, program: s.Program, written: s.Import, outer: tuple[str, ...]) -> SourceFile:
        loc = Location(program.file, written.pos.line, written.pos.col)
        if not written.path or isabs(written.path):
            raise ShardcError(
                f'"{written.path}" is no path from this file', loc, 'beside it: import "layers.shard"'
            )
        path = normpath(join(PurePath(program.file).parent, written.path))
        if path in outer:
            through = " -> ".join([*outer[outer.index(path) :], path])
            raise ShardcError(f"files cannot import each other: {through}", loc)
        if len(outer) > MAX_NESTED:
            raise ShardcError(f"imports are nested more than {MAX_NESTED} deep", loc)
        if path not in self.found:
            imported = parse(_text(path, loc), path, imported=True)
            source = self._source(imported, (*outer, path))
            self.found[path] = source
        return self.found[path]


def _text(path: str, loc: Location) -> str:
    """The text of an imported file. ShardcError at the import if it can't be read or is no text."""
    if path in opened.get():
        return opened.get()[path]
    try:
        if Path(path).is_dir():
            raise IsADirectoryError(0, "is a directory")
        if not Path(path).is_file():
            raise FileNotFoundError(0, "no such file")
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ShardcError(f"{path} is not UTF-8", loc, "save the file as UTF-8") from None
    except (OSError, ValueError) as error:
        why = (getattr(error, "strerror", None) or "no such file").lower()
        raise ShardcError(f"cannot read {path}: {why}", loc, _near(path)) from None


def _near(path: str) -> str | None:
    """A hint with the file of that folder that was perhaps meant."""
    try:
        beside = sorted(file.name for file in Path(path).parent.glob("*.shard"))
    except (OSError, ValueError):
        return None
    return did_you_mean(Path(path).name, beside)
