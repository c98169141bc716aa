"""Which ways there are to run operations on a mesh: what one plan found out, for the next one.

A program is planned several times on machines with latency (report/combined.py), by other prices. What may be
chosen does not depend on prices: equal operations of all these plans have the same choices, as the same
objects. Nothing here depends on the order in which somebody asked.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from shardc.forms.choice import Choice, Ways, ways_of
from shardc.graph import Op
from shardc.layout import Axis, Mesh
from shardc.ops.rule import FactorRule

KEPT = 40_000
"""Choices and questions that are kept from one program to the next; beyond, all are forgotten."""

Wish = tuple[int, Axis]
"""A factor, and an axis that should split it."""

AtomPlace = int | None | str
"""A factor that an atom splits, None where it holds copies, or "flow" where partial results flow through."""

Run = tuple[Axis, ...]
"""Axes that split a factor, major to minor."""

Order = tuple[int, Run]
"""A factor, and atoms that stand in this order wherever it has them."""


class Held(NamedTuple):
    """For each atom where it is now and has to stay, None for one that may go anywhere; and the orders of
    those that stay."""

    places: tuple[tuple[AtomPlace, ...] | None, ...]
    orders: tuple[Order, ...]


class Menu(Struct, eq=False):
    """Answers, by question: operations are numbered, and equal ones, with equal rules, have equal numbers."""

    signatures: dict[object, int] = {}
    ways: dict[int, Ways] = {}
    wishes: dict[object, tuple[Wish, ...]] = {}
    built: dict[object, Choice | None] = {}
    listed: dict[object, list[Choice]] = {}
    held: dict[object, Held] = {}
    splits: dict[object, frozenset[Wish]] = {}
    asked: dict[object, list[Choice]] = {}

    def signature(self, op: Op, rule: FactorRule, mesh: Mesh) -> int:
        """The number of an operation."""
        number = self.signatures.setdefault((op.key(), rule), len(self.signatures))
        if number not in self.ways:
            self.ways[number] = ways_of(op, rule, mesh)
        return number

    @property
    def size(self) -> int:
        """How much is known."""
        lists = sum(map(len, self.listed.values()))
        known = len(self.wishes) + len(self.built) + len(self.held)
        return known + lists + sum(ways.size for ways in self.ways.values())


_MENUS: dict[Mesh, Menu] = {}


def menu_of(mesh: Mesh) -> Menu:
    """What the last program on a mesh found out, if programs before it were on the same mesh and few."""
    menu = _MENUS.get(mesh)
    if menu is None or menu.size > KEPT:
        _MENUS.clear()
        menu = _MENUS[mesh] = Menu()
    return menu
