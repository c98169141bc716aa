"""What a library's compiled code prints to standard output of its own accord is taken out.

HiGHS 1.12 prints a line of its developers, options or not, each time it repairs a solution; the program that
shardc writes to standard output would begin with it.
"""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager

STDOUT = 1


@contextmanager
def without_lines(start: bytes) -> Generator[None]:
    """Lines that begin with `start` and are printed meanwhile are lost; all else comes out at the end."""
    try:
        real = os.dup(STDOUT)
    except OSError:  # there is no standard output
        yield
        return
    with tempfile.TemporaryFile() as kept:
        _flush()
        os.dup2(kept.fileno(), STDOUT)
        try:
            yield
        finally:
            _flush()
            os.dup2(real, STDOUT)
            os.close(real)
            kept.seek(0)
            rest = b"".join(line for line in kept if not line.startswith(start))
            if rest:
                os.write(STDOUT, rest)


def _flush() -> None:
    """What Python and C hold back for standard output."""
    if sys.stdout is not None:
        sys.stdout.flush()
    ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None).fflush(None)
