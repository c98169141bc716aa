"""What values are made of, where that is arguments and constants alone.

Weights that are cast before the first layer reads them, or a tensor filled with a number: operations that no
layer makes, but of which each layer may have its own.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable

from msgspec import Struct
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from shardc.ops import hlo
from shardc.rewrite.alike import Alike
from shardc.rewrite.folding.notes import item, shardings
from shardc.rewrite.folding.reads import reads
from shardc.rewrite.outline import has_effect


class Kind(Struct, frozen=True):
    """Equal for values that are made alike; whether any argument goes into them."""

    number: int
    of_arguments: bool


class Given:
    """The kinds of values that operations outside of layers make of arguments and constants.

    kind: equal for operations that do the same to values of the same types. asked: the operations whose kinds
    were asked for, here or in what these were given to before; nothing depends on those of others.
    """

    def __init__(
        self,
        ops: Iterable[Operation],
        alike: Alike,
        layered: Container[Operation],
        kind: Callable[[Operation], Hashable] | None = None,
        asked: set[Operation] | None = None,
    ) -> None:
        self.alike, kind = alike, kind or alike.kind
        self.asked = set[Operation]() if asked is None else asked
        self.kinds: dict[Operation, Kind] = {}
        self.arguments: dict[BlockArgument, Kind] = {}
        numbers: dict[Hashable, int] = {}
        for op in ops:
            parts = None if op in layered else self._parts(op)
            if parts is None or op.name == hlo.rng.name or has_effect(op):
                continue
            key = kind(op), *parts
            self.kinds[op] = Kind(numbers.setdefault(key, len(numbers)), any(p.of_arguments for p in parts))

    def _parts(self, op: Operation) -> list[Kind] | None:
        """The kinds of what an operation reads; None where one has none."""
        parts: list[Kind] = []
        for value in reads(op):
            part = self.of(value)
            if part is None:
                return None
            parts.append(part)
        return parts

    def of(self, value: SSAValue) -> Kind | None:
        """The kind of a value: of an argument by its type and annotations, of a result by its operation and
        number. None of others."""
        if isinstance(value, OpResult):
            self.asked.add(value.op)
            kind = self.kinds.get(value.op)
            return kind if kind is None or not value.index else None
        assert isinstance(value, BlockArgument)
        if value not in self.arguments:
            number = self.alike.number(ArrayAttr([value.type, _annotations(value)]))
            self.arguments[value] = Kind(-1 - number, True)
        return self.arguments[value]

    def has(self, value: SSAValue) -> bool:
        """Whether the operation that makes a value has a kind, whichever that is."""
        return isinstance(value, OpResult) and value.op in self.kinds

    def constant(self, value: SSAValue) -> int | None:
        """A number for a value that no argument goes into."""
        kind = self.of(value)
        return None if kind is None or kind.of_arguments else kind.number


def _annotations(argument: BlockArgument) -> DictionaryAttr:
    """How a function's argument is annotated."""
    function = argument.block.parent_op()
    held = function.properties.get("arg_attrs") if isinstance(function, FuncOp) else None
    return DictionaryAttr(shardings(item(held, argument.index)))
