"""The cheapest sequence of moves between two layouts of a tensor: A*.

What is left is estimated by estimate.py. Costs are compared as (bytes, collectives, moves, peak
memory), then by the layouts' numbers, so the same question has the same answer everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import heappop, heappush

from shardc.planning.reshard.cost import ReshardCost
from shardc.planning.reshard.estimate import Estimate, Left
from shardc.planning.reshard.moves import (
    Move,
    SearchState,
    all_gathers,
    all_reduces,
    replicated_to_unreduced,
)
from shardc.planning.reshard.next_moves import next_moves
from shardc.planning.reshard.space import AtomLayout, Space
from shardc.planning.reshard.steps import FREE

_Key = tuple[int, int, int, int]  # bytes, collectives, moves, peak


@dataclass(frozen=True, slots=True)
class Taken:
    """One collective of a way: its name, the layout after it, and what it moves."""

    kind: str
    layout: AtomLayout
    bytes: int


@dataclass(frozen=True, slots=True)
class Way:
    """Collectives one after the other, and what they cost together."""

    path: tuple[Taken, ...]
    cost: ReshardCost


@dataclass(frozen=True, slots=True)
class Found:
    """The way and its cost, None if none was found; no way has fewer than `bound` bytes.

    `exact`: none is cheaper, or there is none.
    """

    way: Way | None
    bound: int
    exact: bool


def least_bytes(space: Space) -> int:
    """Bytes that no way from start to goal has fewer of, whatever pieces of axes it moves."""
    return Estimate(space).left(SearchState(space.start)).bytes


@lru_cache(maxsize=65536)
def search(space: Space, limit: int | None, effort: int, haste: float = 0, below: int | None = None) -> Found:
    """The cheapest way from start to goal with no more than `limit` bytes at once.

    After trying `effort` moves it answers with the best it has. In haste every atom out of place counts as
    `haste` blocks more: the answer comes the sooner the more that is, and may not be the cheapest. With
    `below`, only ways of fewer bytes than that are looked at.
    """
    if below is not None and least_bytes(space) >= below:
        return Found(None, below, not haste)
    frontier = _Frontier(space, limit, haste, below)
    if below is None:
        frontier.relax_all(_recipe(space))
    goal, tried, moves = SearchState(space.goal), 0, next_moves(space)
    while frontier.heap:
        guess, _, state = heappop(frontier.heap)
        if guess > frontier.guess(state):
            continue
        done = state == goal or guess >= frontier.best.get(goal, (guess[0] + 1, 0, 0, 0))
        if done or tried > effort:
            break
        for move in moves(state):
            frontier.relax(state, move)
            tried += 1
    else:
        return Found(None, below or 0, not haste)
    way = frontier.way() if goal in frontier.best else None
    return Found(way, 0 if haste else guess[0], done and not haste)


@dataclass
class _Frontier:
    """The states reached so far, the cheapest way to each, and which to look at next."""

    space: Space
    limit: int | None
    haste: float
    below: int | None
    best: dict[SearchState, _Key] = field(default_factory=dict["SearchState", "_Key"])
    into: dict[SearchState, tuple[SearchState, Move]] = field(
        default_factory=dict["SearchState", "tuple[SearchState, Move]"]
    )
    heap: list[tuple[_Key, int, SearchState]] = field(default_factory=list["tuple[_Key, int, SearchState]"])
    left: dict[SearchState, Left] = field(default_factory=dict["SearchState", "Left"])

    def __post_init__(self) -> None:
        self.estimate = Estimate(self.space)
        start = SearchState(self.space.start)
        self.best[start] = (0, 0, 0, self.space.local(start.layout.dims))
        self._push(start)

    def relax(self, state: SearchState, move: Move) -> None:
        """Take `move` if it is the cheapest way so far to where it leads."""
        total, collectives, count, peak = self.best[state]
        key = (
            total + move.bytes,
            collectives + (move.begins and move.kind not in FREE),
            count + move.begins,
            max(peak, move.peak),
        )
        known = self.best.get(move.state)
        if (known is None or key < known) and (self.limit is None or move.peak <= self.limit):
            if self.below is not None and key[0] + self._ahead(move.state).bytes >= self.below:
                return
            self.best[move.state] = key
            self.into[move.state] = (state, move)
            self._push(move.state)

    def _push(self, state: SearchState) -> None:
        guess = self.guess(state)
        heappush(self.heap, (guess, guess[0] - self.best[state][0], state))

    def relax_all(self, path: Iterator[Move]) -> None:
        """Take the moves one after the other, as far as the limit allows."""
        state = SearchState(self.space.start)
        for move in path:
            self.relax(state, move)
            state = move.state
            if state not in self.best:
                return

    def guess(self, state: SearchState) -> _Key:
        """A cost that no way through this state is below, unless in haste."""
        ahead = self._ahead(state)
        total, collectives, count, peak = self.best[state]
        bytes = total + ahead.bytes
        if self.haste:
            bytes += int(self.haste * self.estimate.misplaced(state))
        return (bytes, collectives + ahead.collectives, count + ahead.moves, peak)

    def _ahead(self, state: SearchState) -> Left:
        ahead = self.left.get(state)
        if ahead is None:
            ahead = self.left[state] = self.estimate.left(state)
        return ahead

    def way(self) -> Way:
        """What leads to the goal and what it costs."""
        state = SearchState(self.space.goal)
        total, collectives, _, peak = self.best[state]
        path: list[Taken] = []
        while state in self.into:
            after = state.layout
            state, move = self.into[state]
            moved = move.bytes
            while not move.begins:
                state, move = self.into[state]
                moved += move.bytes
            path.append(Taken(move.kind, after, moved))
        return Way(tuple(reversed(path)), ReshardCost(total, collectives, peak))


def _recipe(space: Space) -> Iterator[Move]:
    """What always works: combine, gather everything, slice, make partial."""
    layout = space.start
    if layout.partial:
        *_, move = all_reduces(space, layout)
        yield move
        layout = move.state.layout
    for dim in range(len(layout.dims)):
        while layout.dims[dim]:
            move = next(m for m in all_gathers(space, layout) if not m.state.layout.dims[dim])
            yield move
            layout = move.state.layout
    for dim, atoms in enumerate(space.goal.dims):
        if atoms:
            alive, layout = space.local(layout.dims), layout.with_dim(dim, atoms)
            yield Move("all_slice", SearchState(layout), 0, alive + space.local(layout.dims))
    while layout.partial != space.goal.partial:
        move = next(replicated_to_unreduced(space, layout))
        yield move
        layout = move.state.layout
