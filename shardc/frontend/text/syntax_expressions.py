"""Expressions of the syntax tree: frozen records, each with the place where it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from shardc.frontend.text.places import Pos

if TYPE_CHECKING:
    from shardc.frontend.text.syntax_types import Target


class Name(Struct, frozen=True, eq=False):
    """A variable, a size, an axis or a function, by its name."""

    pos: Pos
    id: str


class Number(Struct, frozen=True, eq=False):
    """`3`, `0.5`, `1e-6`, `2j`."""

    pos: Pos
    value: int | float | complex


class String(Struct, frozen=True, eq=False):
    """`"ij,jk->ik"`."""

    pos: Pos
    value: str


class Dots(Struct, frozen=True, eq=False):
    """`...` in a subscript."""

    pos: Pos


class Sequence(Struct, frozen=True, eq=False):
    """`(a, b)` or `[a, b]`; the two mean the same."""

    pos: Pos
    items: tuple[Expr, ...]


class Starred(Struct, frozen=True, eq=False):
    """`*items` in a sequence or among the arguments of a call."""

    pos: Pos
    value: Expr


class Evaluated(Struct, frozen=True, eq=False):
    """An item of a starred argument, which has its value already; no text has it."""

    pos: Pos
    value: object


class Comprehension(Struct, frozen=True, eq=False):
    """`[item for targets in source]`."""

    pos: Pos
    item: Expr
    targets: tuple[Target, ...]
    source: Expr


class Record(Struct, frozen=True, eq=False):
    """`{name=value, …}`: the attributes of op(…)."""

    pos: Pos
    entries: tuple[Keyword, ...]


class Choice(Struct, frozen=True, eq=False):
    """`yes if condition else no`, decided while compiling."""

    pos: Pos
    condition: Expr
    yes: Expr
    no: Expr


class Lambda(Struct, frozen=True, eq=False):
    """`lambda x, y: body`."""

    pos: Pos
    parameters: tuple[Target, ...]
    body: Expr


class Unary(Struct, frozen=True, eq=False):
    """`-x`, `+x`, `~x`."""

    pos: Pos
    op: str
    operand: Expr


class Binary(Struct, frozen=True, eq=False):
    """`pos` is where the left operand begins, `op_pos` where the operator stands."""

    pos: Pos
    op: str
    op_pos: Pos
    left: Expr
    right: Expr


class Attribute(Struct, frozen=True, eq=False):
    """`x.T`, `jnp.tanh`."""

    pos: Pos
    value: Expr
    name: str


class Keyword(Struct, frozen=True, eq=False):
    """`axis=0` in a call."""

    pos: Pos
    name: str
    value: Expr


class Call(Struct, frozen=True, eq=False):
    """`function(args, keywords)`."""

    pos: Pos
    function: Expr
    args: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]


class Slice(Struct, frozen=True, eq=False):
    """`start:stop:step` in a subscript; None for a part that is left out."""

    pos: Pos
    start: Expr | None
    stop: Expr | None
    step: Expr | None


class Index(Struct, frozen=True, eq=False):
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
