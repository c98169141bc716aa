"""How every command ends when something outside the program stops it: Ctrl-C, a closed pipe, a full disk."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it: 128 and the number of the signal."""


def run_to_end(name: str, command: Callable[[], int]) -> int:
    """Run a command and write out what it printed; its exit code. No traceback for what is no bug.

    A reader of a pipe that has seen enough is no failure. Output that cannot be written is one.
    """
    try:
        code = command()
        sys.stdout.flush()
        return code
    except KeyboardInterrupt as interrupt:
        code = 128 + int(interrupt.args[0]) if interrupt.args else INTERRUPTED
    except BrokenPipeError:
        code = 0
    except (MemoryError, RecursionError) as error:
        what = "too little memory" if isinstance(error, MemoryError) else "the program is nested too deeply"
        print(f"{name}: error: {what}", file=sys.stderr)
        code = 1
    except OSError as error:
        where = "standard output" if error.filename is None else error.filename
        print(f"{name}: error: cannot write {where}: {(error.strerror or 'failed').lower()}", file=sys.stderr)
        code = 1
    _drop_output()
    return code


def _drop_output() -> None:
    """Let what is still buffered go nowhere: Python would try to write it again on its way out."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError:  # standard output is no file, as in a test
        return
