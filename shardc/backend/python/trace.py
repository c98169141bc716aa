"""What the lines of a written program compute and hold, in the order of the text.

numpy.allocation reads it.

A value that no line assigns stands inside the expressions that use it, and is computed there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from shardc.backend.python.terms import Term
from shardc.graph import Node


@dataclass(frozen=True, slots=True)
class Assign:
    """`variables = …`: the text of each value, in these shapes; with a `node`, one call that gives all."""

    variables: tuple[str, ...]
    values: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...] = ()
    node: Node | None = None


@dataclass(frozen=True, slots=True)
class Bind:
    """From here on `variable` holds `value`."""

    variable: str
    value: int


@dataclass(frozen=True, slots=True)
class Delete:
    """`del variable`."""

    variable: str


@dataclass(frozen=True, slots=True)
class Same:
    """`value` is what `source` is: what a loop hands on."""

    value: int
    source: int


@dataclass(frozen=True, slots=True)
class Loop:
    """The lines of a loop's body, run `trips` times; None where the program decides."""

    node: Node
    trips: int | None
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The lines of each branch; one of them runs."""

    node: Node
    branches: tuple[tuple[Line, ...], ...]


@dataclass(frozen=True, slots=True)
class Return:
    """`return …`; with a `node`, of one call that gives all values."""

    values: tuple[int, ...]
    node: Node | None = None


Line = Assign | Bind | Delete | Same | Loop | Choice | Return


@dataclass(frozen=True, slots=True)
class Printed:
    """The node that makes a value and its text; `same` is the operand whose text it is, if it is one's."""

    node: Node
    term: Term
    same: int | None


@dataclass(frozen=True, slots=True)
class FunctionTrace:
    """The values of a function's parameters, and its lines."""

    params: tuple[int, ...]
    lines: tuple[Line, ...]


@dataclass(slots=True)
class Trace:
    """One emission: each function's lines (None is the device's main), and how each value was written."""

    functions: dict[str | None, FunctionTrace] = field(default_factory=dict[str | None, FunctionTrace])
    printed: dict[int, Printed] = field(default_factory=dict[int, Printed])

    def note(self, node: Node, term: Term, same: int | None) -> None:
        """How the result of a node was written."""
        self.printed[node.results[0]] = Printed(node, term, same)
