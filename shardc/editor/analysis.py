"""One version of a text, and what is found out about it, each once and when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from threading import Event, RLock
from typing import Any, NamedTuple, TypeVar

from shardc.diagnostics import Diagnostic, Location, ShardcError
from shardc.editor.checking import Checked, checked, import_of
from shardc.editor.facts import Compiled, compiled, explainer
from shardc.editor.lines import Statement, statements
from shardc.editor.mending import Mended, mended
from shardc.editor.text import Text
from shardc.explain.why import Explainer
from shardc.frontend.text.files import SourceFile, load_imports, opened

T = TypeVar("T")

_READING, _COMPILING = RLock(), RLock()
"""One thread at a time reads, and one compiles."""


class Shown(NamedTuple):
    """A diagnostic of this text, and the one in another file that it stands for."""

    diagnostic: Diagnostic
    cause: Diagnostic | None


class Analysis:
    """A version of a text. `others` are the texts that the editor has open, by path."""

    def __init__(self, source: str, file: str, version: int, others: Mapping[str, str]) -> None:
        self.text, self.file, self.version = Text(source), file, version
        self.others = others
        self.stale = Event()
        self._read: dict[str, Any] = {}
        self._compiled: Compiled | None = None
        self._explainers: dict[str | None, Explainer | None] = {}

    @property
    def mended(self) -> Mended:
        """The syntax."""
        return self._once("mended", lambda: mended(self.text.source, self.file))

    @property
    def checked(self) -> Checked:
        """What the front end says."""
        return self._once("checked", lambda: self._checked(None))

    @property
    def source(self) -> SourceFile | None:
        """The file with those that it imports; None where one of them is wrong."""
        return self._once("source", self._source)

    def _once(self, what: str, read: Callable[[], T]) -> T:
        """What is read, the first time that somebody asks. Python 3.11's cached_property has a lock of its
        own, which a thread would hold that waits for the one that reads, and needs it.
        """
        with _READING:
            if what not in self._read:
                self._read[what] = read()
            return self._read[what]

    def _source(self) -> SourceFile | None:
        token = opened.set(self.others)
        try:
            return load_imports(self.mended.program)[-1]
        except ShardcError:
            return None
        finally:
            opened.reset(token)

    @cached_property
    def statements(self) -> list[Statement]:
        """The lines that belong together."""
        return statements(self.text.source)

    def compiled(self) -> Compiled | None:
        """What the passes say; None for a program that is wrong, or a version that nobody looks at now."""
        with _COMPILING:
            if self._compiled is None and self.checked.module is not None and not self.checked.errors:
                self._compiled = compiled(self.checked.module, self.stale.is_set)
            return self._compiled

    def explainer(self, entry: str | None) -> Explainer | None:
        """What knows layouts; with `entry` those of the program that begins there."""
        with _COMPILING:
            if entry not in self._explainers:
                found = self.checked if entry is None else self._checked(entry)
                self._explainers[entry] = explainer(found.module) if found.module else None
            return self._explainers[entry]

    def _checked(self, entry: str | None) -> Checked:
        token = opened.set(self.others)
        try:
            return checked(self.mended, entry)
        finally:
            opened.reset(token)

    def front(self) -> list[Shown]:
        """The errors of the text, or its warnings as far as the front end knows them."""
        found = self.checked
        shown = [Shown(one, found.related.get(i)) for i, one in enumerate(found.errors)]
        shown += [self._here(one) for one in found.warnings]
        return sorted(shown, key=lambda one: (one.diagnostic.loc.line, one.diagnostic.loc.col))

    def all(self) -> list[Shown]:
        """The same with those of the passes."""
        later = self.compiled()
        if later is None:
            return self.front()
        shown = [*self.front(), *map(self._here, later.diagnostics)]
        return sorted(shown, key=lambda one: (one.diagnostic.loc.line, one.diagnostic.loc.col))

    def _here(self, found: Diagnostic) -> Shown:
        """What is said of an imported file, at the import."""
        if found.loc.file in (None, self.file):
            return Shown(found, None)
        index = import_of(self.checked.program, found.loc.file)
        line = self.checked.program.imports[index].pos if index is not None else None
        place = Location(self.file, line.line, line.col) if line else Location(self.file, 1, 1)
        return Shown(Diagnostic(found.severity, found.message, place, found.hint), found)

    def run(self, publish: Callable[[list[Shown]], None]) -> None:
        """Find out all that is published, in two steps; nothing of a version that nobody looks at now."""
        for step in (self.front, self.all):
            if self.stale.is_set():
                return
            shown = step()
            if not self.stale.is_set():
                publish(shown)

    def statement_at(self, line: int) -> tuple[int, int]:
        """The first and last line of the statement at a line."""
        for one in self.statements:
            if one.first <= line <= one.last:
                return one.first, one.last
        return line, line
