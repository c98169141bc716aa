"""What part of its latency a collective pays that is combined with others.

Of `before` collectives of one kind over the same axes that become `after`, each pays after / before. The
planner, which prices them one by one, so knows what comes of them (report/combined.py finds the numbers).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
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


def combined(found: Iterable[Combined]) -> tuple[Combined, ...]:
    """One entry for each kind, of those where most are combined, in order of their names: over the axes over
    which the most are saved.

    Two that become one in a plan say little of other plans. Nor do sums over two axes say that they and sums
    over one of these will both be many: each kind would be one collective more.
    """
    before, after = Counter[tuple[str, tuple[str, ...]]](), Counter[tuple[str, tuple[str, ...]]]()
    for title, axes, many, few in found:
        before[title, axes] += many
        after[title, axes] += few
    counted = [Combined(*key, many, after[key]) for key, many in sorted(before.items())]
    best: dict[str, Combined] = {}
    for each in sorted(counted, key=lambda each: each.after - each.before):
        if 2 * each.after < each.before:
            best.setdefault(each.title, each)
    return tuple(best[title] for title in sorted(best))
