"""Which collectives of a region are one, and which sums over several axes are done over one after the other
for it.

Two can be one if neither needs the other. Where both are one with others, that is not enough:

    %1 = all_reduce(data) %a      %3 = all_reduce(model) %1
    %2 = all_reduce(model) %b     %4 = all_reduce(data) %2

%1 and %4 could be one, or %2 and %3, but not both. So what a collective needs is counted over groups.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import combinations

from msgspec import Struct
from msgspec.structs import replace

from shardc.layout import Axis
from shardc.ops import spmd
from shardc.planning.machines import Joint, Wanted

Axes = tuple[Axis, ...]
Splits = Mapping[Axes, Sequence[Axes]]
"""For the axes of an all-reduce, those of the ones that are done in its place, one after the other."""


class Candidate(Struct, frozen=True):
    """A collective: `kind` is equal for those that can be one but for their axes, `needed` the place at which
    its result is first used, `needs` the bits of the numbers of others that it needs."""

    wanted: Wanted
    kind: Hashable
    needed: int
    needs: int


def split(candidates: Sequence[Candidate], splits: Splits) -> list[Candidate]:
    """Those after splitting, in which each stands for itself or for several in its place."""
    parts = [_parts(each, splits) for each in candidates]
    bits, start = list[int](), 0
    for each in parts:
        bits.append(((1 << len(each)) - 1) << start)
        start += len(each)
    found: list[Candidate] = []
    for candidate, each in zip(candidates, parts, strict=True):
        needs = sum(own for number, own in enumerate(bits) if candidate.needs >> number & 1)
        for wanted in each:
            found.append(replace(candidate, wanted=wanted, needs=needs))
            needs |= 1 << len(found) - 1
    return found


def origins(candidates: Sequence[Candidate], splits: Splits) -> list[int]:
    """Of each of those after splitting, the number of the one that it is, or is a part of."""
    return [number for number, each in enumerate(candidates) for _ in _parts(each, splits)]


def _parts(candidate: Candidate, splits: Splits) -> list[Wanted]:
    wanted = candidate.wanted
    if wanted.op is not spmd.all_reduce or wanted.over not in splits:
        return [wanted]
    return [replace(wanted, over=over) for over in splits[wanted.over]]


def best_splits(candidates: Sequence[Candidate], joint: Joint) -> Splits:
    """With which all collectives take least: of all-reduces over some axes, one after the other. Such that go
    over fewer axes as well ask for it."""
    if joint.stages is None:
        return {}
    sums = list(dict.fromkeys(each.wanted.over for each in candidates if each.wanted.op is spmd.all_reduce))
    best: dict[Axes, Sequence[Axes]] = {}
    least = grouped(candidates, joint)[1]
    for over in sums:
        for parts in _orders(over):
            if not any(part in sums for part in parts):
                continue
            trial = {**best, over: parts}
            took = grouped(split(candidates, trial), joint)[1]
            if took < least * (1 - NEAR):
                least, best = took, trial
    return best


NEAR = 1e-9  # of a time: what rounding may take off


def _orders(over: Axes) -> Iterator[tuple[Axes, Axes]]:
    """Some of the axes and then the others."""
    for count in range(1, len(over)):
        for first in combinations(over, count):
            yield first, tuple(axis for axis in over if axis not in first)


def grouped(candidates: Sequence[Candidate], joint: Joint) -> tuple[list[list[int]], float]:
    """The numbers of those that are one, by first need, and the seconds of all. What is needed first is taken
    first, and with it what can be one with it and is quicker so."""
    alike: dict[Hashable, list[int]] = {}
    for number in sorted(range(len(candidates)), key=lambda number: candidates[number].needed):
        each = candidates[number]
        alike.setdefault((each.kind, each.wanted.op, each.wanted.over), []).append(number)
    groups, found, took = Groups([each.needs for each in candidates]), list[list[int]](), 0.0
    for waiting in alike.values():
        while waiting:
            before = groups.copy()
            chosen = joint.chosen(
                [candidates[number].wanted for number in waiting],
                lambda at, groups=groups, waiting=waiting: groups.join(waiting[0], waiting[at]),
            )
            if len(chosen) == 1:
                groups = before
            group = [waiting[at] for at in chosen]
            waiting[:] = [number for number in waiting if number not in group]
            found.append(group)
            took += joint.seconds([candidates[number].wanted for number in group])
    return found, took


class Groups:
    """Numbers in groups, at first each alone, with the bits of each group, and of all that it needs."""

    def __init__(self, needs: Sequence[int], own: Sequence[int] = ()) -> None:
        self.needs, self.own = [*needs], [*own] or [1 << number for number in range(len(needs))]

    def copy(self) -> Groups:
        return Groups(self.needs, self.own)

    def join(self, one: int, other: int) -> bool:
        """Make the groups of two numbers one; False if one needs the other."""
        own, needs = self.own[one] | self.own[other], self.needs[one] | self.needs[other]
        if own & needs:
            return False
        for number, found in enumerate(self.needs):
            if self.own[number] & own:
                self.needs[number], self.own[number] = needs, own
            elif found & own:
                self.needs[number] = found | own | needs
        return True
