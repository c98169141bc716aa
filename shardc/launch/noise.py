"""What gloo prints of itself when processes connect, which is not shown.

Each connection is one line, written in pieces. The connections of several devices of a process are made at
once, so pieces of their lines mix, and a line may hold two of them or nothing.
"""

from __future__ import annotations

import re

_HEAD = b"[Gloo] Rank "
_PIECES = re.compile(
    rb"(?:\[Gloo\] Rank | is connected to | peer ranks\. |Expected number of connected peer ranks is : |\d+)*"
)


class GlooLines:
    """Tells which lines of a stream are gloo's: those of its pieces alone, as many as it has begun."""

    def __init__(self) -> None:
        self._begun = 0

    def __call__(self, line: bytes) -> bool:
        text = line.rstrip(b"\r\n")
        if _PIECES.fullmatch(text) is None:
            return False
        self._begun += text.count(_HEAD)
        if not self._begun:
            return False
        self._begun -= 1
        return True
