"""One trial in a process of its own: 10 seconds and 1 GiB beyond what it starts with."""

from __future__ import annotations

import ast
import contextlib
import faulthandler
import io
import os
import pickle
import re
import resource
import signal
import sys
import tempfile
import traceback
from pathlib import Path
from typing import IO

from msgspec import Struct

from bench.fuzz.entries import Trial, sound

SECONDS = 10
ASLEEP = 600
"""Seconds on the clock."""
BYTES = 1 << 30


class Outcome(Struct, frozen=True):
    """`kind`: done, refused or misused, or what is wrong: traceback, wrong output, hang, memory, crash.

    `where` is the last line of shardc in the traceback, by which failures are told apart.
    """

    kind: str
    where: str = ""
    text: str = ""

    @property
    def failed(self) -> bool:
        return self.kind not in _EXPECTED.values()


_EXPECTED = {0: "done", 1: "refused", 2: "misused"}


def warm() -> None:
    """Import what trials import, once for all processes that will be forked.

    On one core: the solver starts a thread for every second core, and a fork would wait for threads that it
    does not have.
    """
    here, cores = os.getcwd(), os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    for made in sound():
        _run(made)
    os.sched_setaffinity(0, cores)
    os.chdir(here)


def attempt(trial: Trial) -> Outcome:
    """Fork, run the command, and say how it ended."""
    with tempfile.TemporaryFile() as stack:
        out, back = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(out)
            _limit(stack)
            with os.fdopen(back, "wb") as pipe:
                pickle.dump(_run(trial), pipe)
            os._exit(0)
        os.close(back)
        with os.fdopen(out, "rb") as pipe:
            told = pipe.read()
        _, status = os.waitpid(child, 0)
        stack.seek(0)
        shown = stack.read().decode("utf-8", "replace")
    if shown:
        return Outcome("hang", _place_in(shown), shown)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return Outcome("hang" if number == signal.SIGKILL else "crash", f"signal {number}")
    return pickle.loads(told) if told else Outcome("crash", "no answer")


def _limit(stack: IO[bytes]) -> None:
    """Of this process: its own time, that on the clock in case it sleeps, and its address space.

    Where it is when the time is over goes to `stack`; a second later it is killed.
    """
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    faulthandler.register(signal.SIGXCPU, stack)
    faulthandler.dump_traceback_later(ASLEEP, exit=True, file=stack)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _run(trial: Trial) -> Outcome:
    printed, said = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"mutant{trial.suffix}"
        path.write_bytes(trial.data)
        os.chdir(folder)
        words = [word.replace("{}", str(path)) if word == "{}" else word for word in trial.words]
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
                code = trial.main(words)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except MemoryError:
            return Outcome("memory", _place(sys.exc_info()[2]), traceback.format_exc(limit=-8))
        except BaseException as error:
            where = f"{type(error).__name__} {_place(error.__traceback__)}"
            return Outcome("traceback", where, traceback.format_exc(limit=-8))
    if "too little memory" in said.getvalue():
        return Outcome("memory", "", said.getvalue())
    if code == 0 and trial.words[1:] in (("--emit", "numpy"), ("--emit", "jax")):
        try:
            ast.parse(printed.getvalue())
        except (SyntaxError, ValueError) as error:
            return Outcome("wrong output", str(error), printed.getvalue())
    return Outcome(_EXPECTED.get(code, f"exit code {code}"))


_FRAME = re.compile(r'File "(?P<file>.*)", line \d+ in (?P<name>\w+)')


def _place_in(stack: str) -> str:
    """The innermost frame of our own code, in the text of a stack."""
    root = str(Path(__file__).parents[2])
    for frame in _FRAME.finditer(stack):
        file = frame["file"]
        if file.startswith(root) and "/.venv/" not in file and "bench/fuzz" not in file:
            return f"{Path(file).relative_to(root)}:{frame['name']}"
    return ""


def _place(trace: object) -> str:
    """The innermost frame of our own code: file and function."""
    frames = traceback.extract_tb(trace)  # pyright: ignore[reportArgumentType]
    root = str(Path(__file__).parents[2])
    ours = [frame for frame in frames if frame.filename.startswith(root) and "/.venv/" not in frame.filename]
    return f"{Path(ours[-1].filename).relative_to(root)}:{ours[-1].name}" if ours else ""
