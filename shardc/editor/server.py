"""The language server: one analysis per version of a text, and answers from it. Needs pygls.

A text that changes while it is looked at makes that version stale; what is found out about a version does not
depend on how long that takes. Positions are those of the protocol: UTF-16, from 0.
"""

from __future__ import annotations

import asyncio
import re
import traceback
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from threading import Condition, Thread
from typing import Any, TypeVar

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from shardc import __version__
from shardc.diagnostics import Diagnostic, ShardcError
from shardc.editor.analysis import Analysis, Shown
from shardc.editor.completion import Completion, completions
from shardc.editor.hover import hover
from shardc.editor.names import resolve
from shardc.editor.text import Text
from shardc.formatter import formatted

_T = TypeVar("_T")

_KINDS = {
    "axis": lsp.CompletionItemKind.EnumMember,
    "constant": lsp.CompletionItemKind.Constant,
    "field": lsp.CompletionItemKind.Field,
    "file": lsp.CompletionItemKind.Module,
    "function": lsp.CompletionItemKind.Function,
    "keyword": lsp.CompletionItemKind.Keyword,
    "record": lsp.CompletionItemKind.Struct,
    "type": lsp.CompletionItemKind.Class,
    "variable": lsp.CompletionItemKind.Variable,
}

_IMPORT = re.compile(r"^(?:import|from)\b", re.MULTILINE)

_SEVERITIES = {"error": lsp.DiagnosticSeverity.Error, "warning": lsp.DiagnosticSeverity.Warning}


class ShardServer(LanguageServer):
    """The texts that an editor has open, and the thread that looks through them."""

    def __init__(self) -> None:
        sync = lsp.TextDocumentSyncKind.Full
        super().__init__("shardc", __version__, sync)  # pyright: ignore[reportUnknownMemberType]
        self.open: dict[str, Analysis] = {}
        self._waiting: dict[str, Analysis] = {}
        self._changed = Condition()
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Begin to look through texts. Called on the event loop."""
        self._loop = asyncio.get_running_loop()
        Thread(target=self._work, daemon=True).start()

    def set_text(self, uri: str, source: str, version: int) -> None:
        """A text is opened, or changed; those that import it are looked through again."""
        self._analyse(uri, source, version)
        for other, analysis in list(self.open.items()):
            if other != uri and _IMPORT.search(analysis.text.source):
                self._analyse(other, analysis.text.source, analysis.version)

    def close(self, uri: str) -> None:
        """Forget a text."""
        analysis = self.open.pop(uri, None)
        if analysis is not None:
            analysis.stale.set()
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    def _analyse(self, uri: str, source: str, version: int) -> None:
        if uri in self.open:
            self.open[uri].stale.set()
        others = {path_of(other): one.text.source for other, one in self.open.items() if other != uri}
        self.open[uri] = Analysis(source, path_of(uri), version, others)
        with self._changed:
            self._waiting[uri] = self.open[uri]
            self._changed.notify()

    def _work(self) -> None:
        """Look through the texts that changed, one after the other."""
        while True:
            with self._changed:
                while not self._waiting:
                    self._changed.wait()
                uri = next(iter(self._waiting))
                analysis = self._waiting.pop(uri)
            self.guarded(lambda: analysis.run(lambda shown: self._publish(uri, analysis, shown)))  # noqa: B023

    def _publish(self, uri: str, analysis: Analysis, shown: Sequence[Shown]) -> None:
        found = [diagnostic(analysis, one) for one in shown]

        def send() -> None:
            if self.open.get(uri) is analysis:
                params = lsp.PublishDiagnosticsParams(uri, found, analysis.version)
                self.text_document_publish_diagnostics(params)

        assert self._loop is not None
        self._loop.call_soon_threadsafe(send)

    def guarded(self, answer: Callable[[], _T]) -> _T | None:
        """An answer; None if there is a bug, which goes into the log of the editor. The server lives on."""
        try:
            return answer()
        except Exception:
            text = traceback.format_exc()
            if self._loop is not None:
                message = lsp.LogMessageParams(lsp.MessageType.Error, text)
                self._loop.call_soon_threadsafe(self.window_log_message, message)
            return None


def path_of(uri: str) -> str:
    """The path of a file; for a text that has none yet, its address."""
    path = to_fs_path(uri) if uri.startswith("file:") else None
    return path or uri


def range_of(text: Text, line: int, column: int, end: int) -> lsp.Range:
    """Columns of a line, from 1, as a range."""
    row = max(line, 1) - 1
    return lsp.Range(
        lsp.Position(row, text.character(row + 1, column)), lsp.Position(row, text.character(row + 1, end))
    )


def diagnostic(analysis: Analysis, shown: Shown) -> lsp.Diagnostic:
    """An error or a warning, from its place to the end of the word there, with its hint below it."""
    found, text = shown.diagnostic, analysis.text
    line, col = max(found.loc.line, 1), max(found.loc.col, 1)
    message = found.message + (f"\nnote: {found.hint}" if found.hint else "")
    related = [_related(shown.cause)] if shown.cause is not None and shown.cause.loc.file else None
    severity = _SEVERITIES[found.severity]
    return lsp.Diagnostic(
        range_of(text, line, col, text.end(line, col)),
        message,
        severity=severity,
        source="shardc",
        related_information=related,
    )


def _related(cause: Diagnostic) -> lsp.DiagnosticRelatedInformation:
    row, character = max(cause.loc.line, 1) - 1, max(cause.loc.col, 1) - 1
    place = lsp.Position(row, character)
    uri = from_fs_path(str(Path(cause.loc.file or "").absolute())) or ""
    return lsp.DiagnosticRelatedInformation(lsp.Location(uri, lsp.Range(place, place)), cause.message)


def item(one: Completion) -> lsp.CompletionItem:
    """A completion, with its signature and what it does."""
    return lsp.CompletionItem(
        one.word, kind=_KINDS[one.kind], detail=one.detail or None, documentation=one.doc or None
    )


def edits(text: Text) -> list[lsp.TextEdit]:
    """What makes a text formatted: the lines that change. None for a text that is no program."""
    try:
        made = formatted(text.source, "text")
    except ShardcError:
        return []
    old, new = _lines(text.source), _lines(made)
    return [
        lsp.TextEdit(lsp.Range(lsp.Position(a, 0), lsp.Position(b, 0)), "".join(new[c:d]))
        for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if tag != "equal"
    ]


def _lines(text: str) -> list[str]:
    parts = text.split("\n")
    return [f"{line}\n" for line in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def make_server() -> ShardServer:
    """The server with all that it answers."""
    server = ShardServer()

    @server.feature(lsp.INITIALIZED)
    def _initialized(params: lsp.InitializedParams) -> None:
        server.start()

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def _opened(params: lsp.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        server.guarded(lambda: server.set_text(document.uri, document.text, document.version))

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def _changed(params: lsp.DidChangeTextDocumentParams) -> None:
        document = params.text_document
        source = server.workspace.get_text_document(document.uri).source
        server.guarded(lambda: server.set_text(document.uri, source, document.version))

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def _closed(params: lsp.DidCloseTextDocumentParams) -> None:
        server.close(params.text_document.uri)

    def at(params: Any) -> tuple[Analysis, int, int] | None:
        """The text that a request is about, and the line and column in it, from 1."""
        analysis = server.open.get(params.text_document.uri)
        if analysis is None:
            return None
        line = params.position.line + 1
        return analysis, line, analysis.text.column(line, params.position.character)

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    @server.thread()
    def _hover(params: lsp.HoverParams) -> lsp.Hover | None:
        place = at(params)
        found = server.guarded(lambda: hover(*place)) if place else None
        if place is None or found is None:
            return None
        markdown, word = found
        shown = lsp.MarkupContent(lsp.MarkupKind.Markdown, markdown)
        return lsp.Hover(shown, range_of(place[0].text, word.line, word.col, word.end) if word else None)

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    @server.thread()
    def _definition(params: lsp.DefinitionParams) -> lsp.Location | None:
        place = at(params)
        return server.guarded(lambda: definition(*place)) if place else None

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=["@", "."]))
    @server.thread()
    def _completion(params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        place = at(params)
        return [*map(item, server.guarded(lambda: completions(*place)) or ())] if place else []

    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    @server.thread()
    def _formatting(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
        analysis = server.open.get(params.text_document.uri)
        return server.guarded(lambda: edits(analysis.text)) or [] if analysis else []

    return server


def definition(analysis: Analysis, line: int, column: int) -> lsp.Location | None:
    """Where what stands at a place is declared; for the path of an import, the file."""
    file = _imported_file(analysis, line, column)
    if file is not None:
        return lsp.Location(from_fs_path(file) or "", range_of(Text(""), 1, 1, 1))
    word = analysis.text.word(line, column)
    found = resolve(analysis.mended.program, analysis.source, analysis.text, word) if word else None
    if found is None:
        return None
    text = analysis.text if found.file == analysis.file else _text(analysis, found.file)
    uri = from_fs_path(str(Path(found.file).absolute())) or found.file
    return lsp.Location(uri, range_of(text, found.line, found.col, found.col + len(found.name)))


def _imported_file(analysis: Analysis, line: int, column: int) -> str | None:
    """The file that is imported in a line, if the place is in its path."""
    for one in analysis.mended.program.imports:
        if one.pos.line == line and one.pos.col <= column <= one.pos.col + len(one.path) + 2:
            path = (Path(analysis.file).parent / one.path).resolve()
            return str(path) if path.is_file() else None
    return None


def _text(analysis: Analysis, path: str) -> Text:
    if path in analysis.others:
        return Text(analysis.others[path])
    try:
        return Text(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return Text("")
