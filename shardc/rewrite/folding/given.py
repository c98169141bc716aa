"""What values are made of, where that is arguments and constants alone.

Weights that are cast before the first layer reads them, or a tensor filled with a number: operations that no
layer makes, but of which each layer may have its own.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable

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
    """The kinds of values that operations outside of layers make of arguments and constants, each found when
    it is asked for.

    kind: equal for operations that do the same to values of the same types. asked: the operations whose kinds
    were asked for, here or in what these were given to before; nothing depends on those of others.
    """

    def __init__(
        self,
        alike: Alike,
        layered: Container[Operation],
        kind: Callable[[Operation], Hashable] | None = None,
        asked: set[Operation] | None = None,
    ) -> None:
        self.alike, self.layered, self.kind = alike, layered, kind or alike.kind
        self.asked = set[Operation]() if asked is None else asked
        self.kinds: dict[Operation, Kind | None] = {}
        self.arguments: dict[BlockArgument, Kind] = {}
        self.numbers: dict[Hashable, int] = {}

    def of(self, value: SSAValue) -> Kind | None:
        """The kind of a value: of an argument by its type and annotations, of a result by its operation and
        number. None of others."""
        if isinstance(value, OpResult):
            op = value.op
            self.asked.add(op)
            kind = self.kinds[op] if op in self.kinds else self._found(op)
            return kind if kind is None or not value.index else None
        assert isinstance(value, BlockArgument)
        if value not in self.arguments:
            number = self.alike.number(ArrayAttr([value.type, _annotations(value)]))
            self.arguments[value] = Kind(-1 - number, True)
        return self.arguments[value]

    def _found(self, op: Operation) -> Kind | None:
        """The kind of what an operation makes, found after those of what it reads."""
        waiting = [op]
        while waiting:
            last = waiting.pop()
            made = None if last in self.layered or _differs(last) else self._made(last)
            if isinstance(made, Operation):
                waiting += (last, made)
            else:
                self.kinds[last] = made
        return self.kinds[op]

    def _made(self, op: Operation) -> Kind | Operation | None:
        """The kind of what an operation makes, or an operation of which it is to be found before."""
        parts: list[Kind] = []
        for value in reads(op):
            if isinstance(value, OpResult) and value.op not in self.kinds:
                return value.op
            part = self.of(value)
            if part is None:
                return None
            parts.append(part)
        number = self.numbers.setdefault((self.kind(op), *parts), len(self.numbers))
        return Kind(number, any([part.of_arguments for part in parts]))

    def has(self, value: SSAValue) -> bool:
        """Whether the operation that makes a value has a kind, whichever that is."""
        if not isinstance(value, OpResult):
            return False
        op = value.op
        return (self.kinds[op] if op in self.kinds else self._found(op)) is not None

    def constant(self, value: SSAValue) -> int | None:
        """A number for a value that no argument goes into."""
        kind = self.of(value)
        return None if kind is None or kind.of_arguments else kind.number


def _differs(op: Operation) -> bool:
    """Whether an operation gives something else each time, or does more than that."""
    return op.name == hlo.rng.name or has_effect(op)


def _annotations(argument: BlockArgument) -> DictionaryAttr:
    """How a function's argument is annotated."""
    function = argument.block.parent_op()
    held = function.properties.get("arg_attrs") if isinstance(function, FuncOp) else None
    return DictionaryAttr(shardings(item(held, argument.index)))
