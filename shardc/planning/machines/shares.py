"""What part of its latency a collective pays that is combined with others.

Of `before` collectives of one kind over the same axes that become `after`, each pays after / before. The
planner, which prices them one by one, so knows what comes of them (report/combined.py finds the numbers).
"""

from __future__ import annotations

from typing import NamedTuple


class Combined(NamedTuple):
    """Collectives of one kind (the definition's title) over some axes (sorted names), of which there are
    `before`, and `after` they are combined."""

    title: str
    axes: tuple[str, ...]
    before: int
    after: int

    @property
    def part(self) -> float:
        """Of its latency, what each pays."""
        return self.after / self.before
