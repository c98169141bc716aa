"""The order in which processes ended, where the kernel says it (Linux), whoever looks when.

A process is in the order from before it does anything: it waits at a gate until all of them are noted. Else
two that end before this process gets to note them would come in the order of their numbers.
"""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager

_WAIT = 'read -r gate; exec "$@" </dev/null'
"""In a shell: begin when the gate is closed. The process keeps its number, and reads nothing."""


def behind_gate(argv: Sequence[str]) -> list[str]:
    """What is started in the place of `argv`, with the gate as its standard input."""
    return ["/bin/sh", "-c", _WAIT, "sh", *argv]


@contextmanager
def gate() -> Generator[int]:
    """A descriptor at which processes wait until this is done."""
    waiting, holding = os.pipe()
    try:
        yield waiting
    finally:
        os.close(waiting)
        os.close(holding)


class Order:
    """Processes that this one started, as they end. They are not waited for: they keep their numbers."""

    def __init__(self) -> None:
        self._opened = ExitStack()
        self._running: list[int] = []
        self._descriptors: dict[int, int] = {}
        self._queue: select.epoll | None = None
        if sys.platform == "linux":
            self._queue = self._opened.enter_context(select.epoll())

    def add(self, pid: int) -> None:
        """Note a process that has been started."""
        self._running.append(pid)
        if sys.platform == "linux" and self._queue is not None:
            descriptor = os.pidfd_open(pid)
            self._opened.callback(os.close, descriptor)
            self._queue.register(descriptor, select.EPOLLIN | select.EPOLLONESHOT)
            self._descriptors[descriptor] = pid

    def next(self, moment: float) -> int | None:
        """The next one that has ended, each once; None if none has after `moment` seconds."""
        if self._queue is not None:
            found = self._queue.poll(moment, 1)
            ended = self._descriptors[found[0][0]] if found else None
        else:
            ended = next((pid for pid in self._running if has_ended(pid)), None)
            if ended is None:
                time.sleep(moment)
        if ended is not None:
            self._running.remove(ended)
        return ended

    def close(self) -> None:
        """Forget all of them."""
        self._opened.close()


def has_ended(pid: int) -> bool:
    """Whether a process that this one started has ended. It keeps its number, which is no other's."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
