"""All collectives between layouts of tensors of one rank, and the shortest paths over them.

Collectives that have several steps in a search (moves.py) are one edge each here. Paths are looked for from
layouts that somebody asks for; of those that differ in an order that does not matter (orders.py), from one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from hashlib import sha256
from math import prod

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from shardc.layout.distinct import distinct
from shardc.planning.reshard.moves import SearchState, moves
from shardc.planning.reshard.orders import Ends, Numbers, Orders
from shardc.planning.reshard.space import AtomLayout, Space
from shardc.planning.reshard.steps import ATTRIBUTES, FREE
from shardc.planning.solvers import Edges, Matrix, Vector, shortest_paths

STEP = 1 / 1024  # what a collective counts, in parts of the model tensor: it decides between equals


class Paths:
    """The shortest paths between layouts, in all orders that leave them as long, as far as they are known.

    `search` finds the paths from some layouts to all. Of layouts that are images of each other one stands for
    all. Where few do, all are looked for at once.
    """

    def __init__(self, orders: Orders, search: Callable[[Numbers], Matrix]) -> None:
        self.orders, self.search = orders, search
        self.rows: dict[int, Vector] = {}
        every = distinct(orders.first)
        self._together = every if len(every) <= ALL else []

    def between(self, sources: Numbers, targets: Numbers) -> Matrix:
        """The lengths of the shortest paths from each of some layouts to each of others."""
        return self.along(self.orders.ends(sources, targets))

    def along(self, ends: Ends) -> Matrix:
        """The same for ends that somebody has found in these orders."""
        new = [start for start in distinct(ends.starts) if start not in self.rows]
        if new:
            some = np.array(self._together or new, np.int64)
            self.rows.update(zip(some.tolist(), self.search(some), strict=True))
        pairs = zip(ends.starts.tolist(), ends.targets, strict=True)
        return np.array([self.rows[start][found] for start, found in pairs])


class Collectives(Struct, frozen=True):
    """Every collective from one layout to another: what it sends (Ways), and its kind by number (KINDS)."""

    edges: Edges
    kinds: Numbers

    @property
    def unreduces(self) -> NDArray[np.bool_]:
        """Which make partial results."""
        return np.isin(self.kinds, [KINDS.index(kind) for kind in KINDS if kind.endswith("to_unreduced")])

    @property
    def free(self) -> NDArray[np.bool_]:
        """Which send nothing."""
        return np.isin(self.kinds, [KINDS.index(kind) for kind in FREE])

    def moved(self, found: Sequence[AtomLayout], count: int) -> Numbers:
        """The atoms that are in another dimension afterwards, or no more in one or partial, as bits."""
        where = np.full((len(found), count), COPY, dtype=np.int64)
        for number, layout in enumerate(found):
            where[number, list(layout.partial)] = PARTIAL
            for dim, atoms in enumerate(layout.dims):
                where[number, list(atoms)] = dim
        return (where[self.edges.sources] != where[self.edges.targets]) @ (1 << np.arange(count))

    def grown(self, ways: Ways) -> Vector:
        """By how much a device's block grows, in parts of the tensor."""
        block = np.array([1 / prod(map(ways.space.parts, layout.dims)) for layout in ways.found])
        return np.maximum(0, block[self.edges.targets] - block[self.edges.sources])


KINDS = tuple(ATTRIBUTES)
ALL = 32  # layouts from which all paths are looked for once one is: little more than one takes
TIMED = 16  # lengths of collectives for which paths are remembered: those of several plans on two machines
COPY, PARTIAL = -2, -1  # where atoms are that are in no dimension


class Ways:
    """The graph of all collectives between layouts. Lengths are parts of the tensor, which has `whole`, and
    STEP for each collective that sends some.

    What is sent are whole parts, since a block of one of N devices is sent in N pieces at most. Bytes of the
    model tensor would be numbers that leave no digit for STEP.
    """

    def __init__(self, space: Space, found: list[AtomLayout]) -> None:
        self.space, self.found = space, found
        self.index = {layout: number for number, layout in enumerate(found)}
        self.whole = prod(space.sizes) ** 2
        self.masks = np.array([sum(1 << atom for atom in at.used()) for at in found], dtype=np.int64)
        self.partial = np.array([bool(at.partial) for at in found])
        self.paths = Paths(Orders(found, len(space.shape), space.sizes), self._lengths)
        self._timed: dict[bytes, Paths] = {}
        self._alike: dict[bytes, dict[int, Vector]] = {}

    @cached_property
    def collectives(self) -> Collectives:
        orders, index = self.paths.orders, self.index
        known: dict[SearchState, dict[AtomLayout, int]] = {}
        parts: list[tuple[Numbers, Numbers, Vector, Numbers]] = []
        for start in distinct(orders.first):
            bytes = self._from(start, known)
            sources = np.flatnonzero(orders.first == start)
            ends = np.array([index[layout] for layout, _ in bytes], np.int64)
            parts.append(
                (
                    np.repeat(sources, len(bytes)),
                    orders.before(orders.order[sources], ends).ravel(),
                    np.tile(np.array([*bytes.values()], np.float64), len(sources)),
                    np.tile([KINDS.index(kind) for _, kind in bytes], len(sources)),
                )
            )
        columns = [np.concatenate(each) for each in zip(*parts, strict=True)]
        order = np.argsort(columns[1], kind="stable")  # as shortest_paths has them
        sources, targets, each, kinds = (column[order] for column in columns)
        return Collectives(Edges(sources, targets, each), kinds)

    def _from(
        self, start: int, known: dict[SearchState, dict[AtomLayout, int]]
    ) -> dict[tuple[AtomLayout, str], int]:
        """The parts that those from one layout send. `known` has what those that are under way end in."""
        bytes: dict[tuple[AtomLayout, str], int] = {}
        for move in moves(self.space, SearchState(self.found[start])):
            if move.state not in known:
                known[move.state] = _ends(self.space, move.state)
            for layout, more in known[move.state].items():
                key = layout, move.kind
                bytes[key] = min(move.bytes + more, bytes.get(key, move.bytes + more))
        model = self.space.itemsize * prod(self.space.shape)
        return {key: each * self.whole // model for key, each in bytes.items()}

    @cached_property
    def _edges(self) -> Edges:
        made = self.collectives
        return replace(made.edges, lengths=made.edges.lengths + np.where(made.free, 0, STEP))

    def _lengths(self, starts: Numbers) -> Matrix:
        """The rows of some layouts.

        Idle axes help to end partial results only where that saves a quarter (planner.py).
        """
        everything = (1 << len(self.space.sizes)) - 1
        shared = self._shortest(starts, everything)
        pairs = self.masks[starts][:, None] | self.masks
        simple = shared.copy()
        for used in range(everything):
            some = self.partial[starts] & ((self.masks[starts] & ~used) == 0)
            if some.any():
                here = pairs[some] == used
                simple[some] = np.where(here, self._shortest(starts[some], used), simple[some])
        return np.where(4 * np.floor(shared) <= 3 * np.floor(simple), shared, simple)

    def _shortest(self, starts: Numbers, used: int) -> Matrix:
        """The shortest paths over no other atoms."""
        inside = (self.masks & ~used) == 0
        return self.shortest(self._edges, starts, inside[self._edges.sources] & inside[self._edges.targets])

    @cached_property
    def moving(self) -> tuple[Numbers, Numbers]:
        """The kinds of collectives that there are, each with the atoms that it moves, and which of them each
        collective is."""
        made, count = self.collectives, len(self.space.sizes)
        kinds, which = np.unique((made.kinds << count) + made.moved(self.found, count), return_inverse=True)
        return kinds, which

    @cached_property
    def grown(self) -> Vector:
        """By how much a block grows, in parts of the tensor, of which each device holds a part of the sum."""
        made = self.collectives
        return np.where(made.kinds == KINDS.index("sharded_to_unreduced"), made.grown(self), 0)

    @property
    def fewest(self) -> Paths:
        """The ways with the fewest collectives."""
        return self.timed(np.where(self.collectives.free, 0.0, 1.0))

    def alike(self, shape: tuple[int, ...], sources: Numbers, targets: Numbers) -> NDArray[np.bool_]:
        """Between which layouts of a tensor a shortest path leads on which all blocks have one size."""
        even = self._even(shape)
        if even.all():
            return np.ones((len(sources), len(targets)), np.bool_)
        rows = self._alike.setdefault(even.tobytes(), {})
        new = [start for start in distinct(sources) if start not in rows]
        if new:
            kept = even[self._edges.sources] & even[self._edges.targets]
            found = self.shortest(self._edges, np.array(new, np.int64), kept)
            rows.update(zip(new, found, strict=True))
        lengths = np.array([rows[start][targets] for start in sources.tolist()])
        return lengths <= self.paths.between(sources, targets)

    def _even(self, shape: tuple[int, ...]) -> NDArray[np.bool_]:
        """The layouts that divide a tensor evenly."""
        divided = np.array(shape)[:, None] % np.arange(1, prod(self.space.sizes) + 1) == 0
        return divided[np.arange(len(shape)), self._parts - 1].all(axis=1)

    @cached_property
    def _parts(self) -> Numbers:
        """Into how many parts each layout splits each dimension."""
        return np.array([[*map(self.space.parts, at.dims)] for at in self.found], np.int64)

    @cached_property
    def _dimensions(self) -> Orders:
        """The orders of dimensions; no atom is like another."""
        return Orders(self.found, len(self.space.shape), range(len(self.space.sizes)))

    def timed(self, lengths: Vector) -> Paths:
        """The shortest paths where collectives are so long; the same object for equal lengths."""
        key = sha256(lengths.tobytes()).digest()
        if key not in self._timed:
            edges = replace(self.collectives.edges, lengths=lengths)
            every = np.ones(len(lengths), dtype=np.bool_)
            self._timed[key] = Paths(self._dimensions, lambda starts: self.shortest(edges, starts, every))
            if len(self._timed) > TIMED:
                del self._timed[next(iter(self._timed))]
        return self._timed[key]

    def shortest(self, edges: Edges, starts: Numbers, kept: NDArray[np.bool_]) -> Matrix:
        """The shortest paths over the edges that are `kept`, with these lengths.

        Only to partial layouts results may be made partial.
        """
        count, unreduces = len(self.found), self.collectives.unreduces
        whole = shortest_paths(count, edges.only(kept & ~unreduces), starts)
        return np.where(self.partial, shortest_paths(count, edges.only(kept), starts, whole), whole)


def _ends(space: Space, state: SearchState) -> dict[AtomLayout, int]:
    """The layouts that a collective under way may end in, and the bytes that this adds."""
    ends: dict[AtomLayout, int] = {}
    after = [(state, 0)]
    while after:
        at, bytes = after.pop()
        if at.hand:
            after += [(move.state, bytes + move.bytes) for move in moves(space, at)]
        else:
            ends[at.layout] = min(bytes, ends.get(at.layout, bytes))
    return ends
