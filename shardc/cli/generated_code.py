"""The code that dataclasses generate, kept between processes as Python keeps that of modules.

For each of some five hundred dataclasses, Python writes out its methods as text and compiles them anew in
every process, which takes a quarter of a short command's time. With

    with kept_code():
        ...

what was compiled is in the user's cache folder, by its text, and is compiled only where it isn't there.
"""

from __future__ import annotations

import builtins
import dataclasses
import marshal
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import CodeType
from typing import Any

from shardc import cache

_KEY = "code of dataclasses"
_EXECUTE = "exec"
"""The name under which dataclasses look for what executes a text; without this one, they find Python's."""


@contextmanager
def kept_code() -> Generator[None]:
    """Let dataclasses find their code in the cache folder, and keep what was not there at the end."""
    if hasattr(dataclasses, _EXECUTE) or not _ours():
        yield
        return
    known = _read()
    count = len(known)
    setattr(dataclasses, _EXECUTE, _executing(known))
    try:
        yield
    finally:
        delattr(dataclasses, _EXECUTE)
        if len(known) > count:
            cache.put(marshal.dumps(known), _KEY)


def _executing(known: dict[str, CodeType]) -> Callable[..., None]:
    """What executes a text as Python's exec does, with the code that is known for it."""

    def execute(text: str, names: dict[str, Any] | None = None, own: dict[str, Any] | None = None) -> None:
        code = known.get(text)
        if code is None:
            code = known[text] = compile(text, "<string>", "exec")
        builtins.exec(code, names, own)

    return execute


def _read() -> dict[str, CodeType]:
    kept = cache.get(_KEY)
    return marshal.loads(kept) if kept else {}


def _ours() -> bool:
    """Whether no other user can write what would be executed here."""
    folder, user = cache.folder(), getattr(os, "geteuid", None)
    if folder is None or user is None:
        return False
    try:
        status = folder.stat()
    except OSError:
        return True  # it is not there yet, and will be made by this user
    return status.st_uid == user() and not status.st_mode & 0o022
