"""What earlier compilations found, kept in the user's cache folder: bytes by key.

The folder is $SHARDC_CACHE, else that of the system for caches; $SHARDC_CACHE=off keeps nothing. A key is
hashed together with `fingerprint()`, so that nothing is found which another version has written, and every
entry begins with a digest of itself: one that was not written whole counts as none. Entries appear under
their names at once, so that processes may share the folder. What cannot be read or written is no error: then
there is no cache.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator
from contextvars import ContextVar
from functools import cache
from importlib.util import find_spec
from pathlib import Path

LIMIT = 128 * 2**20
"""Bytes of all entries together; beyond, those that were not used for longest go."""

VARIABLE = "SHARDC_CACHE"

ANEW = ContextVar("anew", default=False)
"""Whether programs and plans that earlier compilations found are not to be used."""

_ROOT = Path(__file__).parent
_LIBRARIES = ("numpy", "scipy", "highspy", "xdsl", "lark", "ml_dtypes")
_SUFFIXES = (".py", ".lark", ".toml")


_off: list[bool] = []
"""Not empty when this process keeps nothing."""


def keep_nothing() -> None:
    """From now on there is no cache for this process: what it finds depends on what no key knows."""
    _off.append(True)


def folder() -> Path | None:
    """Where entries lie; None if there is no cache."""
    given = os.environ.get(VARIABLE)
    if given == "off" or _off:
        return None
    if given:
        return Path(given).absolute()
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData/Local") / "shardc/cache"
    if sys.platform == "darwin":
        return home / "Library/Caches/shardc"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "shardc"


def place(*key: str) -> Path | None:
    """The file of an entry, whether it is there or not; None if there is no cache."""
    where = folder()
    if where is None:
        return None
    digest = hashlib.sha256()
    for part in (fingerprint(), *key):
        digest.update(f"{len(part)}:".encode() + part.encode("utf-8", "surrogatepass"))
    return where / digest.hexdigest()


def get(*key: str) -> bytes | None:
    """The bytes kept under a key; None if there are none, or not all of them."""
    path = place(*key)
    try:
        data = path.read_bytes() if path else b""
        if not path or hashlib.sha256(data[32:]).digest() != data[:32]:
            return None
        os.utime(path)
    except OSError:
        return None
    return data[32:]


def put(data: bytes, *key: str) -> None:
    """Keep bytes under a key, and let go of old entries where all are larger than LIMIT."""
    path = place(*key)
    if path is None or len(data) > LIMIT // 8:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(data).digest() + data)
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        _shrink(path.parent)
    except OSError:
        return


def _shrink(where: Path) -> None:
    """Delete what was used longest ago, also what a killed process left, until a half of LIMIT is kept."""
    found = [(entry.stat(), entry.path) for entry in os.scandir(where) if entry.is_file()]
    total = sum(stat.st_size for stat, _ in found)
    if total <= LIMIT:
        return
    for stat, path in sorted(found, key=lambda item: item[0].st_mtime):
        Path(path).unlink(missing_ok=True)
        total -= stat.st_size
        if total <= LIMIT // 2:
            return


@cache
def fingerprint() -> str:
    """What stands for the version: Python's, and names, sizes and times of shardc's files and libraries."""
    parts = [sys.version, *_files(str(_ROOT))]
    for name in _LIBRARIES:
        spec = find_spec(name)
        parts.append(_said(spec.origin) if spec and spec.origin else name)
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _files(where: str) -> Iterator[str]:
    for entry in sorted(os.scandir(where), key=lambda entry: entry.name):
        if entry.is_dir() and entry.name != "__pycache__":
            yield from _files(entry.path)
        elif entry.name.endswith(_SUFFIXES):
            yield _said(entry.path)


def _said(path: str) -> str:
    stat = os.stat(path)
    return f"{path} {stat.st_size} {stat.st_mtime_ns}"
