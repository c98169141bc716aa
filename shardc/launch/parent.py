"""Processes that end when the one that started them does, however it ends.

Where the system can do that, it kills a process then. What that process has started is in its group, which
somebody else has to kill.
"""

from __future__ import annotations

import ctypes
import functools
import os
import signal
import subprocess
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
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


KILL_LATER = 'read -r word || kill -s KILL -- "$@"'
"""A shell's: unless it is told a word, it kills when its input ends."""


@contextmanager
def killed_with_this(groups: Sequence[int]) -> Generator[None]:
    """Process groups are killed if this process ends before this is done."""
    killer = subprocess.Popen(
        ["/bin/sh", "-c", KILL_LATER, "sh", *(f"-{group}" for group in groups)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is not for it
    )
    try:
        yield
    finally:
        with suppress(BrokenPipeError):
            killer.communicate(b"done\n")
