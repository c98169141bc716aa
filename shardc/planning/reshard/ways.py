"""All collectives between layouts of tensors of one rank, and the shortest paths over them (paths.py).

Collectives that have several steps in a search (moves.py) are one edge each here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from hashlib import sha256
from math import prod
from typing import TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from shardc.layout.distinct import distinct
from shardc.planning.reshard.collectives import KINDS, Collectives, places
from shardc.planning.reshard.moves import SearchState, ends, moves
from shardc.planning.reshard.orders import Numbers, Orders
from shardc.planning.reshard.paths import Either, Paths
from shardc.planning.reshard.space import AtomLayout, Atoms, Space
from shardc.planning.solvers import Edges, Matrix, Vector, shortest_paths

K = TypeVar("K")
V = TypeVar("V")

STEP = 1 / 1024  # what a collective counts, in parts of the model tensor: it decides between equals


TIMED = 64  # paths that are remembered for lengths of collectives: those of several plans on two machines


class _Folded(Struct, frozen=True):
    """The graph of some layouts that stand for all: these, the number among them of what stands for each
    layout, and which of the collectives lead from one of them, as edges."""

    nodes: Numbers
    number: Numbers
    kept: Numbers
    edges: Edges


class Ways:
    """The graph of all collectives between layouts. Lengths are parts of the tensor, which has `whole`, and
    STEP for each collective that sends some. `parts` has the graphs of some atoms alone, by their sizes.

    What is sent are whole parts, since a block of one of N devices is sent in N pieces at most. Bytes of the
    model tensor would be numbers that leave no digit for STEP.
    """

    def __init__(self, space: Space, found: list[AtomLayout], parts: Callable[[Sequence[int]], Ways]) -> None:
        self.space, self.found, self.parts = space, found, parts
        self.index = {layout: number for number, layout in enumerate(found)}
        self.whole = prod(space.sizes) ** 2
        self.masks = np.array([sum(1 << atom for atom in at.used()) for at in found], dtype=np.int64)
        self.partial = np.array([bool(at.partial) for at in found])
        orders = Orders(found, len(space.shape), space.sizes)
        self.paths = Paths(orders, self._lengths)
        self._timed: dict[bytes, Either] = {}
        self._whole: dict[tuple[bytes, bool], Paths] = {}
        self._alike: dict[bytes, dict[int, Vector]] = {}
        self._evenly: dict[tuple[int, ...], NDArray[np.bool_]] = {}
        self._parted: dict[int, _Folded] = {}
        self._unsteady: dict[bool, list[Numbers]] = {}

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
                    np.tile(np.array([KINDS.index(kind) for _, kind in bytes], np.int64), len(sources)),
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
                known[move.state] = ends(self.space, move.state)
            for layout, more in known[move.state].items():
                key = layout, move.kind
                bytes[key] = min(move.bytes + more, bytes.get(key, move.bytes + more))
        model = self.space.itemsize * prod(self.space.shape)
        return {key: each * self.whole // model for key, each in bytes.items()}

    @cached_property
    def _steps(self) -> Vector:
        """What is sent, and STEP for each collective that sends some."""
        made = self.collectives
        return made.edges.lengths + np.where(made.free, 0, STEP)

    def _lengths(self, starts: Numbers) -> Matrix:
        """The rows of some layouts.

        Idle axes help to end partial results only where that saves a quarter (planner.py).
        """
        shared = self.shared.between(starts, np.arange(len(self.found)))
        simple = shared.copy()
        for used in range((1 << len(self.space.sizes)) - 1):
            here = np.flatnonzero(self.partial[starts] & ((self.masks[starts] & ~used) == 0))
            if len(here):
                part, numbers = self._part(used)
                begin = np.argsort(numbers)[np.searchsorted(np.sort(numbers), starts[here])]
                found = self._scaled(part.shared.between(begin, np.arange(len(numbers))), part)
                inside = np.ix_(here, numbers)
                whole = (self.masks[starts[here]][:, None] | self.masks[numbers]) == used
                simple[inside] = np.where(whole, found, simple[inside])
        return np.where(4 * np.floor(shared) <= 3 * np.floor(simple), shared, simple)

    def _part(self, used: int) -> tuple[Ways, Numbers]:
        """The graph of some of the atoms, and the number that each of its layouts has here."""
        atoms = [atom for atom in range(len(self.space.sizes)) if used >> atom & 1]
        part = self.parts([self.space.sizes[atom] for atom in atoms])

        def here(found: Sequence[int]) -> tuple[int, ...]:
            return tuple([atoms[atom] for atom in found])

        same = [AtomLayout(tuple(map(here, at.dims)), here(at.partial)) for at in part.found]
        return part, np.array([self.index[layout] for layout in same], np.int64)

    def _scaled(self, lengths: Matrix, part: Ways) -> Matrix:
        """Lengths in the graph of some of the atoms as lengths here: the tensor has more parts."""
        moved = np.floor(lengths)
        steps = np.where(np.isfinite(lengths), lengths - np.where(np.isfinite(moved), moved, 0), 0)
        return moved * (self.whole // part.whole) + steps

    def times(self, each: Sequence[tuple[float, float, float]]) -> Matrix:
        """Of every collective what is said of its kind and the atoms that it moves (moving)."""
        return np.array(each).reshape(-1, 3)[self._moving[1]]

    @property
    def moving(self) -> list[tuple[str, Atoms]]:
        """The kinds of collectives that there are, each with the atoms that it moves."""
        return self._moving[0]

    @cached_property
    def _moving(self) -> tuple[list[tuple[str, Atoms]], Numbers]:
        """These, and which of them each collective is."""
        made, count = self.collectives, len(self.space.sizes)
        kinds, which = np.unique((made.kinds << count) + made.moved(self._where), return_inverse=True)
        numbers: list[int] = kinds.tolist()
        atoms = [tuple(atom for atom in range(count) if kind >> atom & 1) for kind in numbers]
        return [(KINDS[kind >> count], moved) for kind, moved in zip(numbers, atoms, strict=True)], which

    @cached_property
    def permutes(self) -> dict[Atoms, Numbers]:
        """The permutes, by the atoms along which they send blocks."""
        return self.collectives.permuted(self.found, self.space.sizes)

    def unsteady(self, runs: bool) -> list[Numbers]:
        """The collectives whose time is no linear function of their bytes, by number, together those that
        take as long as each other. runs: whether atoms stand for several axes each."""
        if runs not in self._unsteady:
            several = 1 if runs else 2
            self._unsteady[runs] = self.collectives.unsteady(self._where, self._parts, several)
        return self._unsteady[runs]

    @cached_property
    def grown(self) -> Vector:
        """By how much a block grows, in parts of the tensor, of which each device holds a part of the sum."""
        made = self.collectives
        blocks = 1 / self._parts.prod(axis=1)
        return np.where(made.kinds == KINDS.index("sharded_to_unreduced"), made.grown(blocks), 0)

    @cached_property
    def fewest(self) -> Paths:
        """The ways with the fewest collectives."""
        return self.timed(np.where(self.collectives.free, 0.0, 1.0))

    def alike(self, shape: tuple[int, ...], sources: Numbers, targets: Numbers) -> NDArray[np.bool_]:
        """Whether from each of some layouts of a tensor a shortest path leads to one of others on which all
        blocks have one size, and no results are made partial."""
        even = self.evenly(shape)
        rows = self._alike.setdefault(even.tobytes(), {})
        starts, which = np.unique(sources, return_inverse=True)
        begun: list[int] = starts.tolist()
        new = [start for start in begun if start not in rows]
        if new:
            edges, other = replace(self.collectives.edges, lengths=self._steps), self.collectives.unreduces
            kept = edges.only(even[edges.sources] & even[edges.targets] & ~other)
            rows.update(zip(new, shortest_paths(len(even), kept, np.array(new, np.int64)), strict=True))
        lengths = np.array([rows[start] for start in begun])[which, targets]
        return lengths <= self.paths.pairs(sources, targets)

    def is_even(self, shape: tuple[int, ...]) -> bool:
        """Whether all layouts divide a tensor evenly."""
        return bool(self.evenly(shape).all())

    def evenly(self, shape: tuple[int, ...]) -> NDArray[np.bool_]:
        """The layouts that divide a tensor evenly."""
        if shape not in self._evenly:
            divided = np.array(shape)[:, None] % np.arange(1, prod(self.space.sizes) + 1) == 0
            self._evenly[shape] = divided[np.arange(len(shape)), self._parts - 1].all(axis=1)
        return self._evenly[shape]

    def blocks(self, layout: int) -> int:
        """Into how many parts a layout splits a tensor, by its number."""
        return int(self._parts[layout].prod())

    @cached_property
    def _where(self) -> Numbers:
        """Where each layout has its atoms."""
        return places(self.found, len(self.space.sizes))

    @cached_property
    def _parts(self) -> Numbers:
        """Into how many parts each layout splits each dimension."""
        return np.array([[*map(self.space.parts, at.dims)] for at in self.found], np.int64)

    @cached_property
    def _dimensions(self) -> Orders:
        """The orders of dimensions; no atom is like another."""
        return Orders(self.found, len(self.space.shape), range(len(self.space.sizes)))

    @cached_property
    def shared(self) -> Paths:
        """The shortest paths over all atoms."""
        return self._either(self._steps, self.paths.orders)

    def timed(self, lengths: Vector) -> Either:
        """The shortest paths where collectives are so long, which do not depend on the order of dimensions.
        The same object for equal lengths.
        """
        return _kept(self._timed, _digest(lengths), lambda: self._either(lengths, self._dimensions))

    def _either(self, lengths: Vector, orders: Orders) -> Either:
        """The shortest paths. Only to partial layouts results may be made partial."""
        whole = np.where(self.collectives.unreduces, np.inf, lengths)
        key = _digest(whole), orders is self._dimensions
        kept = _kept(self._whole, key, lambda: Paths(orders, partial(self._search, whole)))
        return Either(kept, Paths(orders, partial(self._search, lengths)), self.partial)

    def _search(self, lengths: Vector, starts: Numbers) -> Matrix:
        """The shortest paths from some layouts (rows) to all, where collectives are so long in whatever order
        dimensions are.

        Layouts that differ in the order of dimensions which a start does not split are equally far from it:
        one of them is looked at.
        """
        found, dimensions = np.empty((len(starts), len(self.found))), self._dimensions
        begun: list[int] = starts.tolist()
        splits = np.array([dimensions.split(start) for start in begun], np.int64)
        for split in distinct(splits):
            rows, part = np.flatnonzero(splits == split), self._folded(split)
            edges = replace(part.edges, lengths=lengths[part.kept])
            found[rows] = shortest_paths(len(part.nodes), edges, part.number[starts[rows]])[:, part.number]
        return found

    def _folded(self, split: int) -> _Folded:
        """The graph of layouts that stand for all in any order of the dimensions after the first `split`."""
        if split not in self._parted:
            first, edges = self._dimensions.alike(split), self.collectives.edges
            nodes = np.flatnonzero(first == np.arange(len(first)))
            number = np.searchsorted(nodes, first)
            kept = np.flatnonzero(first[edges.sources] == edges.sources)
            kept = kept[np.argsort(number[edges.targets[kept]], kind="stable")]
            some = Edges(number[edges.sources[kept]], number[edges.targets[kept]], edges.lengths[kept])
            self._parted[split] = _Folded(nodes, number, kept, some)
        return self._parted[split]


def _kept(known: dict[K, V], key: K, make: Callable[[], V]) -> V:
    """What was made for a key, if that is not long ago."""
    if key not in known:
        known[key] = make()
        if len(known) > TIMED:
            del known[next(iter(known))]
    return known[key]


def _digest(lengths: Vector) -> bytes:
    return sha256(lengths.tobytes()).digest()
