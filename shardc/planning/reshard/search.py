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
        node = frontier.reached[state]
        if guess > frontier.guess(state, node):
            continue
        there = frontier.reached.get(goal)
        done = state == goal or (there is not None and there.key is not None and guess >= there.key)
        if done or tried > effort:
            break
        for move in moves(state):
            frontier.relax(node, move)
            tried += 1
    else:
        return Found(None, below or 0, not haste)
    return Found(frontier.way(goal), 0 if haste else guess[0], done and not haste)


@dataclass(slots=True)
class _Node:
    """A state that was met: what is left from it at least, and the cheapest way to it: what that costs, the
    last move and the node before. None as long as no way to it was good enough."""

    left: Left
    key: _Key | None = None
    move: Move | None = None
    before: _Node | None = None


@dataclass
class _Frontier:
    """The states met so far, and which of those that were reached to look at next."""

    space: Space
    limit: int | None
    haste: float
    below: int | None
    reached: dict[SearchState, _Node] = field(default_factory=dict["SearchState", "_Node"])
    heap: list[tuple[_Key, int, SearchState]] = field(default_factory=list["tuple[_Key, int, SearchState]"])

    def __post_init__(self) -> None:
        self.estimate = Estimate(self.space)
        state = SearchState(self.space.start)
        node = self._met(state)
        node.key = (0, 0, 0, self.space.local(state.layout.dims))
        self._push(state, node)

    def relax(self, before: _Node, move: Move) -> None:
        """Take `move` if it is the cheapest way so far to where it leads."""
        assert before.key is not None
        total, collectives, count, peak = before.key
        total += move.bytes
        below, limit = self.below, self.limit
        if (below is not None and total >= below) or (limit is not None and move.peak > limit):
            return
        begins = move.begins
        key = (
            total,
            collectives + (begins and move.kind not in FREE),
            count + begins,
            move.peak if move.peak > peak else peak,
        )
        node = self.reached.get(move.state) or self._met(move.state)
        if (node.key is None or key < node.key) and (below is None or total + node.left.bytes < below):
            node.key, node.move, node.before = key, move, before
            self._push(move.state, node)

    def _met(self, state: SearchState) -> _Node:
        node = self.reached[state] = _Node(self.estimate.left(state))
        return node

    def _push(self, state: SearchState, node: _Node) -> None:
        guess = self.guess(state, node)
        assert node.key is not None
        heappush(self.heap, (guess, guess[0] - node.key[0], state))

    def relax_all(self, path: Iterator[Move]) -> None:
        """Take the moves one after the other, as far as the limit allows."""
        node = self.reached[SearchState(self.space.start)]
        for move in path:
            self.relax(node, move)
            after = self.reached.get(move.state)
            if after is None or after.key is None:
                return
            node = after

    def guess(self, state: SearchState, node: _Node) -> _Key:
        """A cost that no way through this state is below, unless in haste."""
        assert node.key is not None
        ahead, (total, collectives, count, peak) = node.left, node.key
        bytes = total + ahead.bytes
        if self.haste:
            bytes += int(self.haste * self.estimate.misplaced(state))
        return (bytes, collectives + ahead.collectives, count + ahead.moves, peak)

    def way(self, goal: SearchState) -> Way | None:
        """What leads to the goal and what it costs; None if nothing does yet."""
        node = self.reached.get(goal)
        if node is None or node.key is None:
            return None
        total, collectives, _, peak = node.key
        path: list[Taken] = []
        while node.move is not None and node.before is not None:
            first, moved, after = node.move, node.move.bytes, node.move.state.layout
            node = node.before
            while not first.begins and node.move is not None and node.before is not None:
                first, moved, node = node.move, moved + node.move.bytes, node.before
            path.append(Taken(first.kind, after, moved))
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
