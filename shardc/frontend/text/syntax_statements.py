"""Statements of the syntax tree: frozen records, each with the place where it begins."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from shardc.frontend.text.places import Pos
from shardc.frontend.text.syntax_expressions import Call, Expr, Keyword
from shardc.frontend.text.syntax_types import AnyType, Target

Pattern: TypeAlias = "int | tuple[Pattern, ...]"
"""The number of a target that takes a value, or patterns that take its items."""


class Assign(Struct, frozen=True, eq=False):
    """`patterns = value`: names that take the value, or unpack it.

    a = … has one target and the patterns (0,); a, (b, c) = … three targets and ((0, (1, 2)),); a = b = …
    two targets and (0, 1).
    """

    pos: Pos
    targets: tuple[Target, ...]
    value: Expr
    patterns: tuple[Pattern, ...] = (0,)


class Return(Struct, frozen=True, eq=False):
    """`return value`."""

    pos: Pos
    value: Expr


class For(Struct, frozen=True, eq=False):
    """`for targets in stacks carrying names collecting names:`."""

    pos: Pos
    targets: tuple[Target, ...]
    stacks: Expr
    carrying: tuple[Target, ...]
    collecting: tuple[Target, ...]
    body: tuple[Statement, ...]


class While(Struct, frozen=True, eq=False):
    """`while condition carrying names:`, decided while running."""

    pos: Pos
    condition: Expr
    carrying: tuple[Target, ...]
    body: tuple[Statement, ...]


class If(Struct, frozen=True, eq=False):
    """`if condition: … elif condition: … else: …`, decided while compiling."""

    pos: Pos
    branches: tuple[tuple[Expr, tuple[Statement, ...]], ...]
    otherwise: tuple[Statement, ...]


class Assert(Struct, frozen=True, eq=False):
    """`assert condition, message`, checked while compiling."""

    pos: Pos
    condition: Expr
    message: Expr | None


class Docstring(Struct, frozen=True, eq=False):
    """A text as the first statement of a function."""

    pos: Pos
    text: str


class Show(Struct, frozen=True, eq=False):
    """`print("h", h)` or `breakpoint(h)`: a call that shows values and gives none."""

    pos: Pos
    call: Call


class Decorator(Struct, frozen=True, eq=False):
    """`@shard_map` or `@shard_map(axes=(i,))`."""

    pos: Pos
    name: str
    args: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]


class Parameter(Struct, frozen=True, eq=False):
    """`x: f32[B@data, D]` of a function, `eps=1e-5`; `named`: given by name only. Also a record's field."""

    pos: Pos
    name: str
    type: AnyType | None
    default: Expr | None = None
    named: bool = False


class Function(Struct, frozen=True, eq=False):
    """`results` is None where `->` is left out; a tuple of them is a TupleType. `decorator` says where the
    function runs: @shard_map, @per_device.
    """

    pos: Pos
    name: str
    decorator: Decorator | None
    parameters: tuple[Parameter, ...]
    results: tuple[AnyType, ...] | None
    body: tuple[Statement, ...]
    doc: str | None = None
    rules: tuple[Decorator, ...] = ()
    """What is said of its derivative."""


RULES = ("custom_vjp", "remat")
"""Decorators that say something of derivatives, beside those that say where a function runs."""


Statement: TypeAlias = Assign | Return | For | While | If | Assert | Docstring | Show | Function
