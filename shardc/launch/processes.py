"""Starts processes on this machine, shows what they print, and ends all of them together.

The first that fails ends the others: asked first, killed GRACE seconds later. Which one was first is what the
kernel says, since others fail because of it within moments. They end with this process, however it ends.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import IO, Protocol

from msgspec import Struct

from shardc.launch.order import Order, behind_gate, gate, has_ended
from shardc.launch.parent import end_with, killed_with_this, library

GRACE = 5.0
"""Seconds that a process has to end when it is asked to."""

LATE = 300.0
"""Seconds that processes may go on after the first of them is done."""

TIMED_OUT = 124
"""The exit code after a limit, as timeout(1) has it."""

LAST_WORDS = 30.0
"""Seconds that the output of a process that has ended may take to be shown."""

_INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_MOMENT = 0.1
"""Seconds between looks at the clock."""


class Ranks(Protocol):
    """What a process that starts others cannot say by its own code."""

    def note(self) -> None:
        """Look what has ended since the last time."""
        ...

    def killed(self) -> bool:
        """Whether one of them was killed, also where the process ends with code 0."""
        ...

    def first(self, code: int) -> tuple[str, int] | None:
        """Of a run that ended with `code`, who failed first, and its code, or minus a signal's number; 0 of
        one that ended while others needed it."""
        ...


class Command(Struct, frozen=True):
    """One process to start: its name in messages, what stands before its lines, and how it is run.

    `noise` makes for each of its streams what says which lines are not shown. `ranks` knows of those that the
    process starts.
    """

    name: str
    prefix: str
    argv: Sequence[str]
    environment: Mapping[str, str] = {}
    noise: Callable[[], Callable[[bytes], bool]] | None = None
    ranks: Ranks | None = None


class _Running(Struct):
    """`unwritten`: why lines of its output could not be written."""

    command: Command
    process: subprocess.Popen[bytes]
    threads: list[threading.Thread] = []
    unwritten: list[OSError] = []


def run(commands: Sequence[Command], limit: float | None = None, say: Callable[[str], object] = print) -> int:
    """Run the commands until all are done; the exit code: 0, the first failing one's, or TIMED_OUT.

    A process that a signal ended has 128 and its number, as in shells. `limit`: seconds for all of them.
    KeyboardInterrupt ends all and is raised on. OSError if all ended well and their output could not be
    written; a reader of a pipe that has seen enough is no failure.
    """
    running: list[_Running] = []
    with _interruptible(), closing(Order()) as order, ExitStack() as watched:
        try:
            with _uninterrupted(), gate() as closed:
                for command in commands:
                    running.append(_start(command, closed))
                    order.add(running[-1].process.pid)
                watched.enter_context(killed_with_this([one.process.pid for one in running]))
            for one in running:
                _show_output(one)
            code, failure = _watch(running, order, limit)
        finally:
            with _uninterrupted():
                _end(running)
    if failure:
        say(failure)  # the last line: the others have more to say when one is gone
    elif unwritten := [error for one in running for error in one.unwritten]:
        raise unwritten[0]
    return code


@contextmanager
def _interruptible() -> Generator[None]:
    """SIGTERM and SIGHUP are as Ctrl-C while something runs; the KeyboardInterrupt has their number."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt(number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _uninterrupted() -> Generator[None]:
    """Signals that would interrupt wait until this is done."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start(command: Command, gate: int) -> _Running:
    """Start a process behind a gate. No thread may run yet: a new one could find its lock held for ever."""
    library()
    parent = os.getpid()

    def begin() -> None:
        """In the new process: end with who started it, and take signals again."""
        end_with(parent)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)

    process = subprocess.Popen(
        behind_gate(command.argv),
        env={**os.environ, **command.environment},
        stdin=gate,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=begin,
    )
    return _Running(command, process)


def _show_output(one: _Running) -> None:
    assert one.process.stdout is not None and one.process.stderr is not None
    pairs: list[tuple[IO[bytes], IO[bytes]]] = [
        (one.process.stdout, sys.stdout.buffer),
        (one.process.stderr, sys.stderr.buffer),
    ]
    for source, target in pairs:
        thread = threading.Thread(target=_show, args=(source, target, one), daemon=True)
        thread.start()
        one.threads.append(thread)


def _show(source: IO[bytes], target: IO[bytes], one: _Running) -> None:
    command = one.command
    hidden = None if command.noise is None else command.noise()
    for line in source:
        if hidden is not None and hidden(line):
            continue
        try:
            target.write(command.prefix.encode() + line.removesuffix(b"\n") + b"\n")
            target.flush()
        except (BrokenPipeError, ValueError):
            continue
        except OSError as error:
            one.unwritten.append(error)


def _watch(running: Sequence[_Running], order: Order, limit: float | None) -> tuple[int, str]:
    """Wait until all are done or one has failed: the exit code, and what has failed."""
    ends = None if limit is None else time.monotonic() + limit
    waiting = {one.process.pid: one for one in running}
    while waiting:
        if ends is not None and time.monotonic() > ends:
            names = ", ".join(one.command.name for one in waiting.values())
            return TIMED_OUT, f"{names} did not end within the limit"
        ended = order.next(_MOMENT)
        for one in waiting.values():
            if one.command.ranks is not None:
                one.command.ranks.note()
        if ended is None:
            continue
        one = waiting.pop(ended)
        code, ranks = _ended(one), one.command.ranks
        if not code and ranks is not None and ranks.killed():
            code = signal.SIGKILL
        if code:
            first = ranks.first(code) if ranks is not None else None
            name, own = first or (one.command.name, code)
            return (own if own > 0 else 128 - own if own else 1), f"{name} {_how(own)}"
        late = time.monotonic() + LATE
        ends = late if ends is None else min(ends, late)
    return 0, ""


def _how(code: int) -> str:
    if code == 0:
        return "ended with code 0, and without MPI_Finalize, while others ran"
    if code > 0:
        return f"ended with code {code}"
    try:
        return f"was ended by signal {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def _ended(one: _Running) -> int:
    """The code of a process that has ended. What it started and left ends too, so its output ends."""
    with suppress(ProcessLookupError, PermissionError):
        if one.process.returncode is None:
            os.killpg(one.process.pid, signal.SIGKILL)
    code = one.process.wait()
    for thread in one.threads:
        thread.join(LAST_WORDS)
    return code


def _end(running: Sequence[_Running]) -> None:
    """End what still runs, with all that it started."""
    alive = [one for one in running if one.process.returncode is None]
    for one in alive:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(one.process.pid, signal.SIGTERM)
    ends = time.monotonic() + GRACE
    while not all(has_ended(one.process.pid) for one in alive) and time.monotonic() < ends:
        time.sleep(0.01)
    for one in alive:
        _ended(one)
