"""What names mean at one place of a function's body."""

from __future__ import annotations

from math import inf, nan, pi
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from shardc.frontend.text import syntax as s
from shardc.frontend.text.promotion import SPELLED
from shardc.frontend.text.syntax import Pos
from shardc.frontend.text.values import Dtype, Value
from shardc.layout import Mesh

if TYPE_CHECKING:
    from shardc.frontend.text.emitter import Emitter
    from shardc.frontend.text.program import ProgramReader

CONSTANTS: dict[str, Value] = {
    "True": True,
    "False": False,
    "None": None,
    "inf": inf,
    "nan": nan,
    "pi": pi,
    **{spelling: Dtype(name) for spelling, name in SPELLED.items()},
}
"""Names that mean something unless the program gives them another meaning."""


DeviceScope: TypeAlias = tuple[Mesh, tuple[str, ...]]
"""What per-device code runs on: its mesh, and which axes are manual."""


class Scope(Struct):
    """The values of a function's body so far.

    `lost` are names that a loop assigned and did not carry, with the place; `manual` is set in per-device
    code, `listing` in the items of a list that is being made.
    """

    program: ProgramReader
    e: Emitter
    names: dict[str, Value] = {}
    lost: dict[str, Pos] = {}
    manual: DeviceScope | None = None
    listing: bool = False

    def value(self, expr: s.Expr) -> Value:
        """The value of an expression here."""
        return self.program.evaluate(self, expr)

    def imported(self, expr: s.Attribute) -> s.Name | None:
        """The name that `layers.norm` is, if the program imports a file as layers."""
        module = expr.value.id if isinstance(expr.value, s.Name) else None
        if module not in self.program.modules or module in self.names:
            return None
        name = f"{module}.{expr.name}"
        self.program.check_imported(name, expr.pos)
        return s.Name(expr.pos, name)

    def inner(self) -> Scope:
        """The scope of a loop's body: what is assigned there stays there."""
        return Scope(self.program, self.e, dict(self.names), dict(self.lost), self.manual)

    def assign(self, name: str, value: Value, pos: Pos) -> None:
        """Give a name a value; an error if a size or function has that name."""
        self.program.check_free(name, pos)
        self.bind(name, value)

    def bind(self, name: str, value: Value) -> None:
        """The same for a name that is known to be free."""
        self.names[name] = value
        self.lost.pop(name, None)
