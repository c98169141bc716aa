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
def search(space: Space, limit: int | None, budget: int | None) -> Found | None:
    """The cheapest moves from start to goal with no more than `limit` bytes at once; None if there are none.

    After looking at `budget` layouts it answers with the best it has, which gathering everything bounds.
    """
    frontier = _Frontier(space, limit)
    if budget is not None:
        frontier.relax_all(_recipe(space))
    seen = 0
    while frontier.heap:
        guess, layout = heappop(frontier.heap)
        if guess > _guess(frontier.best[layout], space, layout):
            continue
        if guess >= frontier.best.get(space.goal, (guess[0] + 1, 0, 0, 0)) or layout == space.goal:
            return frontier.found(frontier.best[space.goal][0], True)
        if seen == budget:
            return frontier.found(guess[0], False) if space.goal in frontier.best else None
        seen += 1
        for moves in MOVES:
            for move in moves(space, layout):
                frontier.relax(layout, move)
    return None


@dataclass
class _Frontier:
    """The layouts reached so far, the cheapest way to each, and which to look at next."""

    space: Space
    limit: int | None
    best: dict[Layout, _Key] = field(default_factory=dict["Layout", "_Key"])
    into: dict[Layout, tuple[Layout, Move]] = field(default_factory=dict["Layout", "tuple[Layout, Move]"])
    heap: list[tuple[_Key, Layout]] = field(default_factory=list["tuple[_Key, Layout]"])

    def __post_init__(self) -> None:
        start = self.space.start
        self.best[start] = (0, 0, 0, self.space.local(start.dims))
        self._push(start)

    def relax(self, layout: Layout, move: Move) -> None:
        """Take `move` from `layout` if that is the cheapest way so far to where it leads."""
        total, collectives, moves, peak = self.best[layout]
        alive = self.space.local(layout.dims) + move.buffer
        key = (total + move.bytes, collectives + (move.kind not in FREE), moves + 1, max(peak, alive))
        known = self.best.get(move.layout)
        if (known is None or key < known) and (self.limit is None or alive <= self.limit):
            self.best[move.layout] = key
            self.into[move.layout] = (layout, move)
            self._push(move.layout)

    def relax_all(self, path: Iterator[Move]) -> None:
        """Take the moves one after the other, as far as the limit allows."""
        layout = self.space.start
        for move in path:
            self.relax(layout, move)
            layout = move.layout
            if layout not in self.best:
                return

    def found(self, bound: int, exact: bool) -> Found:
        """The way to the goal."""
        layout = self.space.goal
        total, collectives, _, peak = self.best[layout]
        cost = Cost(total, collectives, peak)
        path: list[Move] = []
        while layout in self.into:
            layout, move = self.into[layout]
            path.append(move)
        return Found(tuple(reversed(path)), cost, bound, exact)

    def _push(self, layout: Layout) -> None:
        heappush(self.heap, (_guess(self.best[layout], self.space, layout), layout))


def _guess(key: _Key, space: Space, layout: Layout) -> _Key:
    """A cost that no way through this layout can be below."""
    left = missing(space, layout)
    return (key[0] + left, key[1] + (left > 0), key[2], key[3])


def missing(space: Space, layout: Layout) -> int:
    """Bytes that some device must receive at least to go from `layout` to the goal; 0 for uneven blocks.

    To complete an element of a sum over n devices, n - 2 messages come before the first device has it, and
    one more for each device that needs it; a device receives its share of them all.
    """
    goal = space.goal
    if goal.partial:
        return 0
    kept = 1
    for size, now, then in zip(space.shape, layout.dims, goal.dims, strict=True):
        if not size or size % space.parts(now) or size % space.parts(then):
            return 0
        kept *= _kept(space, now, then)
    target = space.local(goal.dims)
    if space.parts(layout.partial) > 1:
        return target + space.itemsize * prod(space.shape) * (space.parts(layout.partial) - 2) // prod(space.sizes)
    return target - (target // kept if kept else 0)


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
