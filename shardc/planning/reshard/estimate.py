"""What is left at least of a way to the goal: bytes, collectives, and moves. No way from a layout is cheaper.

The bytes are the part of its target block that the worst-placed device does not hold yet; no move brings a
device more than its bytes. Where the goal is partial over some axes, the devices along these count as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shardc.planning.reshard.moves import Hand, SearchState
from shardc.planning.reshard.space import AtomLayout, Atoms, Space


class Left(NamedTuple):
    """Bytes per device, collectives, and collectives and local steps."""

    bytes: int
    collectives: int
    moves: int


class _Entry(NamedTuple):
    """One dimension under given atoms; `even` if they divide it.

    The worst-placed device holds 1/`kept` of what it shall hold, nothing if 0; the first device, whose blocks
    are never short, `near` elements. `misplaced` atoms must leave the dimension, and if `gathered` some of
    them end up nowhere; `wanted` of its atoms are somewhere in the goal.
    """

    even: bool
    kept: int
    near: int
    gathered: bool
    wanted: int
    misplaced: int


_Entries = dict[tuple[int, Atoms, bool], _Entry]
"""By dimension, the atoms in it, and whether partial results are of the goal's kind."""


@lru_cache(maxsize=4096)
def _entries(shape: tuple[int, ...], sizes: tuple[int, ...], goal: AtomLayout) -> _Entries:
    """Those that are known; they do not depend on where a way starts."""
    return {}


Numbered = tuple[list[Atoms], NDArray[np.int64]]
"""The distinct ones of some, and which of them each is."""


class Starts:
    """Layouts from which ways start, by what they have in each dimension and are partial over."""

    def __init__(self, layouts: Sequence[AtomLayout], rank: int) -> None:
        self.dims = [_numbered([layout.dims[dim] for layout in layouts]) for dim in range(rank)]
        self.partial = _numbered([layout.partial for layout in layouts])


def _numbered(atoms: Sequence[Atoms]) -> Numbered:
    numbers: dict[Atoms, int] = {}
    which = [numbers.setdefault(each, len(numbers)) for each in atoms]
    return list(numbers), np.array(which, np.int64)


class Estimate:
    """Lower bounds for the states of one space."""

    def __init__(self, space: Space) -> None:
        self.space = space
        goal = space.goal
        self.wanted = frozenset(a for atoms in (*goal.dims, goal.partial) for a in atoms)
        self.target = space.local(goal.dims)
        self.least = min(self.target, space.local(space.start.dims))
        self.apart = space.parts(goal.partial)
        self.home = {a: (d, atoms[:i]) for d, atoms in enumerate(goal.dims) for i, a in enumerate(atoms)}
        self.whole, self.devices = space.itemsize * prod(space.shape), prod(space.sizes)
        self.entries = _entries(space.shape, space.sizes, goal)

    def left(self, state: SearchState) -> Left:
        """What follows; what a collective under way still holds is taken to end up well."""
        (dims, partial, settled), hand = state
        known, wrong, placed = self.entries, 0, 0
        gathers, even, kept, near = False, True, 1, 1
        for dim, atoms in enumerate(dims):
            entry = known.get((dim, atoms, settled)) or self._entry(dim, atoms, settled)
            is_even, holds, close, gathered, wanted, misplaced = entry
            placed, kept, near = placed + wanted, kept * holds, near * close
            even = even and is_even
            if misplaced:
                wrong += 1
                gathers = gathers or gathered
        terms = self._terms(partial, settled) if partial else 1
        collectives = (terms > 1) + (2 if gathers and wrong > 1 else min(wrong, 1))
        moves = collectives
        if self.space.even:  # one local step for each atom that holds copies and should not
            held = partial + hand.atoms if hand else partial
            moves += len(self.wanted) - placed - (sum(a in self.wanted for a in held) if held else 0)
        return Left(self._missing(settled, terms, even, kept, near), collectives, moves)

    def left_of_all(self, starts: Starts) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """What left() says of layouts from which nothing is under way, where everything is even: bytes as a
        part of the tensor's, and collectives."""
        count = len(starts.partial[1])
        kept, terms = np.ones(count, np.int64), np.array([self._terms(atoms) for atoms in starts.partial[0]])
        wrong, gathers = np.zeros(count, np.int64), np.zeros(count, np.bool_)
        for dim, (distinct, which) in enumerate(starts.dims):
            entries = [self._entry(dim, atoms, True) for atoms in distinct]
            kept *= np.array([entry.kept for entry in entries])[which]
            wrong += np.array([entry.misplaced > 0 for entry in entries])[which]
            gathers |= np.array([entry.gathered for entry in entries])[which]
        summed = terms[starts.partial[1]]
        most = 1 + int(kept.max(initial=0))
        pairs, which = np.unique(summed * most + kept, return_inverse=True)
        ends = [divmod(pair, most) for pair in pairs.tolist()]
        missing = [self._missing(True, terms, True, holds, 1) / self.whole for terms, holds in ends]
        collectives = (summed > 1) + np.where(gathers & (wrong > 1), 2, np.minimum(wrong, 1))
        return np.array(missing, np.float64)[which.reshape(-1)], collectives.astype(np.int64)

    def misplaced(self, state: SearchState) -> int:
        """A block's bytes for each atom that splits a dimension where the goal has others, or soon will."""
        layout, hand = state
        count = sum(self._entry(d, atoms, layout.settled).misplaced for d, atoms in enumerate(layout.dims))
        if not hand or hand.kind == "all_slice":
            return count * min(self.least, self.space.local(layout.dims))
        count += sum(not self._fits(layout, hand, atom) for atom in hand.atoms)
        return count * min(self.least, hand.alive)

    def _fits(self, layout: AtomLayout, hand: Hand, atom: int) -> bool:
        """Whether an atom that is yet to be put down can go where the goal has it."""
        dim, before = self.home.get(atom, (-1, ()))
        if dim < hand.dim or layout.dims[dim] != tuple(a for a in before if a not in hand.atoms):
            return False
        if hand.kind == "collective_permute":
            return hand.dims[dim] % self.space.parts((*before, atom)) == 0
        return dim in hand.dims

    def _terms(self, partial: Atoms, settled: bool = True) -> int:
        """How many partial values add up to one that the goal has, at least."""
        goal = self.space.goal.partial if settled else ()
        return self.space.parts([a for a in partial if a not in goal])

    def _missing(self, settled: bool, terms: int, even: bool, kept: int, near: int) -> int:
        """Bytes that some device must receive, where it holds 1/`kept` of its block, or if the blocks are not
        `even` the first device `near` elements.

        To complete an element of a sum over n devices, n - 2 messages come before the first device has it,
        and one more for each device that needs it; a device receives its share of them all.
        """
        if not settled:
            return self.whole * (terms - 1) // self.devices
        if not even:
            return (self.target - self.space.itemsize * near) // self.apart
        if terms > 1:
            return self.target // self.apart + self.whole * (terms - 2) // self.devices
        return (self.target - (self.target // kept if kept else 0)) // self.apart

    def _entry(self, dim: int, now: Atoms, settled: bool) -> _Entry:
        key = (dim, now, settled)
        found = self.entries.get(key)
        if found is None:
            found = self.entries[key] = self._new_entry(dim, now, settled)
        return found

    def _new_entry(self, dim: int, now: Atoms, settled: bool) -> _Entry:
        space, size, then = self.space, self.space.shape[dim], self.space.goal.dims[dim]
        together = space.goal.partial if settled else ()
        even = size > 0 and size % space.parts(now) == 0 and size % space.parts(then) == 0
        block = space.block(dim, then)
        near = block if any(a in together for a in now) else min(space.block(dim, now), size, block)
        stays = 0
        while stays < len(now) and now[stays : stays + 1] == then[stays : stays + 1]:
            stays += 1
        leaves = list(now[stays:])
        while leaves and leaves[-1] in space.goal.partial:
            leaves.pop()
        gathered = any(a not in self.wanted for a in leaves)
        wanted = sum(a in self.wanted for a in now)
        kept = self._kept(now, then, together)
        return _Entry(even, kept, near, gathered, wanted, len(leaves))

    def _kept(self, now: Atoms, then: Atoms, together: Atoms) -> int:
        """1/k of the target block is here on the worst-placed device, in one dimension; 0 if nothing is."""
        sizes = self.space.sizes
        here = [a for a in now if sizes[a] > 1]
        there = [a for a in then if sizes[a] > 1]
        while here and there and here[0] == there[0]:
            del here[0], there[0]
        if any(a in together for a in here):
            return self.space.parts([a for a in here if a not in together and a not in there])
        return 0 if here and there else self.space.parts(here)
