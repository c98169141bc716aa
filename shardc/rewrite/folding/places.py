"""Where the operations of a folded program stand: notes that they carry from fold-layers to unfold-layers.

shardc.layer = array<i64: 0, 0, 12, 3>    stack, stretch, step, layer of an operation, or of what a call runs
shardc.layer = array<i64: 0, -1, 4, 3>    a constant of which each layer has its own, its number, layer
shardc.layer = array<i64: -1, -1, 7, 0>   a constant of no layer, its number
shardc.times = 121                        an operation that stands for so many

Stacks are numbered in the order in which layers were taken out of them. Where all that is looked at is one
stack, a slot is without its number.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from xdsl.ir import Attribute, Operation

from shardc.dialects.attribute_kinds import integers
from shardc.dialects.convert import python_of
from shardc.dialects.once import Once
from shardc.graph.marks import LAYER

FOLDED = "shardc.folded"
"""What the module says of the layers that it lacks, stack by stack (notes.py)."""


OWN = "shardc.own"
"""On an operation of a function that is made of layers: the slots of those that it was made of."""

TOLD_APART = "shardc.told_apart"
"""On a folded module: passes made one of what two constants give that are equal in all layers."""

FUNCTIONS_TOLD_APART = "shardc.functions_told_apart"
"""On a folded module: passes made one of what two functions give of which a layer may have another."""

NOTED = (FOLDED, TOLD_APART, FUNCTIONS_TOLD_APART)
"""What is only said of folded modules."""

ALONE = -1
"""The stack of constants that are of no layer, whose step is their number."""

Slot = tuple[int, ...]
"""Number of the stretch and the step in it; of an argument those of its first reader, and which operand.
Before them the number of the stack, unless that is known."""

Place = tuple[Slot, int]
"""Slot and layer."""


def note_places(op: Operation, places: Iterable[Place]) -> None:
    """Say of an operation where it stands, or of a call where those of its function do."""
    numbers = tuple(number for slot, layer in places for number in (*slot, layer))
    op.attributes[LAYER] = integers(numbers)


def places_of(op: Operation) -> tuple[Place, ...]:
    """Where the operations stand that this one is or calls."""
    attr = op.attributes.get(LAYER)
    return () if attr is None else _said(attr)


def _read(attr: Attribute) -> tuple[Place, ...]:
    numbers = cast("tuple[int, ...]", python_of(attr))
    places = zip(*(numbers[start::4] for start in range(4)), strict=True)
    return tuple([((stack, stretch, step), layer) for stack, stretch, step, layer in places])


_said = Once(_read)
"""The places that a note says, found once for each."""


def own_slots(op: Operation) -> tuple[Slot, ...]:
    """The slot in which an operation stands; of one of a function those of what it was made of."""
    attr = op.attributes.get(OWN)
    if attr is not None:
        return _slots(attr)
    places = places_of(op)
    return (places[0][0],) if len(places) == 1 else ()


def note_slots(op: Operation, slots: Iterable[Slot]) -> None:
    """Say of an operation of a function what it was made of."""
    op.attributes[OWN] = integers(tuple([number for slot in slots for number in slot]))


def _read_slots(attr: Attribute) -> tuple[Slot, ...]:
    numbers = cast("tuple[int, ...]", python_of(attr))
    return tuple(zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True))


_slots = Once(_read_slots)


def in_stack(places: Iterable[Place], stack: int) -> list[Place]:
    """Those of some places that are in one stack, without its number."""
    return [(slot[1:], layer) for slot, layer in places if slot[0] == stack]
