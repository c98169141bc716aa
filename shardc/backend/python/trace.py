"""What the lines of a written program compute and hold, in the order of the text.

numpy.allocation reads it.

A value that no line assigns stands inside the expressions that use it, and is computed there.
"""

from __future__ import annotations

from msgspec import Struct

from shardc.backend.python.terms import Term
from shardc.graph import Node


class Assign(Struct, frozen=True):
    """`variables = …`: the text of each value, in these shapes; with a `node`, one call that gives all."""

    variables: tuple[str, ...]
    values: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...] = ()
    node: Node | None = None


class Bind(Struct, frozen=True):
    """From here on `variable` holds `value`."""

    variable: str
    value: int


class Delete(Struct, frozen=True):
    """`del variable`."""

    variable: str


class Same(Struct, frozen=True):
    """`value` is what `source` is: what a loop hands on."""

    value: int
    source: int


class Loop(Struct, frozen=True):
    """The lines of a loop's body, run `trips` times; None where the program decides."""

    node: Node
    trips: int | None
    lines: tuple[Line, ...]


class Choice(Struct, frozen=True):
    """The lines of each branch; one of them runs."""

    node: Node
    branches: tuple[tuple[Line, ...], ...]


class Return(Struct, frozen=True):
    """`return …`; with a `node`, of one call that gives all values."""

    values: tuple[int, ...]
    node: Node | None = None


Line = Assign | Bind | Delete | Same | Loop | Choice | Return


class Printed(Struct, frozen=True):
    """The node that makes a value and its text; `same` is the operand whose text it is, if it is one's."""

    node: Node
    term: Term
    same: int | None


class FunctionTrace(Struct, frozen=True):
    """The values of a function's parameters, and its lines."""

    params: tuple[int, ...]
    lines: tuple[Line, ...]


class Trace(Struct):
    """One emission: each function's lines (None is the device's main), and how each value was written."""

    functions: dict[str | None, FunctionTrace] = {}
    printed: dict[int, Printed] = {}

    def note(self, node: Node, term: Term, same: int | None) -> None:
        """How the result of a node was written."""
        self.printed[node.results[0]] = Printed(node, term, same)
