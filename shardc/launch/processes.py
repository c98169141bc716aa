"""Starts processes on this machine, shows what they print, and ends all of them together.

The first that fails ends the others: asked first, killed GRACE seconds later. On Linux they end with this
process, however it ends.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO

GRACE = 5.0
"""Seconds that a process has to end when it is asked to."""

LATE = 300.0
"""Seconds that processes may go on after the first of them is done."""

TIMED_OUT = 124
"""The exit code after a limit, as timeout(1) has it."""

_PDEATHSIG = 1


@dataclass(frozen=True)
class Command:
    """One process to start: its name in messages, what stands before its lines, and how it is run.

    Lines that begin with `noise` are not shown.
    """

    name: str
    prefix: str
    argv: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    noise: str | None = None


@dataclass
class _Running:
    command: Command
    process: subprocess.Popen[bytes]
    threads: list[threading.Thread]


def run(commands: Sequence[Command], limit: float | None = None, say: Callable[[str], object] = print) -> int:
    """Run the commands until all are done; the exit code: 0, the first failing one's, or TIMED_OUT.

    A process that a signal ended has 128 and its number, as in shells. `limit`: seconds for all of them.
    KeyboardInterrupt ends all and is raised on.
    """
    running: list[_Running] = []
    with _interruptible():
        try:
            running += [_start(command) for command in commands]
            return _watch(running, limit, say)
        finally:
            _end(running)


@contextmanager
def _interruptible() -> Generator[None]:
    """SIGTERM and SIGHUP are as Ctrl-C while something runs."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _start(command: Command) -> _Running:
    process = subprocess.Popen(
        command.argv,
        env={**os.environ, **command.environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=_end_with_parent,
    )
    assert process.stdout is not None and process.stderr is not None
    pairs: list[tuple[IO[bytes], IO[bytes]]] = [
        (process.stdout, sys.stdout.buffer),
        (process.stderr, sys.stderr.buffer),
    ]
    threads = [
        threading.Thread(target=_show, args=(source, target, command), daemon=True)
        for source, target in pairs
    ]
    for thread in threads:
        thread.start()
    return _Running(command, process, threads)


def _end_with_parent() -> None:
    """In the new process: be killed when the thread that started it ends."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)


def _show(source: IO[bytes], target: IO[bytes], command: Command) -> None:
    for line in source:
        if command.noise is not None and line.startswith(command.noise.encode()):
            continue
        with suppress(OSError, ValueError):
            target.write(command.prefix.encode() + line.removesuffix(b"\n") + b"\n")
            target.flush()


def _watch(running: Sequence[_Running], limit: float | None, say: Callable[[str], object]) -> int:
    ends = None if limit is None else time.monotonic() + limit
    waiting = list(running)
    while waiting:
        for one in waiting:
            code = one.process.poll()
            if code:
                _finish_output(one)
                say(f"{one.command.name} {_how(code)}")
                return code if code > 0 else 128 - code
        done = [one for one in waiting if one.process.poll() == 0]
        waiting = [one for one in waiting if one not in done]
        if done and waiting:
            late = time.monotonic() + LATE
            ends = late if ends is None else min(ends, late)
        if waiting and ends is not None and time.monotonic() > ends:
            names = ", ".join(one.command.name for one in waiting)
            say(f"{names} did not end within the limit")
            return TIMED_OUT
        time.sleep(0.02)
    for one in running:
        _finish_output(one)
    return 0


def _how(code: int) -> str:
    if code > 0:
        return f"ended with code {code}"
    try:
        return f"was ended by signal {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def _finish_output(one: _Running) -> None:
    for thread in one.threads:
        thread.join(1.0)


def _end(running: Sequence[_Running]) -> None:
    """End what still runs, with all that it started."""
    for number, patience in ((signal.SIGTERM, GRACE), (signal.SIGKILL, GRACE)):
        alive = [one for one in running if one.process.poll() is None]
        for one in alive:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(one.process.pid, number)
        ends = time.monotonic() + patience
        for one in alive:
            with suppress(subprocess.TimeoutExpired):
                one.process.wait(max(0.0, ends - time.monotonic()))
    for one in running:
        _finish_output(one)
