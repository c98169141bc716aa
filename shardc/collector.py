"""Work that makes many objects and no garbage, without Python's garbage collector looking for some."""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from itertools import compress
from typing import Any


@contextmanager
def no_garbage_collection(kept: bool = False) -> Generator[None]:
    """Put the collector off. Looking at a large program again and again costs a third of the time.

    What is there afterwards is looked at once, unless it is `kept`: then it is held to be no garbage for as
    long as the process lives. Where modules were imported most of it is theirs, and it is looked at when the
    collector next looks at all that there is.
    """
    enabled, modules = gc.isenabled(), len(sys.modules)
    gc.disable()
    try:
        yield
    finally:
        if kept:
            gc.freeze()
        elif enabled and len(sys.modules) > modules:
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()  # which puts it among what is old
            _leave_cycles_at_exit()
        if enabled:
            gc.enable()


@cache
def _leave_cycles_at_exit() -> None:
    """Let Python not look for garbage as the process ends, where nothing that lives has work to do then.

    Cycles are left to the system, with the memory of the process: to take all modules apart is a fifth of a
    small program's first call. Otherwise Python looks, before it forgets the modules and afterwards.
    """
    atexit.register(_leave)


def _leave() -> None:
    if not _has_work_at_its_end(gc.get_objects()):
        gc.freeze()


def _has_work_at_its_end(objects: list[Any]) -> bool:
    """Whether Python would run something for one of them: a finalizer, the rest of a generator, a flush.

    The standard streams are flushed before.
    """
    kinds = list(map(type, objects))
    sought = set(filter(_is_finalized, set(kinds)))
    standard = {id(layer) for stream in (sys.stdin, sys.stdout, sys.stderr) for layer in _layers(stream)}
    finalized = compress(objects, map(sought.__contains__, kinds))
    return any(id(each) not in standard and getattr(each, "gi_suspended", True) for each in finalized)


def _is_finalized(kind: type) -> bool:
    return any("__del__" in vars(base) for base in kind.__mro__)


def _layers(stream: Any) -> Generator[Any]:
    """A stream of text, the buffer below it, and what is below that."""
    while stream is not None:
        yield stream
        stream = getattr(stream, "buffer", None) or getattr(stream, "raw", None)
