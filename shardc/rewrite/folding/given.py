"""What values are made of, where that is arguments and constants alone.

Weights that are cast before the first layer reads them, or a tensor filled with a number: operations that no
layer makes, but of which each layer may have its own.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable

from msgspec import Struct
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from shardc.ops import hlo
from shardc.rewrite.alike import Alike
from shardc.rewrite.folding.reads import reads
from shardc.rewrite.outline import has_effect


class Kind(Struct, frozen=True):
    """Equal for values that are made alike; whether any argument goes into them."""

    number: int
    of_arguments: bool


class Given:
    """The kinds of values that operations outside of layers make of arguments and constants."""

    def __init__(self, ops: Iterable[Operation], alike: Alike, layered: Container[Operation]) -> None:
        self.alike = alike
        self.kinds: dict[Operation, Kind] = {}
        self.arguments: dict[int, Kind] = {}
        numbers: dict[Hashable, int] = {}
        for op in ops:
            if op in layered or op.name == hlo.rng.name or has_effect(op):
                continue
            parts = [self.of(value) for value in reads(op)]
            if all(part is not None for part in parts):
                key = alike.kind(op), tuple(parts)
                arguments = any(part is not None and part.of_arguments for part in parts)
                self.kinds[op] = Kind(numbers.setdefault(key, len(numbers)), arguments)

    def of(self, value: SSAValue) -> Kind | None:
        """The kind of a value: of an argument -1, of a result by its operation and number. None of others."""
        if isinstance(value, BlockArgument):
            number = self.alike.number(value.type)
            return self.arguments.get(number) or self.arguments.setdefault(number, Kind(-1 - number, True))
        assert isinstance(value, OpResult)
        kind = self.kinds.get(value.op)
        return kind if kind is None or not value.index else None

    def constant(self, value: SSAValue) -> int | None:
        """A number for a value that no argument goes into."""
        kind = self.of(value)
        return None if kind is None or kind.of_arguments else kind.number
