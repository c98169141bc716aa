"""How many changes of annotations are tried.

Where nobody says, fewer the larger the program, and only while what was tried took no longer than half of the
compilation; what takes longer is given up. Time is that of the planner's work and not of a clock, so that
every machine says the same of a program.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress

from msgspec import Struct

from shardc.graph import Graph, walk
from shardc.planning.effort import Effort, Spent, counting

OPERATIONS = 600
"""Of all tries together."""
START = 200_000
"""Entries that could be solved while the command starts and finds what later plans find again."""
EACH = 150
"""Entries that could be solved in what all passes take for an operation."""


class Tries(Struct):
    """Those that were `done`, of `most`, and what they took of what they may: `left` (Effort.entries)."""

    most: int
    operations: int = 0
    left: int | None = None
    done: int = 0

    @staticmethod
    def of(asked: int | None, graph: Graph, compiled: Effort) -> Tries:
        """As many as somebody asked for, else as a program allows that took so much effort to compile."""
        if asked is not None:
            return Tries(asked)
        operations = sum(1 for function in graph.functions.values() for _ in walk(function.body))
        taken = START + EACH * operations + compiled.entries
        return Tries(OPERATIONS // max(1, operations), operations, taken // 2)

    def more(self) -> bool:
        """Whether another is allowed."""
        return self.done < self.most and (self.left is None or self.left > 0)

    @contextmanager
    def one(self) -> Generator[None]:
        """Try, and count what it takes. What takes more than is left is given up."""
        self.done += 1
        with counting(self.left) as effort, suppress(Spent):
            yield
        if self.left is not None:
            self.left -= EACH * self.operations + effort.entries
