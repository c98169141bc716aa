"""What may come next, remembered: a search meets the layouts of others that start or end elsewhere.

Moves depend on the tensor, on the atoms' sizes, on the atoms over which the goal is partial, and on which of
them are alike (Space.kinds), not on the rest of start and goal.
"""

from __future__ import annotations

from functools import lru_cache

from shardc.planning.reshard.moves import Move, SearchState, moves
from shardc.planning.reshard.space import AtomLayout, Atoms, Space

STATES = 1 << 15  # whose moves are kept: some 60 MB


class NextMoves:
    """The moves in all spaces that have the same ones."""

    def __init__(self, space: Space) -> None:
        self.space = space

    def __call__(self, state: SearchState) -> tuple[Move, ...]:
        """Everything that may come next."""
        return _after(self, state)


@lru_cache(maxsize=STATES)
def _after(here: NextMoves, state: SearchState) -> tuple[Move, ...]:
    return tuple(moves(here.space, state))


def next_moves(space: Space) -> NextMoves:
    """The moves in a space."""
    groups: dict[tuple[int, bool], list[int]] = {}
    for atom, size in enumerate(space.sizes):
        groups.setdefault((size, atom in space.goal.partial), []).append(atom)
    placed = {atom for atoms in space.goal.dims for atom in atoms}
    apart = tuple(a for atoms in groups.values() if len(atoms) > 1 for a in atoms if a in placed)
    return _known(space.shape, space.itemsize, space.sizes, apart, space.goal.partial)


@lru_cache(maxsize=1024)
def _known(
    shape: tuple[int, ...], itemsize: int, sizes: tuple[int, ...], apart: Atoms, partial: Atoms
) -> NextMoves:
    """Those in a space where atoms of one size are alike but for those that are `apart`."""
    whole = AtomLayout(((),) * len(shape))
    goal = AtomLayout((apart, *whole.dims[1:]) if shape else (), partial)
    return NextMoves(Space(shape, itemsize, sizes, whole, goal))
