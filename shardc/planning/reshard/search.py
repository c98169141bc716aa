"""The cheapest sequence of moves between two layouts of a tensor: A*.

What is left is estimated by estimate.py. Costs are compared as (bytes, collectives, moves, peak
memory), then by the layouts' numbers, so the same question has the same answer everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from heapq import heappop, heappush
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from shardc.planning.reshard.cost import ReshardCost
from shardc.planning.reshard.estimate import Estimate, Left
from shardc.planning.reshard.moves import (
    Move,
    SearchState,
    all_gathers,
    all_reduces,
    replicated_to_unreduced,
)
from shardc.planning.reshard.next_moves import Place, Step, next_moves
from shardc.planning.reshard.space import AtomLayout, Space
from shardc.planning.reshard.steps import FREE

_Key = tuple[int, int, int, int]  # bytes, collectives, moves, peak


class Taken(Struct, frozen=True):
    """One collective of a way: its name, the layout after it, and what it moves."""

    kind: str
    layout: AtomLayout
    bytes: int


class Way(Struct, frozen=True):
    """Collectives one after the other, and what they cost together."""

    path: tuple[Taken, ...]
    cost: ReshardCost

    def of(self, whole: int, part: int) -> Way:
        """The way of a tensor of `whole` bytes, where this is that of one of `part`."""
        path = tuple([Taken(move.kind, move.layout, move.bytes * whole // part) for move in self.path])
        bytes, steps, peak = self.cost
        return Way(path, ReshardCost(bytes * whole // part, steps, peak * whole // part))


class Found(Struct, frozen=True):
    """The way and its cost, None if none was found; no way has fewer than `bound` bytes.

    `exact`: none is cheaper, or there is none. `tried`: so many moves were looked at.
    """

    way: Way | None
    bound: int
    exact: bool
    tried: int = 0


def least_bytes(space: Space) -> int:
    """Bytes that no way from start to goal has fewer of, whatever pieces of axes it moves."""
    return Estimate(space).left(SearchState(space.start)).bytes


def search(space: Space, limit: int | None, effort: int, haste: float = 0, below: int | None = None) -> Found:
    """The cheapest way from start to goal with no more than `limit` bytes at once.

    After trying `effort` moves it answers with the best it has. In haste every atom out of place counts as
    `haste` blocks more: the answer comes the sooner the more that is, and may not be the cheapest. With
    `below`, only ways of fewer bytes than that are looked at.

    Where all atoms divide all dimensions, bytes are a fixed part of the tensor's, so the way is that of the
    smallest such tensor.
    """
    whole = space.itemsize * prod(space.shape)
    if limit is not None or haste or not space.shape or not space.even or not whole:
        return _search(space, limit, effort, haste, below)
    model = space.smallest
    part = model.itemsize * prod(model.shape)
    less = None if below is None else -(-below * part // whole)
    found = _search(model, None, effort, 0, less)
    bound = below or 0 if found.bound == (less or 0) else found.bound * whole // part
    return replace(found, way=found.way and found.way.of(whole, part), bound=bound)


@lru_cache(maxsize=65536)
def _search(space: Space, limit: int | None, effort: int, haste: float, below: int | None) -> Found:
    if below is not None and least_bytes(space) >= below:
        return Found(None, below, not haste)
    frontier = _Frontier(space, limit, haste, below)
    if below is None:
        frontier.relax_all(_recipe(space))
    goal, tried = frontier.moves.place(SearchState(space.goal)), 0
    while frontier.heap:
        guess, _, _, node = heappop(frontier.heap)
        if guess > node.guess:
            continue
        there = frontier.reached.get(goal)
        done = node is there or (there is not None and there.key is not None and guess >= there.key)
        if done or tried > effort:
            break
        after = frontier.moves.after(node.place)
        frontier.relax(node, after)
        tried += len(after)
    else:
        return Found(None, below or 0, not haste, tried)
    return Found(frontier.way(goal), 0 if haste else guess[0], done and not haste, tried)


class _Node(Struct):
    """A state that was met: what is left from it at least, and the cheapest way to it: what that costs, and
    with what is left; the last move and the node before. None as long as no way to it was good enough."""

    place: Place
    left: Left
    key: _Key | None = None
    guess: _Key = (0, 0, 0, 0)
    move: Move | None = None
    before: _Node | None = None


class _Frontier(Struct, dict=True):
    """The states met so far, and which of those that were reached to look at next."""

    space: Space
    limit: int | None
    haste: float
    below: int | None
    reached: dict[Place, _Node] = {}
    heap: list[tuple[_Key, int, SearchState, _Node]] = []

    def __post_init__(self) -> None:
        self.estimate, self.moves = Estimate(self.space), next_moves(self.space)
        self.start = self._met(self.moves.place(SearchState(self.space.start)))
        self._reach(self.start, (0, 0, 0, self.space.local(self.space.start.dims)))

    def relax(self, before: _Node, moves: Sequence[Step]) -> None:
        """Take each of the moves from a node that is the cheapest way so far to where it leads."""
        assert before.key is not None
        start, collectives, count, most = before.key
        below, limit, reached = self.below, self.limit, self.reached
        for move, place in moves:
            kind, _, bytes, peak, begins = move
            total = start + bytes
            if (below is not None and total >= below) or (limit is not None and peak > limit):
                continue
            node = reached.get(place) or self._met(place)
            if below is not None and total + node.left.bytes >= below:
                continue
            sends = begins and kind not in FREE
            key = (total, collectives + sends, count + begins, peak if peak > most else most)
            if node.key is None or key < node.key:
                node.move, node.before = move, before
                self._reach(node, key)

    def _met(self, place: Place) -> _Node:
        node = self.reached[place] = _Node(place, self.estimate.left(place.state))
        return node

    def _reach(self, node: _Node, key: _Key) -> None:
        """Know a cheaper way to a state, and what no way through it is below, unless in haste."""
        (total, collectives, count, peak), ahead, state = key, node.left, node.place.state
        bytes = total + ahead.bytes
        if self.haste:
            bytes += int(self.haste * self.estimate.misplaced(state))
        node.key, node.guess = key, (bytes, collectives + ahead.collectives, count + ahead.moves, peak)
        heappush(self.heap, (node.guess, bytes - total, state, node))

    def relax_all(self, path: Iterator[Move]) -> None:
        """Take the moves one after the other, as far as the limit allows."""
        node = self.start
        for move in path:
            place = self.moves.place(move.state)
            self.relax(node, [(move, place)])
            after = self.reached.get(place)
            if after is None or after.key is None:
                return
            node = after

    def way(self, goal: Place) -> Way | None:
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
