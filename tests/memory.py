"""What JAX keeps of programs that it has compiled goes when a test process has grown large.

Each executable of XLA stays in JAX's caches, some MB of it, so that a process of a few thousand tests
takes 5 GB. After a file of tests the caches are emptied if more than a GB is resident: the next file compiles
anew what it shares with those before it, which is little.
"""

from __future__ import annotations

import ctypes
import gc
import resource
import sys
from pathlib import Path

LARGE = 1 << 30
"""Bytes."""


def resident() -> int:
    """Bytes that this process has in memory; 0 where the system does not say it in /proc."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


def release() -> None:
    """Empty JAX's caches if this process is large, and give the memory back."""
    if "jax" in sys.modules and resident() > LARGE:
        sys.modules["jax"].clear_caches()
        gc.collect()
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's: else freed pages stay resident
        if trim:
            trim(0)
