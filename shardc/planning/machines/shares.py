"""What part of its latency a collective pays that is combined with others.

Of `before` collectives of one kind over the same axes that become `after`, each pays after / before. The
planner, which prices them one by one, so knows what comes of them (report/combined.py finds the numbers).
Gathers of weights wait for nothing and become one, gathers of activations wait for each other: so they are
counted by when their operands are made (analysis/phases.py).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple

from shardc.analysis.phases import BETWEEN, Phase
from shardc.ops import spmd

MORE = 8
"""How much less of its latency one more collective is taken to pay where others are sent anyway."""

_SUM, _SCATTER = str(spmd.all_reduce.title), str(spmd.reduce_scatter.title)
_ALIKE = {_SUM: _SCATTER, _SCATTER: _SUM}


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

    @property
    def which(self) -> Hashable:
        """What tells it from others of a program."""
        return self.title, self.axes, self.phase


def learn(found: Iterable[Combined]) -> tuple[Combined, ...]:
    """What became one in a whole program, of what did in each of its regions."""
    known = dict[Hashable, Combined]()
    for each in found:
        of = known.get(each.which, each._replace(before=0, after=0))
        known[each.which] = each._replace(before=of.before + each.before, after=of.after + each.after)
    return tuple(known.values())


def lacking(known: Iterable[Combined], others: Iterable[Combined]) -> tuple[Combined, ...]:
    """Those of the others whose kind, axes and phase none that is known has."""
    taken = {each.which for each in known}
    return tuple(each for each in others if each.which not in taken)


def with_sums(shares: tuple[Combined, ...]) -> tuple[Combined, ...]:
    """The same, and sums that are scattered become one as those do that are not, where only one of the two is
    known."""
    alike = [each._replace(title=_ALIKE[each.title]) for each in shares if each.title in _ALIKE]
    return (*shares, *lacking(shares, alike))


def sent_anyway(shares: Iterable[Combined]) -> tuple[Combined, ...]:
    """The same, as if one collective more hardly took longer where several wait for nothing and become
    one."""
    joined = {each for each in shares if each.phase != BETWEEN and each.part < 1}
    return tuple(each._replace(before=MORE * each.before) if each in joined else each for each in shares)
