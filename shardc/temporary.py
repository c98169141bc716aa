"""A new file beside another one, to be filled and then to take its place.

As tempfile.mkstemp, which imports archives and random numbers, a hundredth of a small compilation.
"""

from __future__ import annotations

import os
from pathlib import Path

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


def fresh(folder: Path, prefix: str, suffix: str = "") -> tuple[int, str]:
    """A file of this user alone that was not there, open, and its name. OSError if there can be none."""
    while True:
        name = str(folder / f"{prefix}{os.urandom(8).hex()}{suffix}")
        try:
            return os.open(name, _FLAGS, 0o600), name
        except FileExistsError:
            continue
