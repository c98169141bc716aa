"""How an operation runs on a stack of its operands, one slice after another: what vmap makes of it.

A rule sees one `Batch`: the operation on one slice, and its operands as terms, each either a stack, whose
first dimension is that of the slices, or one value that all slices share. It gives the results as stacks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from shardc.graph.builder import Body
from shardc.graph.program import Op
from shardc.graph.types import TensorType


class Unbatched(Exception):
    """The operation runs on no stack of these operands; the text says why."""


class Batch(Struct, frozen=True):
    """`op` is the operation on one slice, `definition` its OpDef; `given` are its operands as terms, of which
    those in `stacks` have the `size` slices in front. `full(i)` is operand i as a stack, whatever it is.
    `bodies` are its regions, which work on scalars.
    """

    definition: Any
    op: Op
    size: int
    given: Sequence[Any]
    stacks: frozenset[int]
    full: Callable[[int], Any]
    bodies: Sequence[Body] = ()

    def stacked(self, type: TensorType) -> TensorType:
        """The type of as many slices."""
        return type.with_shape((self.size, *type.shape))

    @property
    def results(self) -> list[TensorType]:
        """The types of the results as stacks."""
        return [self.stacked(type) for type in self.op.results]

    def every(self) -> list[Any]:
        """All operands as stacks."""
        return [self.full(i) for i in range(len(self.given))]

    def build(self, operands: Sequence[Any], **attrs: object) -> list[Any]:
        """The operation with these operands, results that are stacks, and some attributes changed."""
        first, *others = operands
        return first.ops(
            self.definition,
            *others,
            results=self.results,
            regions=self.bodies,
            **{**self.op.attrs, **attrs},
        )


Batching = Callable[[Batch], Sequence[Any]]
"""The results of an operation on stacks, as stacks."""
