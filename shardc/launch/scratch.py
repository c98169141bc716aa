"""Folders that live as long as the process that made them, however it ends.

Each holds a lock while it is used. Who makes one first removes those of processes that were killed: their
lock is free.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

_BEGIN = "shardc-"
_NEW = ".shardc-"
_LOCK = "lock"


@contextmanager
def scratch(purpose: str) -> Generator[Path]:
    """A folder for temporary files, called `shardc-PURPOSE-…`; gone afterwards."""
    _sweep(Path(tempfile.gettempdir()))
    made = Path(tempfile.mkdtemp(prefix=f"{_NEW}{purpose}-"))
    lock = os.open(made / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = made.with_name(made.name.removeprefix("."))
        made.rename(folder)  # nobody looks at it before it is locked
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def _sweep(place: Path) -> None:
    """Remove what killed processes of this user left."""
    for folder in place.glob(f"{_BEGIN}*-*"):
        with suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)
