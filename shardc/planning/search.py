"""The cheapest sequence of moves between two layouts of a tensor: A*.

The estimate of what is left is the part of its target block that the worst-placed device does not hold yet;
no move brings it more than its bytes. Costs are compared as (bytes, collectives, moves, peak memory), then
by the layouts' numbers, so the same question has the same answer everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import heappop, heappush
from math import prod

from shardc.planning.aims import AIMED
from shardc.planning.cost import Cost
from shardc.planning.moves import (
    MOVES,
    Atoms,
    Layout,
    Move,
    Space,
    all_gathers,
    all_reduces,
    all_slices,
    replicated_to_unreduced,
)
from shardc.planning.steps import FREE

_Key = tuple[int, int, int, int]  # bytes, collectives, moves, peak


@dataclass(frozen=True, slots=True)
class Found:
    """The moves and their cost; no sequence has fewer than `bound` bytes; `exact`: none is cheaper."""

    path: tuple[Move, ...]
    cost: Cost
    bound: int
    exact: bool


@lru_cache(maxsize=65536)
def search(space: Space, limit: int | None, effort: int | None = None, haste: int = 1) -> Found | None:
    """The cheapest moves from start to goal with no more than `limit` bytes at once; None if none are found.

    After trying `effort` moves it answers with the best it has. With `haste` above 1 the estimate counts that
    many times and only the moves of planning/aims.py are tried: the answer comes soon and may not be the
    cheapest.
    """
    frontier = _Frontier(space, limit, haste)
    if effort is not None:
        frontier.relax_all(_recipe(space))
    tried = 0
    while frontier.heap:
        guess, layout = heappop(frontier.heap)
        if guess > frontier.guess(layout):
            continue
        done = layout == space.goal or guess >= frontier.best.get(space.goal, (guess[0] + 1, 0, 0, 0))
        if done or (effort is not None and tried > effort):
            break
        alive = space.local(layout.dims)
        for moves in MOVES if haste == 1 else AIMED:
            for move in moves(space, layout):
                frontier.relax(layout, move, alive)
                tried += 1
    else:
        return None
    if space.goal not in frontier.best:
        return None
    return Found(*frontier.way(), 0 if haste > 1 else guess[0], done and haste == 1)


@dataclass
class _Frontier:
    """The layouts reached so far, the cheapest way to each, and which to look at next."""

    space: Space
    limit: int | None
    haste: int
    best: dict[Layout, _Key] = field(default_factory=dict["Layout", "_Key"])
    into: dict[Layout, tuple[Layout, Move]] = field(default_factory=dict["Layout", "tuple[Layout, Move]"])
    heap: list[tuple[_Key, Layout]] = field(default_factory=list["tuple[_Key, Layout]"])
    left: dict[Layout, int] = field(default_factory=dict["Layout", int])

    def __post_init__(self) -> None:
        start = self.space.start
        self.best[start] = (0, 0, 0, self.space.local(start.dims))
        heappush(self.heap, (self.guess(start), start))

    def relax(self, layout: Layout, move: Move, alive: int) -> None:
        """Take `move` from `layout` (`alive` bytes) if it is the cheapest way so far to where it leads."""
        total, collectives, moves, peak = self.best[layout]
        needs = alive + move.buffer
        key = (total + move.bytes, collectives + (move.kind not in FREE), moves + 1, max(peak, needs))
        known = self.best.get(move.layout)
        if (known is None or key < known) and (self.limit is None or needs <= self.limit):
            self.best[move.layout] = key
            self.into[move.layout] = (layout, move)
            heappush(self.heap, (self.guess(move.layout), move.layout))

    def relax_all(self, path: Iterator[Move]) -> None:
        """Take the moves one after the other, as far as the limit allows."""
        layout = self.space.start
        for move in path:
            self.relax(layout, move, self.space.local(layout.dims))
            layout = move.layout
            if layout not in self.best:
                return

    def guess(self, layout: Layout) -> _Key:
        """A cost that no way through this layout is below, unless in haste."""
        left = self.left.get(layout)
        if left is None:
            left = self.left[layout] = missing(self.space, layout)
        total, collectives, moves, peak = self.best[layout]
        return (total + left * self.haste, collectives + (left > 0), moves, peak)

    def way(self) -> tuple[tuple[Move, ...], Cost]:
        """The moves to the goal and what they cost."""
        layout = self.space.goal
        total, collectives, _, peak = self.best[layout]
        path: list[Move] = []
        while layout in self.into:
            layout, move = self.into[layout]
            path.append(move)
        return tuple(reversed(path)), Cost(total, collectives, peak)


def missing(space: Space, layout: Layout) -> int:
    """Bytes that some device must receive at least to go from `layout` to the goal.

    To complete an element of a sum over n devices, n - 2 messages come before the first device has it, and
    one more for each device that needs it; a device receives its share of them all.
    """
    goal = space.goal
    if goal.partial:
        return 0
    kept = 1
    for size, now, then in zip(space.shape, layout.dims, goal.dims, strict=True):
        if not size or size % space.parts(now) or size % space.parts(then):
            return _missing_at_front(space, layout)
        kept *= _kept(space, now, then)
    target = space.local(goal.dims)
    if space.parts(layout.partial) > 1:
        return target + space.itemsize * prod(space.shape) * (space.parts(layout.partial) - 2) // prod(
            space.sizes
        )
    return target - (target // kept if kept else 0)


def _missing_at_front(space: Space, layout: Layout) -> int:
    """What the device with the first blocks lacks, whose blocks are never short."""
    now = [min(space.block(d, atoms), size) for d, (atoms, size) in enumerate(zip(layout.dims, space.shape))]
    then = [space.block(d, atoms) for d, atoms in enumerate(space.goal.dims)]
    return space.itemsize * (prod(then) - prod(map(min, now, then)))


def _kept(space: Space, now: Atoms, then: Atoms) -> int:
    """1/k of the target block is here on the worst-placed device, in one dimension; 0 if nothing is."""
    here = [a for a in now if space.sizes[a] > 1]
    there = [a for a in then if space.sizes[a] > 1]
    while here and there and here[0] == there[0]:
        del here[0], there[0]
    return 0 if here and there else prod(space.sizes[a] for a in here)


def _recipe(space: Space) -> Iterator[Move]:
    """What always works: combine, gather everything, slice, make partial."""
    layout = space.start
    if layout.partial:
        *_, move = all_reduces(space, layout)
        yield move
        layout = move.layout
    for dim in range(len(layout.dims)):
        while layout.dims[dim]:
            move = next(m for m in all_gathers(space, layout) if not m.layout.dims[dim])
            yield move
            layout = move.layout
    for dim, atoms in enumerate(space.goal.dims):
        while layout.dims[dim] != atoms:
            *_, move = (
                m for m in all_slices(space, layout) if _towards(m.layout.dims[dim], layout.dims[dim], atoms)
            )
            yield move
            layout = move.layout
    while layout.partial != space.goal.partial:
        move = next(replicated_to_unreduced(space, layout))
        yield move
        layout = move.layout


def _towards(after: Atoms, before: Atoms, goal: Atoms) -> bool:
    return len(after) > len(before) and goal[: len(after)] == after
