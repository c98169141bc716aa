"""How much work planning was, in a number that every machine finds the same.

What is planned within `counting()` is counted: the entries of the integer programs that were solved.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass
class Effort:
    """Entries that are not zero, of all matrices together: what takes a hundredth of a millisecond each."""

    entries: int = 0


_COUNTING: ContextVar[tuple[Effort, ...]] = ContextVar("counting", default=())


@contextmanager
def counting() -> Generator[Effort]:
    """Count what is planned meanwhile."""
    effort = Effort()
    token = _COUNTING.set((*_COUNTING.get(), effort))
    try:
        yield effort
    finally:
        _COUNTING.reset(token)


def spend(entries: int) -> None:
    """Count a matrix that is solved."""
    for effort in _COUNTING.get():
        effort.entries += entries
