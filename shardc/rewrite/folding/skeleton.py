"""What a program is but for its float constants and which of a kind its functions of elements are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from xdsl.ir import Operation

from shardc.graph import Dense
from shardc.ops import definitions
from shardc.ops.elementwise.kinds import kind
from shardc.rewrite.source_places import SourcePlaces


class FunctionNames:
    """Names of operations, one for all functions of elements of a kind."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}
        self.of_kind: dict[object, str] = {}
        for definition in definitions():
            found = kind(definition.name)
            if found is not None:
                self.known[definition.name] = self.of_kind.setdefault(found, definition.name)

    def stands_for(self, op: Operation) -> bool:
        """Whether an operation is of a kind."""
        return op.name in self.known


class Skeleton(Struct, frozen=True):
    """What a program is but for its numbers, functions and places, its operations that are numbers and
    functions, in order, and its places."""

    key: str
    numbers: Mapping[Operation, Dense]
    functions: Sequence[Operation]
    places: SourcePlaces
