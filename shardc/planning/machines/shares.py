"""What part of its latency a collective pays that is combined with others.

Of `before` collectives of one kind over the same axes that become `after`, each pays after / before. The
planner, which prices them one by one, so knows what comes of them (report/combined.py finds the numbers).
Gathers of weights wait for nothing and become one, gathers of activations wait for each other: so they are
counted by when their operands are made (analysis/phases.py).
"""

from __future__ import annotations

from typing import NamedTuple

from shardc.analysis.phases import Phase


class Combined(NamedTuple):
    """Collectives of one kind (the definition's title) over some axes (sorted names), of which there are
    `before`, and `after` they are combined: those of operands of one `phase`, or of all. Of one that becomes
    one with others of another phase `after` counts its part."""

    title: str
    axes: tuple[str, ...]
    before: int
    after: float
    phase: Phase | None = None

    @property
    def part(self) -> float:
        """Of its latency, what each pays."""
        return self.after / self.before
