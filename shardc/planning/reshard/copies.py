"""How the copies of a value are made, each distinct one once: the cheapest tree of reshards."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations, product

from shardc.analysis.manual import NO_AXES, AxisNames
from shardc.graph import TensorType
from shardc.layout import Sharding
from shardc.layout.difference import both_slice
from shardc.planning.reshard.planner import Reshard, preferred_plan

MadeCopy = tuple[Sharding, Sharding, Reshard]
"""From, to, and how."""


EXACT = 3  # needs that are weighed together


def copies(
    type: TensorType, given: Sharding, needs: list[Sharding], manual: AxisNames = NO_AXES
) -> list[MadeCopy]:
    """How to make each needed layout, from the given one or from copies: (from, to, plan); the cheapest tree.

    A layout on the way to one of them may be a copy of its own, from which others are made: what two needs
    slice differently is gathered once. With more than EXACT needs, each is made in turn from whichever copy
    there is already that costs least.
    """
    return list(_copies(type, given, tuple(needs), manual))


@lru_cache(maxsize=65536)
def price(
    type: TensorType, given: Sharding, needs: tuple[Sharding, ...], manual: AxisNames
) -> tuple[int, int, int]:
    """Bytes, collectives and steps of making them all."""
    plans = [plan for _, _, plan in _copies(type, given, needs, manual)]
    moved, collectives = sum(plan.cost.bytes for plan in plans), sum(plan.cost.steps for plan in plans)
    return moved, collectives, sum(len(plan.steps) for plan in plans)


def tried(type: TensorType, source: Sharding, target: Sharding, manual: AxisNames) -> int:
    """How many moves were looked at to find the way from one layout to another."""
    return sum(plan.tried for _, _, plan in _copies(type, source, (target,), manual))


@lru_cache(maxsize=65536)
def _copies(
    type: TensorType, given: Sharding, needs: tuple[Sharding, ...], manual: AxisNames
) -> tuple[MadeCopy, ...]:
    if len(needs) == 1 or len(needs) > EXACT:
        return tuple(_greedy(type, given, needs, manual))
    made = (_tree(type, given, sources, manual) for sources in _sources(type, given, needs, manual))
    return min((tree for tree in made if tree), key=_cost_of)


def _sources(
    type: TensorType, given: Sharding, needs: tuple[Sharding, ...], manual: AxisNames
) -> Iterator[dict[Sharding, Sharding]]:
    """From which layout each copy may be made: the needs from the given one and from each other, then with a
    stop between them, from which two or more are made."""
    for sources in product([given, *needs], repeat=len(needs)):
        yield dict(zip(needs, sources, strict=True))
    for stop in _stops(type, given, needs, manual):
        for sources in product([given, stop, *needs], repeat=len(needs)):
            if sources.count(stop) > 1:
                yield {stop: given, **dict(zip(needs, sources, strict=True))}


def _stops(
    type: TensorType, given: Sharding, needs: tuple[Sharding, ...], manual: AxisNames
) -> Iterator[Sharding]:
    """The layouts on the ways to the needs, and those that any two of the layouts are slices of."""
    ways = (preferred_plan(type, given, need, manual) for need in needs)
    passed = (step.result for way in ways for step in way.steps[:-1])
    sliced = (both_slice(*pair) for pair in combinations([given, *needs], 2))
    yield from (stop for stop in dict.fromkeys([*passed, *sliced]) if stop not in (given, *needs))


def _cost_of(made: tuple[MadeCopy, ...]) -> tuple[int, int]:
    return sum(p.cost.bytes for _, _, p in made), sum(p.cost.steps for _, _, p in made)


def _tree(
    type: TensorType, given: Sharding, sources: dict[Sharding, Sharding], manual: AxisNames
) -> tuple[MadeCopy, ...]:
    """The copies in an order in which each is there before it is used; none if they go in circles."""
    have, made, left = {given}, list[MadeCopy](), dict(sources)
    while left:
        target = next((target for target, source in left.items() if source in have), None)
        if target is None:
            return ()
        source = left.pop(target)
        made.append((source, target, preferred_plan(type, source, target, manual)))
        have.add(target)
    return tuple(made)


def _greedy(
    type: TensorType, given: Sharding, needs: tuple[Sharding, ...], manual: AxisNames
) -> list[MadeCopy]:
    have, made, left = [given], list[MadeCopy](), list(needs)
    while left:
        options = (
            (p.cost.bytes, p.cost.steps, order, target, source, p)
            for order, target in enumerate(left)
            for source in have
            for p in (preferred_plan(type, source, target, manual),)
        )
        _, _, _, target, source, best = min(options, key=lambda option: option[:3])
        made.append((source, target, best))
        have.append(target)
        left.remove(target)
    return made
