"""What a test process keeps of the files of tests before.

Each executable of XLA stays in JAX's caches, some MB of it, so that a process of a few thousand tests takes
5 GB. After a file of tests the caches are emptied if the process has grown by much since that was last done:
the next file compiles anew what it shares with those before it, which is little.

What else is there after a file is modules and tables, millions of objects at last. Python's garbage collector
does not look at them again: it would after every few tests, for seconds.
"""

from __future__ import annotations

import ctypes
import gc
import resource
import sys
from pathlib import Path

LARGE = 3 << 28
"""Bytes, 768 MiB."""

_left = 0
"""Bytes that were in memory after the caches were last emptied."""


def resident() -> int:
    """Bytes that this process has in memory; 0 where the system does not say it in /proc."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


def release() -> None:
    """Empty JAX's caches if this process has grown much, and give the memory back."""
    global _left
    if "jax" in sys.modules and resident() - _left > LARGE:
        gc.unfreeze()
        sys.modules["jax"].clear_caches()
        gc.collect()
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's: else freed pages stay resident
        if trim:
            trim(0)
        _left = resident()
    else:
        gc.collect()
    gc.freeze()
