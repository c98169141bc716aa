"""Which operations of a block are of one kind, found once for all that look for layers in it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import cast

from xdsl.ir import Operation

from shardc.ops.elementwise.kinds import kind as function
from shardc.rewrite.alike import Alike


class Kinds:
    """Numbers of operations, equal for those that do the same to values of the same types."""

    def __init__(self) -> None:
        self.alike = Alike(ignored=lambda name: name.startswith("shardc."))
        self.numbers: dict[Hashable, int] = {}
        self.known: dict[Operation, int] = {}

    def __call__(self, op: Operation) -> int:
        """The number of an operation."""
        known = self.known.get(op)
        if known is None:
            known = self.numbers.setdefault(self.alike.kind(op), len(self.numbers))
            self.known[op] = known
        return known

    def forget(self, op: Operation) -> None:
        """Say that an operation reads values of other types now."""
        self.known.pop(op, None)

    def but_for_functions(self) -> list[int]:
        """By its number the number of the first kind of operations that differs in its function at most."""
        first, like = dict[Hashable, int](), list[int]()
        for key, number in self.numbers.items():
            name, *rest = cast("tuple[Hashable, ...]", key)
            of_kind = function(name) if isinstance(name, str) else None
            like.append(number if of_kind is None else first.setdefault((of_kind, *rest), number))
        return like
