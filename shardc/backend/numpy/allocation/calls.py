"""One operation of a written NumPy program as it is evaluated, and what that allocates."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TypeVar, cast

from msgspec import Struct

from shardc.backend.numpy.allocation.storage import Buffer, View, fresh, runs_evenly
from shardc.backend.numpy.elision import COMMUTING, ELISION, PYTHON, symbol_of
from shardc.graph import Graph, Node
from shardc.ops import OpDef

BUFFER = 8192
"""How many elements NumPy copies at a time of an operand that lies in another order, or is broadcast."""


class Evaluation(Struct, frozen=True):
    """One operation as it is evaluated.

    `shape` is that of the array it makes: smaller than the result's where NumPy broadcasts later. `temporary`
    says which operands nothing else holds.
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


class Allocation(Struct, frozen=True):
    """The result, and how much is allocated beside it until the operation is done."""

    view: View
    meanwhile: int = 0


Allocates = Callable[[Evaluation], Allocation]

F = TypeVar("F", bound=Allocates)

_attached: dict[str, Allocates] = {}
_broadcasting: set[str] = set()


def allocates(*definitions: OpDef, broadcasts: bool = False) -> Callable[[F], F]:
    """Attach what operations allocate, where it is not simply one new array.

    broadcasts: whether an operand may be smaller than its type, such as a Python number.
    """

    def attach(rule: F) -> F:
        for definition in definitions:
            _attached[definition.name] = rule
            if broadcasts:
                _broadcasting.add(definition.name)
        return rule

    return attach


def allocation_of(name: str) -> Allocates:
    """What an operation allocates: what is attached, else what its operator does, else one new array."""
    symbol = symbol_of(name)
    return _attached.get(name) or (array if symbol is None else operator(symbol))


def broadcasts(name: str) -> bool:
    """Whether an operation broadcasts what is smaller than its type, such as a Python number."""
    return name not in _attached or name in _broadcasting


def array(it: Evaluation) -> Allocation:
    """Element by element: a new array, laid out as its operands are."""
    view = fresh(Buffer(it.nbytes), it.shape, it.operands)
    return Allocation(view, buffers(it, view))


def buffers(it: Evaluation, result: View) -> int:
    """What NumPy copies parts of operands to, which don't run evenly with the result."""
    elements = min(BUFFER, prod(it.shape))
    return sum(
        elements * it.graph.type(value).numpy.itemsize
        for view, value in zip(it.operands, it.node.operands, strict=True)
        if view.buffer is not None and not runs_evenly(view, result)
    )


def row_major(it: Evaluation) -> Allocation:
    return Allocation(fresh(Buffer(it.nbytes), it.shape))


def _narrow(it: Evaluation) -> bool:
    """Whether the numbers among the operands are no wider than the result; one of NumPy's on the left decides
    itself where the result goes."""
    python = any(view.buffer is None for view in it.operands)
    first = it.operands[0]
    return (it.dtype in PYTHON or not python) and (first.shape == it.shape or first.buffer is None)


def operator(symbol: str) -> Allocates:
    """x + y; large temporaries are written over, the second only if the operator commutes."""

    def rule(it: Evaluation) -> Allocation:
        last = len(it.operands) if symbol in COMMUTING else 1
        if any(view.shape not in ((), it.shape) for view in it.operands) or not _narrow(it):
            return array(it)
        for view, temporary, value in list(zip(it.operands, it.temporary, it.node.operands, strict=True))[
            :last
        ]:
            fits = view.buffer is not None and view.shape == it.shape and view.buffer.nbytes == it.nbytes
            fits = fits and view.owns
            if temporary and fits and it.nbytes >= ELISION and it.graph.type(value).dtype == it.dtype:
                return Allocation(view, buffers(it, view))
        return array(it)

    return rule
