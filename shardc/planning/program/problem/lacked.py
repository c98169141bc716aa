"""The rows that integer programs of a problem lacked, for the programs that are solved after them.

Whether copies of a value lead to all its users is said by rows, each of which is of a set of layouts, and
only those are had that some solution violates (integer/cuts.py). Layouts are numbers there. So a row says
something of any value that is given, and needed by its users, in places of the same numbers, and where one
value lacked it the others mostly would: those of other layers, and the same one once an axis gets its next
turn or prices have changed. A program that has it from the start is solved in fewer rounds.
"""

from __future__ import annotations

from typing import Any

Cut = tuple[frozenset[int], int]
"""Some layouts, by number, and a user, by number."""

Places = tuple[int, tuple[int, ...], tuple[tuple[int, ...], ...]]
"""How many layouts a value may be in, and by number those in which it may be given and those in which each of
its users may need it."""

Lacked = dict[Places, dict[Cut, None]]
"""By places the cuts, in the order in which they were found."""


def note(lacked: Lacked, places: Places, cut: Cut) -> None:
    """Have one more."""
    lacked.setdefault(places, {})[cut] = None


def as_lists(lacked: Lacked) -> list[Any]:
    """What JSON can hold."""
    return [[*places, [[sorted(inside), user] for inside, user in cuts]] for places, cuts in lacked.items()]


def from_lists(lists: list[Any]) -> Lacked:
    """What `as_lists` made lists of."""
    return {
        (size, tuple(given), tuple(map(tuple, needs))): {
            (frozenset(inside), user): None for inside, user in cuts
        }
        for size, given, needs, cuts in lists
    }
