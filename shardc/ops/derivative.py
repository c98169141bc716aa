"""How the results of an operation change with its operands, as a formula over a builder.

A formula sees one `Step`, the operation with its operands and results as terms, and the cotangents of its
results; it gives the cotangents of operands. It is written once, for whatever builds: xDSL operations or a
recording. There is no formula for tangents: an operation that is linear is its own, and any other is the
transpose of its `vjp`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from shardc.graph.builder import Body
from shardc.graph.program import Op, Region
from shardc.layout import Axis


class Missing(Exception):
    """The derivative is asked for what the formula has no answer to; the text says what helps."""


class Summed(Struct, frozen=True):
    """A cotangent that is to be summed over these axes, in per-device code; other cotangents over those that
    the operand is the same over and the result is not.
    """

    term: Any
    axes: tuple[Axis, ...]


class Step(Struct, frozen=True):
    """One operation in the program that is differentiated.

    `value(i)` is operand i, `result(i)` result i, as terms (derivatives/terms.py). `bodies` are its regions
    as they are built, `regions` as they are written. `part_of` names the function of the language that the
    operation is a part of: relu. `same(i, axes)` are the axes of these over which operand i is the same on
    all devices, `partial(i, axes)` those over which it is a partial sum.
    """

    op: Op
    value: Callable[[int], Any]
    result: Callable[[int], Any]
    bodies: Sequence[Body] = ()
    regions: Sequence[Region] = ()
    part_of: str = ""
    same: Callable[[int, tuple[Axis, ...]], tuple[Axis, ...]] = field(default=lambda i, axes: ())
    partial: Callable[[int, tuple[Axis, ...]], tuple[Axis, ...]] = field(default=lambda i, axes: ())

    @property
    def x(self) -> Any:
        """The first operand."""
        return self.value(0)

    @property
    def y(self) -> Any:
        """The second operand."""
        return self.value(1)

    @property
    def out(self) -> Any:
        """The first result."""
        return self.result(0)


Cotangents = Sequence[Any]
"""Those of the results, as terms; None for a result that nothing depends on."""

Vjp = Callable[[Step, Cotangents, frozenset[int]], Mapping[int, Any]]
"""(step, cotangents of the results, operands) -> the cotangents of these operands; zero where left out."""


class Derivative(Struct, frozen=True):
    """`flows`: the operands that the results depend on smoothly; None for all. `jointly` and `singly`: those
    in which the operation is linear, all together or each by itself.
    """

    vjp: Vjp
    flows: tuple[int, ...] | None = None
    jointly: tuple[int, ...] = ()
    singly: tuple[int, ...] = ()
    every: bool = False
    """Linear in all its operands together, however many there are."""
    alike: Derivative | None = None
    """That of the operation on one value, as all its operands: x * x has one term."""


def _nothing(step: Step, cotangents: Cotangents, wanted: frozenset[int]) -> Mapping[int, Any]:
    return {}


ZERO = Derivative(_nothing, flows=())
"""Of an operation whose results change in steps, or don't depend on its operands."""


def factors(*partials: Callable[[Step], Any]) -> Derivative:
    """An elementwise operation: its derivatives by each operand, which the cotangent is multiplied with."""

    def vjp(step: Step, cotangents: Cotangents, wanted: frozenset[int]) -> Mapping[int, Any]:
        (ct,) = cotangents
        return {i: ct * partials[i](step) for i in sorted(wanted)}

    return Derivative(vjp)


def pulls(*formulas: Callable[[Step, Any], Any], flows: tuple[int, ...] | None = None) -> Derivative:
    """An operation with one result: from its cotangent that of each operand."""
    return Derivative(_each(formulas), flows)


def linear(*formulas: Callable[[Step, Any], Any]) -> Derivative:
    """An operation with one result that is linear in its first operands together: their cotangents."""
    return Derivative(_each(formulas), tuple(range(len(formulas))), jointly=tuple(range(len(formulas))))


def bilinear(*formulas: Callable[[Step, Any], Any]) -> Derivative:
    """An operation with one result that is linear in each of its first operands: their cotangents."""
    return Derivative(_each(formulas), tuple(range(len(formulas))), singly=tuple(range(len(formulas))))


def _each(formulas: Sequence[Callable[[Step, Any], Any]]) -> Vjp:
    def vjp(step: Step, cotangents: Cotangents, wanted: frozenset[int]) -> Mapping[int, Any]:
        (ct,) = cotangents
        return {i: formulas[i](step, ct) for i in sorted(wanted)}

    return vjp
