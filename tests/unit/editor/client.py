"""An editor's side of the language server protocol: messages to and from `shardc lsp`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

CAPABILITIES: dict[str, Any] = {"textDocument": {"publishDiagnostics": {"relatedInformation": True}}}

PATIENCE = 60
"""Seconds after which a server that says nothing is taken for dead."""


class Client:
    """A server in a process of its own. Every call waits for its answer."""

    def __init__(self, root: Path) -> None:
        self.root = root
        command = [sys.executable, "-m", "shardc.cli.shardc", "lsp"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0
        self.received: Queue[dict[str, Any] | None] = Queue()
        Thread(target=self._read, daemon=True).start()
        self.said: list[dict[str, Any]] = []
        self.request("initialize", processId=None, rootUri=root.as_uri(), capabilities=CAPABILITIES)
        self.notify("initialized")

    def uri(self, name: str) -> str:
        return (self.root / name).as_uri()

    # ---- messages

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.process.stdin.flush()

    def _read(self) -> None:
        """Put what the server says into the queue; None at its end."""
        assert self.process.stdout is not None
        size = 0
        for line in self.process.stdout:
            if line.lower().startswith(b"content-length:"):
                size = int(line.split(b":")[1])
            elif line == b"\r\n":
                self.received.put(json.loads(self.process.stdout.read(size)))
        self.received.put(None)

    def _receive(self) -> dict[str, Any]:
        message = self.received.get(timeout=PATIENCE)
        assert message is not None, f"the server ended with {self.process.wait()}"
        return message

    def notify(self, method: str, **params: Any) -> None:
        self._send({"method": method, "params": params})

    def request(self, method: str, **params: Any) -> Any:
        """The result of a request; what the server says meanwhile is kept."""
        self.number += 1
        self._send({"id": self.number, "method": method, "params": params})
        while True:
            message = self._receive()
            if message.get("id") == self.number and "method" not in message:
                assert "error" not in message, message
                return message["result"]
            self.said.append(message)

    # ---- texts

    def open(self, name: str, text: str) -> None:
        document = {"uri": self.uri(name), "languageId": "shard", "version": 1, "text": text}
        self.notify("textDocument/didOpen", textDocument=document)

    def change(self, name: str, text: str, version: int) -> None:
        document = {"uri": self.uri(name), "version": version}
        self.notify("textDocument/didChange", textDocument=document, contentChanges=[{"text": text}])

    def diagnostics(self, name: str, version: int, times: int = 2) -> list[dict[str, Any]]:
        """What is published of a version: by the front end, then by all passes."""
        found: list[list[dict[str, Any]]] = []
        while len(found) < times:
            message = self.said.pop(0) if self.said else self._receive()
            assert message.get("method") != "window/logMessage", message["params"]["message"]
            params = message.get("params", {})
            if message.get("method") == "textDocument/publishDiagnostics":
                if params["uri"] == self.uri(name) and params.get("version") == version:
                    found.append(params["diagnostics"])
        return found[-1]

    def at(self, method: str, name: str, line: int, column: int) -> Any:
        """A request about a place; line and column from 1."""
        position = {"line": line - 1, "character": column - 1}
        return self.request(f"textDocument/{method}", textDocument={"uri": self.uri(name)}, position=position)

    def hover(self, name: str, line: int, column: int) -> str | None:
        found = self.at("hover", name, line, column)
        return found and found["contents"]["value"]

    def definition(self, name: str, line: int, column: int) -> tuple[str, int, int] | None:
        found = self.at("definition", name, line, column)
        start = found and found["range"]["start"]
        return found and (found["uri"].rpartition("/")[2], start["line"] + 1, start["character"] + 1)

    def words(self, name: str, line: int, column: int) -> dict[str, str | None]:
        """What completes a place, with signatures."""
        return {one["label"]: one.get("detail") for one in self.at("completion", name, line, column)}

    def formatted(self, name: str, text: str) -> str:
        """The text after the edits that format it."""
        options = {"tabSize": 4, "insertSpaces": True}
        edits = self.request("textDocument/formatting", textDocument={"uri": self.uri(name)}, options=options)
        lines = text.split("\n")
        for edit in reversed(edits):
            first, last = edit["range"]["start"], edit["range"]["end"]
            assert first["character"] == last["character"] == 0
            end = "\n" if last["line"] == len(lines) and edit["newText"].endswith("\n") else ""
            lines[first["line"] : last["line"]] = edit["newText"].removesuffix("\n").split("\n")
            lines[-1] += end
        return "\n".join(lines)

    def close(self) -> None:
        """Shut the server down as an editor does; it ends by itself."""
        self.request("shutdown")
        self.notify("exit")
        assert self.process.wait(30) == 0
