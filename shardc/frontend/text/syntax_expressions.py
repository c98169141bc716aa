"""Expressions of the syntax tree: frozen records, each with the place where it begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from shardc.frontend.text.places import Pos

if TYPE_CHECKING:
    from shardc.frontend.text.syntax_types import Target


@dataclass(frozen=True, slots=True, eq=False)
class Name:
    """A variable, a size, an axis or a function, by its name."""

    pos: Pos
    id: str


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """`3`, `0.5`, `1e-6`, `2j`."""

    pos: Pos
    value: int | float | complex


@dataclass(frozen=True, slots=True, eq=False)
class String:
    """`"ij,jk->ik"`."""

    pos: Pos
    value: str


@dataclass(frozen=True, slots=True, eq=False)
class Dots:
    """`...` in a subscript."""

    pos: Pos


@dataclass(frozen=True, slots=True, eq=False)
class Sequence:
    """`(a, b)` or `[a, b]`; the two mean the same."""

    pos: Pos
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Starred:
    """`*items` in a sequence or among the arguments of a call."""

    pos: Pos
    value: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Evaluated:
    """An item of a starred argument, which has its value already; no text has it."""

    pos: Pos
    value: object


@dataclass(frozen=True, slots=True, eq=False)
class Comprehension:
    """`[item for targets in source]`."""

    pos: Pos
    item: Expr
    targets: tuple[Target, ...]
    source: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """`{name=value, …}`: the attributes of op(…)."""

    pos: Pos
    entries: tuple[Keyword, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """`yes if condition else no`, decided while compiling."""

    pos: Pos
    condition: Expr
    yes: Expr
    no: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Lambda:
    """`lambda x, y: body`."""

    pos: Pos
    parameters: tuple[Target, ...]
    body: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Unary:
    """`-x`, `+x`, `~x`."""

    pos: Pos
    op: str
    operand: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Binary:
    """`pos` is where the left operand begins, `op_pos` where the operator stands."""

    pos: Pos
    op: str
    op_pos: Pos
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Attribute:
    """`x.T`, `jnp.tanh`."""

    pos: Pos
    value: Expr
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Keyword:
    """`axis=0` in a call."""

    pos: Pos
    name: str
    value: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """`function(args, keywords)`."""

    pos: Pos
    function: Expr
    args: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """`start:stop:step` in a subscript; None for a part that is left out."""

    pos: Pos
    start: Expr | None
    stop: Expr | None
    step: Expr | None


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """`x[…]`; one subscript per comma."""

    pos: Pos
    value: Expr
    subscripts: tuple[Expr | Slice, ...]


Expr: TypeAlias = (
    Name
    | Number
    | String
    | Dots
    | Sequence
    | Starred
    | Evaluated
    | Comprehension
    | Record
    | Choice
    | Lambda
    | Unary
    | Binary
    | Attribute
    | Call
    | Index
)
