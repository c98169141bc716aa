"""A process that ends when the one that started it does, where the system can do that."""

from __future__ import annotations

import ctypes
import functools
import os
import signal
from typing import Any

_PDEATHSIG = 1


@functools.cache
def library() -> Any:
    """What has prctl; None where there is none. Called before a fork, it allocates nothing after."""
    found = ctypes.CDLL(None)
    return found if hasattr(found, "prctl") else None


def end_with(parent: int) -> None:
    """Be killed when the thread ends that started this process. `parent`: its process, which may be gone."""
    libc = library()
    if libc is not None:
        libc.prctl(_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
