"""Operands with operators: what functions that are a formula of others are written in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from shardc.frontend.text.builtins.derived import builtin_of
from shardc.frontend.text.builtins.elementwise import where
from shardc.frontend.text.builtins.operators import BINARY, negate
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Operand, Tensor
from shardc.ops import OpDef


class Formula(Struct, frozen=True, eq=False):
    """An operand of the program that is built; arithmetic is that of the language."""

    e: Emitter
    x: Operand

    @property
    def tensor(self) -> Tensor:
        return self.e.tensor(self.x)

    def _with(self, symbol: str, other: Formula | Operand) -> Formula:
        right = other.x if isinstance(other, Formula) else other
        return Formula(self.e, BINARY[symbol](self.e, self.x, right))

    def _after(self, symbol: str, other: Operand) -> Formula:
        return Formula(self.e, BINARY[symbol](self.e, other, self.x))

    def __add__(self, other: Formula | Operand) -> Formula:
        return self._with("+", other)

    def __sub__(self, other: Formula | Operand) -> Formula:
        return self._with("-", other)

    def __mul__(self, other: Formula | Operand) -> Formula:
        return self._with("*", other)

    def __truediv__(self, other: Formula | Operand) -> Formula:
        return self._with("/", other)

    def __floordiv__(self, other: Formula | Operand) -> Formula:
        return self._with("//", other)

    def __radd__(self, other: Operand) -> Formula:
        return self._after("+", other)

    def __rsub__(self, other: Operand) -> Formula:
        return self._after("-", other)

    def __rmul__(self, other: Operand) -> Formula:
        return self._after("*", other)

    def __rtruediv__(self, other: Operand) -> Formula:
        return self._after("/", other)

    def __neg__(self) -> Formula:
        return Formula(self.e, negate(self.e, self.x))

    def compare(self, symbol: str, other: Formula | Operand) -> Formula:
        """A truth value for each element: "<", "==", …"""
        return self._with(symbol, other)

    def where(self, condition: Formula, other: Formula | Operand) -> Formula:
        """Itself where a condition holds, elsewhere something else."""
        last = other.x if isinstance(other, Formula) else other
        return Formula(self.e, where(self.e, condition.x, self.x, last))

    def op(self, op: OpDef, *others: Formula | Operand) -> Formula:
        """The built-in that an operation is, of this and other operands."""
        rest = (other.x if isinstance(other, Formula) else other for other in others)
        return Formula(self.e, builtin_of(op)(self.e, self.x, *rest))

    def of(self, function: Callable[..., Any], *args: object, **named: object) -> Formula:
        """A built-in of it."""
        return Formula(self.e, function(self.e, self.x, *args, **named))
