"""How much work planning was, in a number that every machine finds the same.

What is planned within `counting()` is counted: the entries of the integer programs that were solved, and the
moves that were tried for changes of layout whose prices were asked for, also where a process remembers them.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from msgspec import Struct


class Effort(Struct):
    """Entries that are not zero, of all matrices together, and moves: what takes a hundredth of a millisecond
    each. There may be a `most`."""

    entries: int = 0
    most: int | None = None


class Allowance(Struct):
    """What is left for one plan; the last may take more.

    `steps` of the simplex method, times columns, of integer programs: a usual one takes up to 200,000, which
    is a tenth of a second. `moves` that are tried for the changes of layout that integer programs price, in
    each of which they are tens of thousands where many axes divide nothing: two seconds.
    """

    steps: int = 1_000_000
    moves: int = 300_000


class Spent(Exception):
    """More was planned than somebody allows."""


_COUNTING: ContextVar[tuple[Effort, ...]] = ContextVar("counting", default=())


@contextmanager
def counting(most: int | None = None) -> Generator[Effort]:
    """Count what is planned meanwhile. Spent is raised once it is more than `most`."""
    effort = Effort(most=most)
    token = _COUNTING.set((*_COUNTING.get(), effort))
    try:
        yield effort
    finally:
        _COUNTING.reset(token)


def spend(entries: int) -> None:
    """Count a matrix that is solved, or moves that were tried. Spent if that is more than somebody allows."""
    counted = _COUNTING.get()
    for effort in counted:
        effort.entries += entries
    if any(effort.most is not None and effort.entries > effort.most for effort in counted):
        raise Spent
