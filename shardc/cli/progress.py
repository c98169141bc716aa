"""A line on the terminal that says how far a slow command is.

    with Progress() as progress:
        progress.tell("trying changes of annotations: 3, at most 40")

It shows nothing in the first two seconds, or where standard error is no terminal, and is gone at the end.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Self, TextIO

PATIENCE = 2.0
"""Seconds without a word."""

_CLEAR = "\r\x1b[K"


class Progress:
    """Shows what it is told on `stream`, the last only. `clock` gives seconds."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._clock, self._start = clock, clock()
        self._shown = False

    def __enter__(self) -> Self:
        return self

    def tell(self, text: str) -> None:
        """How far the command is, in a line."""
        if self._clock() - self._start >= PATIENCE and self._stream.isatty():
            self._write(text)
            self._shown = True

    def __exit__(self, *raised: object) -> None:
        if self._shown:
            self._write("")

    def _write(self, text: str) -> None:
        self._stream.write(_CLEAR + text)
        self._stream.flush()
