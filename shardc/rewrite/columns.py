"""The columns of a program's places, which move when a number or a name before them has more letters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct, structs
from xdsl.ir import Attribute, Operation

from shardc.diagnostics import Location
from shardc.dialects.locations import location_of

Where = Callable[[Location], Location]
"""Says where something is in other words."""


class Columns(Struct):
    """The columns of each line that are named, in order."""

    of_line: Mapping[tuple[str | None, int], list[int]]

    @staticmethod
    def of(ops: Iterable[Operation]) -> Columns:
        """Those of operations and of the arguments of their bodies."""
        attrs = dict[int, Attribute]()
        for op in ops:
            attrs[id(op.location)] = op.location
            blocks = [block for region in op.regions for block in region.blocks]
            attrs.update((id(arg.location), arg.location) for block in blocks for arg in block.args)
        found = dict[tuple[str | None, int], set[int]]()
        for loc in map(location_of, attrs.values()):
            found.setdefault((loc.file, loc.line), set()).add(loc.col)
        return Columns({line: sorted(columns) for line, columns in found.items()})

    def rank(self, loc: Location) -> Location:
        """The place, with the rank of its column in place of that. LookupError if the program has it not."""
        if not loc.file:
            return loc
        try:
            rank = self.of_line[loc.file, loc.line].index(loc.col)
        except ValueError:
            raise LookupError from None
        return structs.replace(loc, col=rank)

    def place(self, loc: Location) -> Location:
        """The place with this rank of a column."""
        return structs.replace(loc, col=self.of_line[loc.file, loc.line][loc.col]) if loc.file else loc

    def moved(self, then: Columns) -> Where | None:
        """Says of a place of a program that had other columns then where it is now; None if all are where
        they were."""
        if then.of_line == self.of_line:
            return None
        return lambda loc: self.place(then.rank(loc))
