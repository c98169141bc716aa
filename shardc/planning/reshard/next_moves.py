"""What may come next, remembered: a search meets the layouts of others that start or end elsewhere.

Moves depend on the tensor, on the atoms' sizes, on the atoms over which the goal is partial, and on which of
them are alike (Space.kinds), not on the rest of start and goal. Each state is one Place in all spaces that
have the same moves, so a search tells them apart without comparing them.
"""

from __future__ import annotations

from shardc.planning.reshard.moves import Move, SearchState, moves
from shardc.planning.reshard.space import AtomLayout, Atoms, Space

STATES = 1 << 15  # that are kept before they are forgotten: some 60 MB


class Place:
    """A state in all spaces that have the same moves. `next` are the moves from it with where they lead, None
    as long as nobody asked."""

    __slots__ = ("next", "state")

    def __init__(self, state: SearchState) -> None:
        self.state = state
        self.next: tuple[Step, ...] | None = None


Step = tuple[Move, Place]
"""A move, and where it leads."""


class NextMoves:
    """The moves in all spaces that have the same ones."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.places: dict[SearchState, Place] = {}

    def place(self, state: SearchState) -> Place:
        """Where a state is."""
        found = self.places.get(state)
        if found is None:
            found = self.places[state] = Place(state)
        return found

    def after(self, place: Place) -> tuple[Step, ...]:
        """Everything that may come next, and where it leads."""
        if place.next is None:
            place.next = tuple((move, self.place(move.state)) for move in moves(self.space, place.state))
        return place.next


_Key = tuple[tuple[int, ...], int, tuple[int, ...], Atoms, Atoms]

_KNOWN: dict[_Key, NextMoves] = {}


def next_moves(space: Space) -> NextMoves:
    """The moves in a space: atoms of one size are alike but for those in dimensions of the goal."""
    groups: dict[tuple[int, bool], list[int]] = {}
    for atom, size in enumerate(space.sizes):
        groups.setdefault((size, atom in space.goal.partial), []).append(atom)
    placed = {atom for atoms in space.goal.dims for atom in atoms}
    apart = tuple(a for atoms in groups.values() if len(atoms) > 1 for a in atoms if a in placed)
    shape, partial = space.shape, space.goal.partial
    key = shape, space.itemsize, space.sizes, apart, partial
    if key not in _KNOWN:
        if sum(len(known.places) for known in _KNOWN.values()) > STATES:
            _KNOWN.clear()
        whole = AtomLayout(((),) * len(shape))
        goal = AtomLayout((apart, *whole.dims[1:]) if shape else (), partial)
        _KNOWN[key] = NextMoves(Space(shape, space.itemsize, space.sizes, whole, goal))
    return _KNOWN[key]
