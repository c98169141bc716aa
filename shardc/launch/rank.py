"""How each rank of MPI ended, said by who waits for it: mpiexec says it of all ranks together.

A rank started by `shardc run` is two processes. The first does nothing but wait for the second, the rank
itself, and writes how it ended into a pipe with the rank's number, which `Endings` reads. Each of them ends
when the one that started it does.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import resource
import select
import signal
import stat
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from shardc.launch.parent import end_with

VARIABLE = "SHARDC_ENDINGS"
"""Names the folder of the pipes, in the environment of every rank."""

UNREAD = 10.0
"""Seconds that mpiexec has to read the last words of a rank."""

_OUTPUT = (1, 2)

_RANKS = ("PMI_RANK", "OMPI_COMM_WORLD_RANK")


class Endings:
    """The pipes of `ranks` processes, in a folder. What they say is kept in order of time."""

    def __init__(self, folder: Path, ranks: int) -> None:
        self._queue = select.epoll()
        self._ranks: dict[int, int] = {}
        self._order: list[int] = []
        for rank in range(ranks):
            os.mkfifo(folder / str(rank))
            descriptor = os.open(folder / str(rank), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            self._queue.register(descriptor, select.EPOLLIN | select.EPOLLHUP | select.EPOLLONESHOT)
            self._ranks[descriptor] = rank

    def first(self, code: int) -> tuple[str, int] | None:
        """Of a run that ended with `code` the rank that failed first, and its code, minus for a signal.

        A rank about which nothing is said was killed with who waits for it: by mpiexec, which ends all ranks
        so, or from outside, which `code` tells if it was the first. It is not known where several were killed
        before they had opened their pipes. Code 0 is of a rank that MPI did not see end, as after os._exit:
        mpiexec then kills the others.
        """
        self.note()
        unseen: list[int] = []
        for pipe in self._order:
            rank, said = self._ranks[pipe], os.read(pipe, 16).split()
            if said and int(said[0]):
                return f"process {rank}", int(said[0])
            if not said and code == signal.SIGKILL:
                return (f"process {unseen[0]}", 0) if unseen else (f"process {rank}", -code)
            if said[1:]:
                unseen.append(rank)
        if unseen and code == signal.SIGKILL:
            return f"process {unseen[0]}", 0
        unheard = [rank for pipe, rank in self._ranks.items() if pipe not in self._order]
        if unheard and code == signal.SIGKILL:
            return f"process {unheard[0]}" if len(unheard) == 1 else "a process", -code
        return None

    def killed(self) -> bool:
        """Whether some rank was killed with who waits for it. mpiexec may have done so and end with code 0,
        that of a rank that had left the others, where the machine is busy."""
        self.note()
        return any(not _unread(pipe) for pipe in self._order)

    def note(self) -> None:
        """Note which ranks have ended since the last time. Their order is the kernel's."""
        while ready := self._queue.poll(0, 1):
            pipe, event = ready[0]
            if event & (select.EPOLLIN | select.EPOLLHUP):
                self._order.append(pipe)

    def close(self) -> None:
        """Close the pipes."""
        self._queue.close()
        for descriptor in self._ranks:
            os.close(descriptor)


def become_watched(environment: Mapping[str, str] = os.environ) -> None:
    """Go on in a new process, for which this one waits, if `shardc run` asks for it.

    To be called before there are threads. The new process is the only one that returns.
    """
    pipe = _pipe(environment)
    if pipe is None:
        return
    end_with(os.getppid())
    waiting = os.getpid()
    reading, writing = os.pipe()
    rank = os.fork()
    if rank:
        os.close(writing)
        _wait(rank, pipe, reading)
    os.close(pipe)
    os.close(reading)
    end_with(waiting)
    atexit.register(os.write, writing, b"ends")  # the last of these: only MPI_Finalize comes after them
    _read_nothing()


def _read_nothing() -> None:
    """Who reads from standard input finds it at its end, and does not wait for what nobody writes."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def report(code: int, environment: Mapping[str, str] = os.environ) -> None:
    """Say that this rank fails with a code, before it asks that all be ended, and let its output be read."""
    pipe = _pipe(environment)
    if pipe is not None:
        _say(pipe, code)
        os.close(pipe)
    wait_until_read()


def wait_until_read(descriptors: Sequence[int] = _OUTPUT, limit: float = UNREAD) -> None:
    """Wait until what was written into pipes has been read from them, at most so many seconds.

    mpiexec ends all ranks as soon as it learns that one has failed, and what it has not read by then is lost.
    """
    pipes = [each for each in descriptors if _is_pipe(each)]
    ends = time.monotonic() + limit
    while any(_unread(pipe) for pipe in pipes) and time.monotonic() < ends:
        time.sleep(0.001)


def _is_pipe(descriptor: int) -> bool:
    """False where it is closed, too."""
    try:
        return stat.S_ISFIFO(os.fstat(descriptor).st_mode)
    except OSError:
        return False


def _unread(pipe: int) -> int:
    """Bytes in a pipe."""
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


def _pipe(environment: Mapping[str, str]) -> int | None:
    folder = environment.get(VARIABLE)
    rank = next((environment[name] for name in _RANKS if environment.get(name)), None)
    if not folder or rank is None:
        return None
    try:
        return os.open(Path(folder) / str(int(rank)), os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None  # who would read it is gone


def _say(pipe: int, code: int, how: str = "") -> None:
    with suppress(OSError):
        os.write(pipe, f"{code} {how}\n".encode())


def _written(pipe: int) -> bool:
    """Whether there is something in a pipe, which what the rank has started may hold open."""
    try:
        return bool(os.read(pipe, 1))
    except BlockingIOError:
        return False


_UNSEEN = "unseen"
"""Stands behind the code 0 of a rank that has not ended as Python does."""


def _wait(rank: int, pipe: int, ordinary: int) -> None:
    """Wait for the rank, say how it ended, and end in the same way, once its output has been read. Into
    `ordinary` a rank that ends as Python does has written."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the rank has it too, and decides
    code = os.waitstatus_to_exitcode(os.waitpid(rank, 0)[1])
    os.set_blocking(ordinary, False)
    _say(pipe, code, "" if code or _written(ordinary) else _UNSEEN)
    wait_until_read()
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with suppress(OSError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 128 - code)
