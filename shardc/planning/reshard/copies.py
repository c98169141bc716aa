"""How the copies of a value are made, each distinct one once: the cheapest tree of reshards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import combinations, product
from math import inf, prod

from shardc.analysis.manual import NO_AXES, AxisNames
from shardc.graph import TensorType
from shardc.layout import Sharding
from shardc.layout.difference import both_slice
from shardc.planning.reshard.cost import ReshardCost
from shardc.planning.reshard.planner import Reshard, preferred_plan
from shardc.planning.reshard.steps import FREE, ReshardStep

MadeCopy = tuple[Sharding, Sharding, Reshard]
"""From, to, and how."""

Way = tuple[MadeCopy, ...]
"""Copies one after the other, each of the one before it."""

Find = Callable[[Sharding, Sharding], Way]
"""The way from one layout to another."""

Cost = Callable[[MadeCopy], tuple[int, int]]
"""What a copy costs, and what tells equally cheap ones apart."""

EXACT = 3  # needs that are weighed together


def direct(type: TensorType, source: Sharding, target: Sharding, manual: AxisNames = NO_AXES) -> Way:
    """One copy, which sends the fewest bytes."""
    return ((source, target, preferred_plan(type, source, target, manual)),)


def at_once(type: TensorType, source: Sharding, step: ReshardStep) -> Way:
    """One copy that a single collective makes, which may send more bytes than others."""
    blocks = (prod(layout.local_shape(type.shape)) for layout in (source, step.result))
    cost = ReshardCost(step.bytes, step.kind not in FREE, type.numpy.itemsize * sum(blocks))
    return ((source, step.result, Reshard((step,), cost, 0, False, 0, at_once=True)),)


def sent(copy: MadeCopy) -> tuple[int, int]:
    """Bytes and collectives of a copy."""
    cost = copy[2].cost
    return cost.bytes, cost.steps


def cheapest(given: Sharding, needs: tuple[Sharding, ...], find: Find, cost: Cost) -> Way:
    """How to make each needed layout of a value, from the given one or from copies: (from, to, plan); the
    cheapest tree.

    A layout on the way to one of them may be a copy of its own, from which others are made: what two needs
    slice differently is gathered once. With more than EXACT needs, each is made in turn from whichever copy
    there is already that costs least.
    """
    if len(needs) == 1 or len(needs) > EXACT:
        return tuple(_greedy(given, needs, find, cost))
    costs, best, least = dict[tuple[Sharding, Sharding], tuple[int, int]](), Way(), (inf, inf)
    for sources in _sources(given, needs, find):
        first, then = 0, 0
        for target, source in sources.items():
            known = costs.get((source, target))
            if known is None:
                known = costs[source, target] = _sum(cost, find(source, target))
            first, then = first + known[0], then + known[1]
        if (first, then) < least and (tree := _tree(given, sources, find)):
            best, least = tree, (first, then)
    return best


@lru_cache(maxsize=65536)
def copies(
    type: TensorType, given: Sharding, needs: tuple[Sharding, ...], manual: AxisNames = NO_AXES
) -> Way:
    """The tree with the fewest bytes, then collectives."""
    return cheapest(given, needs, lambda source, target: direct(type, source, target, manual), sent)


@lru_cache(maxsize=65536)
def price(
    type: TensorType, given: Sharding, needs: tuple[Sharding, ...], manual: AxisNames
) -> tuple[int, int, int]:
    """Bytes, collectives and steps of making these."""
    return cost_of(copies(type, given, needs, manual))


def cost_of(made: Way) -> tuple[int, int, int]:
    """Bytes, collectives and steps of some copies."""
    plans = [plan for _, _, plan in made]
    moved, collectives = sum(plan.cost.bytes for plan in plans), sum(plan.cost.steps for plan in plans)
    return moved, collectives, sum(len(plan.steps) for plan in plans)


def tried(type: TensorType, source: Sharding, target: Sharding, manual: AxisNames) -> int:
    """How many moves were looked at to find the way from one layout to another."""
    return sum(plan.tried for _, _, plan in copies(type, source, (target,), manual))


def _sources(given: Sharding, needs: tuple[Sharding, ...], find: Find) -> Iterator[dict[Sharding, Sharding]]:
    """From which layout each copy may be made: the needs from the given one and from each other, then with a
    stop between them, from which two or more are made."""
    for sources in product([given, *needs], repeat=len(needs)):
        yield dict(zip(needs, sources, strict=True))
    for stop in _stops(given, needs, find):
        for sources in product([given, stop, *needs], repeat=len(needs)):
            if sources.count(stop) > 1:
                yield {stop: given, **dict(zip(needs, sources, strict=True))}


def _stops(given: Sharding, needs: tuple[Sharding, ...], find: Find) -> Iterator[Sharding]:
    """The layouts on the ways to the needs, and those that any two of the layouts are slices of."""
    steps = (step for need in needs for _, _, plan in find(given, need) for step in plan.steps)
    passed = (step.result for step in steps)
    sliced = (both_slice(*pair) for pair in combinations([given, *needs], 2))
    yield from (stop for stop in dict.fromkeys([*passed, *sliced]) if stop not in (given, *needs))


def _sum(cost: Cost, made: Sequence[MadeCopy]) -> tuple[int, int]:
    if len(made) == 1:
        return cost(made[0])
    first, then = zip(*map(cost, made), strict=True)
    return sum(first), sum(then)


def _tree(given: Sharding, sources: dict[Sharding, Sharding], find: Find) -> Way:
    """The copies in an order in which each is there before it is used; none if they go in circles."""
    have, made, left = {given}, list[MadeCopy](), dict(sources)
    while left:
        target = next((target for target, source in left.items() if source in have), None)
        if target is None:
            return ()
        made += _new(find(left.pop(target), target), have)
    return tuple(made)


def _new(way: Way, have: set[Sharding]) -> Way:
    """The copies of a way that are not there yet, which are then."""
    return tuple(copy for copy in way if copy[1] not in have and not have.add(copy[1]))


def _greedy(given: Sharding, needs: tuple[Sharding, ...], find: Find, cost: Cost) -> list[MadeCopy]:
    have, made, left = [given], list[MadeCopy](), [need for need in needs if need != given]
    while left:
        ways = [find(source, target) for target in left for source in have]
        new = [way for way in (_new(way, set(have)) for way in ways) if way]
        best = min(new, key=partial(_sum, cost)) if len(new) > 1 else new[0]
        made += best
        have += [target for _, target, _ in best]
        left = [target for target in left if target not in have]
    return made
