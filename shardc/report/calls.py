"""One operation of a written NumPy program as it runs, and what that allocates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import cast

from shardc.graph import Graph, Node
from shardc.report.storage import Buffer, View, fresh, runs_evenly

BUFFER = 8192
"""How many elements NumPy copies at a time of an operand that lies in another order, or is broadcast."""


@dataclass(frozen=True, slots=True)
class Call:
    """One operation as it runs. `shape` is that of the array it makes: smaller than the result's where NumPy
    broadcasts later. `temporary` says which operands nothing else holds.
    """

    graph: Graph
    node: Node
    shape: tuple[int, ...]
    operands: tuple[View, ...]
    temporary: tuple[bool, ...]

    @property
    def dtype(self) -> str:
        return self.graph.type(self.node.results[0]).dtype

    @property
    def itemsize(self) -> int:
        return self.graph.type(self.node.results[0]).numpy.itemsize

    @property
    def nbytes(self) -> int:
        """Of the result."""
        return prod(self.shape) * self.itemsize

    def ints(self, key: str) -> tuple[int, ...]:
        return cast("tuple[int, ...]", self.node.attrs[key])

    def elements(self, operand: int) -> int:
        return self.graph.type(self.node.operands[operand]).size

    def bytes_of(self, operand: int) -> int:
        return self.graph.type(self.node.operands[operand]).nbytes


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result, and how much is allocated beside it until the operation is done."""

    view: View
    meanwhile: int = 0


Rule = Callable[[Call], Outcome]


def array(call: Call) -> Outcome:
    """Element by element: a new array, laid out as its operands are."""
    view = fresh(Buffer(call.nbytes), call.shape, call.operands)
    return Outcome(view, buffers(call, view))


def buffers(call: Call, result: View) -> int:
    """What NumPy copies parts of operands to, which don't run evenly with the result."""
    elements = min(BUFFER, prod(call.shape))
    return sum(
        elements * call.graph.type(value).numpy.itemsize
        for view, value in zip(call.operands, call.node.operands, strict=True)
        if view.buffer is not None and not runs_evenly(view, result)
    )


def row_major(call: Call) -> Outcome:
    return Outcome(fresh(Buffer(call.nbytes), call.shape))
