"""What is left at least of a way to the goal: bytes, collectives, and moves. No way from a layout is cheaper.

The bytes are the part of its target block that the worst-placed device does not hold yet; no move brings a
device more than its bytes. Where the goal is partial over some axes, the devices along these count as one.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

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
        self.entries: dict[tuple[int, Atoms, bool], _Entry] = {}

    def left(self, state: SearchState) -> Left:
        """What follows; what a collective under way still holds is taken to end up well."""
        layout = state.layout
        entries = [self._entry(d, atoms, layout.settled) for d, atoms in enumerate(layout.dims)]
        terms = self._terms(layout)
        wrong = sum(bool(entry.misplaced) for entry in entries)
        gathers = any(entry.gathered for entry in entries)
        collectives = (terms > 1) + (2 if gathers and wrong > 1 else min(wrong, 1))
        moves = collectives
        if self.space.even:  # one local step for each atom that holds copies and should not
            held = (*layout.partial, *(state.hand.atoms if state.hand else ()))
            placed = sum(entry.wanted for entry in entries) + sum(a in self.wanted for a in held)
            moves += len(self.wanted) - placed
        return Left(self._missing(layout, entries, terms), collectives, moves)

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

    def _terms(self, layout: AtomLayout) -> int:
        """How many partial values add up to one that the goal has, at least."""
        goal = self.space.goal.partial if layout.settled else ()
        return self.space.parts([a for a in layout.partial if a not in goal])

    def _missing(self, layout: AtomLayout, entries: list[_Entry], terms: int) -> int:
        """Bytes that some device must receive.

        To complete an element of a sum over n devices, n - 2 messages come before the first device has it,
        and one more for each device that needs it; a device receives its share of them all.
        """
        space, devices = self.space, prod(self.space.sizes)
        whole = space.itemsize * prod(space.shape)
        if not layout.settled:
            return whole * (terms - 1) // devices
        if not all(entry.even for entry in entries):
            return (self.target - space.itemsize * prod(entry.near for entry in entries)) // self.apart
        if terms > 1:
            return self.target // self.apart + whole * (terms - 2) // devices
        kept = prod(entry.kept for entry in entries)
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
