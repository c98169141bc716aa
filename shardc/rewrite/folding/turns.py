"""What an operation of a layer reads, beside what the same operation of the next layer does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from xdsl.ir import Operation, OpResult, SSAValue

from shardc.rewrite.folding.given import Given

Reading = tuple[int, ...]
"""What the same operation of the next layer reads: the same, or a constant that is equal; an argument of its
own; a number of its own, also an equal one; what the same operation makes, by stretch, step, result and the
turns in between."""

Pairs = list[Reading | None]
"""How an operand of each turn differs from that of the next; None: in no way known."""

SAME: Reading = (0,)
ARGUMENT: Reading = (1,)
MOVES: Reading = (2,)
NUMBER: Reading = (3,)
JUMPS: Reading = (4,)
"""What the same operation makes in another turn, but no neighbour's."""

_APART = (None, JUMPS)
"""Between these turns no layers follow each other."""


def turn_by_turn(
    row: Sequence[SSAValue], at: Mapping[Operation, tuple[int, int, int]], given: Given
) -> Pairs:
    """How what an operation reads in each turn differs from what it reads in the next.

    at: stretch, step and turn of the operations of all stretches.
    """
    places = [
        (*at[value.op], value.index) if isinstance(value, OpResult) and value.op in at else None
        for value in row
    ]
    found = Pairs()
    for (one, next), (place, other) in zip(pairwise(row), pairwise(places), strict=True):
        if one is next:
            found.append(SAME)
        elif place is None:
            kind = given.of(one)
            alike = ARGUMENT if kind is not None and kind.of_arguments else SAME
            found.append(None if kind is None or kind != given.of(next) else alike)
        elif other is None:
            found.append(None)
        else:
            stretch, step, turn, index = place
            turns = other[2] - turn
            same = (stretch, step, index) == (other[0], other[1], other[3])
            found.append(((stretch, step, index, turns) if abs(turns) == 1 else JUMPS) if same else None)
    return found


def jumping(rows: Iterable[Pairs]) -> set[int]:
    """The pairs of neighbouring turns of which something reads turns that are no neighbours."""
    return {pair for row in rows if JUMPS in row for pair, reading in enumerate(row) if reading == JUMPS}


def alike(rows: Iterable[Pairs], turns: int) -> list[range]:
    """The turns in a row between which no row changes or has None, as long as can be: two neighbours may have
    a turn in common."""
    apart, changes = set[int](), set[int]()
    for row in rows:
        if row and (row[0] in _APART or row.count(row[0]) < len(row)):
            apart.update(pair for pair, reading in enumerate(row) if reading in _APART)
            changes.update(pair + 1 for pair, (one, next) in enumerate(pairwise(row)) if one != next)
    found, first = list[range](), 0
    for pair in range(turns - 1):
        if pair in apart or pair in changes:
            found.append(range(first, pair + 1))
            first = pair + (pair in apart)
    return [*found, range(first, turns)]
