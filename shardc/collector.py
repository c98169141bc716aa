"""Work that makes many objects and no garbage, without Python's garbage collector looking for some."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def no_garbage_collection(kept: bool = False) -> Generator[None]:
    """Put the collector off. Looking at a large program again and again costs a third of the time.

    What is there afterwards is looked at once, unless it is `kept`: then it is held to be no garbage for as
    long as the process lives.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if kept:
            gc.freeze()
        if enabled:
            gc.enable()
