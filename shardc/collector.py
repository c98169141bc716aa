"""Work that makes many objects and no garbage, without Python's garbage collector looking for some."""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache


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
            _look_once_at_exit()
        if enabled:
            gc.enable()


@cache
def _look_once_at_exit() -> None:
    """Let Python look for garbage once as the process ends, not twice.

    It does so before it forgets the modules, unless the collector is off, and afterwards, where it finds all
    that it would have found before. What is finalized then knows its globals, but can import no more.
    """
    atexit.register(gc.disable)
