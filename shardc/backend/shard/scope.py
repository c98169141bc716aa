"""One scope of a .shard program while it is written, and what all scopes share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import cast

from msgspec import field

from shardc.backend.python.emission import Emission
from shardc.backend.python.expressions import Expr, call
from shardc.backend.python.names import Names, identifier
from shardc.backend.python.scope import Scope
from shardc.backend.shard.text import filled, sizes
from shardc.backend.shard.vocabulary import VOCABULARY
from shardc.graph import DTYPES

PLACE = "<name>"
"""Stands for the name of a function while it is written; no program contains it."""


class ShardEmission(Emission, dict=True):
    """One emission.

    `helpers` are the functions that regions became, by their text without the name; `declared` are the types
    of values that are declared partial; `communicating` are the functions of the program that are per-device
    code.
    """

    helpers: dict[str, str] = field(default_factory=dict[str, str])
    declared: Mapping[int, str] = {}
    communicating: frozenset[str] = frozenset()

    def names(self, pinned: Iterable[str] = ()) -> Names:
        """Names for the values of a scope: none that a function has."""
        return Names((*self.vocabulary, *self.functions.values(), *pinned))

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """What means something in every .shard program that is written here."""
        return VOCABULARY | DTYPES.keys()

    def helper(self, wish: str, write: Callable[[str], str]) -> str:
        """The name of the function that `write` writes under a name; equal functions are one."""
        text = write(PLACE)
        if text not in self.helpers:
            taken = {*self._source_names, *self.helpers.values(), *self.functions.values(), *self.vocabulary}
            name, number = wish, 1
            while name in taken:
                number += 1
                name = f"{wish}{number}"
            self.helpers[text] = name
        return self.helpers[text]

    @cached_property
    def _source_names(self) -> frozenset[str]:
        return frozenset(identifier(value.loc.name) or "" for value in self.graph.values)


class ShardScope(Scope):
    """A scope whose expressions give tensors of the right shape and dtype in the .shard language."""

    def expr(self, value: int) -> Expr:
        term, type = self.terms[value], self.type(value)
        if term.weak:
            return filled(term.expr, type)
        if term.shape != type.shape:
            return call("broadcast_to", term.expr, sizes(type.shape))
        return term.expr

    def declaration(self, value: int) -> str | None:
        return cast(ShardEmission, self.emission).declared.get(value)
