"""What is not shown of what gloo and mpiexec print of themselves.

gloo: each connection is one line, written in pieces. The connections of several devices of a process are made
at once, so pieces of their lines mix, and a line may hold two of them or nothing.
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


_BANNER = re.compile(
    rb"={60,}|=   (BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES|PID \d+ RUNNING AT .*|EXIT CODE: \d+"
    rb"|CLEANING UP REMAINING PROCESSES|YOU CAN IGNORE THE BELOW CLEANUP MESSAGES)"
    rb"|YOUR APPLICATION TERMINATED WITH THE EXIT STRING: .*"
    rb"|This typically refers to a problem with your application\."
    rb"|Please see the FAQ page for debugging suggestions"
)


def hydra_banner(line: bytes) -> bool:
    """Whether a line is of the banner that MPICH's mpiexec prints when a rank fails.

    Its process number and signal are of all ranks together, those included that it ended itself.
    """
    return _BANNER.fullmatch(line.rstrip(b"\r\n")) is not None
