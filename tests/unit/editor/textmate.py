"""What a TextMate grammar colours, as editors do: in each line the pattern that matches first."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Grammar:
    """A grammar of patterns that Python's re knows too: match with captures, begin and end, include."""

    def __init__(self, path: Path) -> None:
        self.text = json.loads(path.read_text(encoding="utf-8"))
        self.patterns = [*self._flat(self.text["patterns"])]

    def _flat(self, patterns: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for pattern in patterns:
            if "include" in pattern:
                yield from self._flat(self.text["repository"][pattern["include"][1:]]["patterns"])
            else:
                yield pattern

    def scopes(self, text: str) -> list[list[str | None]]:
        """The scope of every character of every line."""
        open: dict[str, Any] | None = None
        found: list[list[str | None]] = []
        for line in text.split("\n"):
            scopes: list[str | None] = [None] * len(line)
            at = 0
            while at < len(line) or (at == 0 and line):
                if open is not None:
                    end = re.compile(open["end"]).search(line, at)
                    stop = end.end() if end else len(line)
                    scopes[at:stop] = [open["name"]] * (stop - at)
                    open, at = (None, stop) if end else (open, len(line))
                    continue
                hits = [
                    (hit.start(), number, hit, pattern)
                    for number, pattern in enumerate(self.patterns)
                    if (hit := re.compile(pattern.get("match") or pattern["begin"]).search(line, at))
                ]
                if not hits:
                    break
                _, _, hit, pattern = min(hits, key=lambda one: one[:2])
                if "name" in pattern:
                    scopes[hit.start() : hit.end()] = [pattern["name"]] * (hit.end() - hit.start())
                for number, capture in pattern.get("captures", {}).items():
                    start, stop = hit.span(int(number))
                    scopes[start:stop] = [capture["name"]] * (stop - start)
                assert hit.end() > at or hit.end() > hit.start(), pattern
                at = hit.end()
                open = pattern if "begin" in pattern else None
            found.append(scopes)
        return found
