"""Statements of the syntax tree: frozen records, each with the place where it begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from shardc.frontend.text.places import Pos
from shardc.frontend.text.syntax_expressions import Call, Expr, Keyword
from shardc.frontend.text.syntax_types import AnyType, Target

Pattern: TypeAlias = "int | tuple[Pattern, ...]"
"""The number of a target that takes a value, or patterns that take its items."""


@dataclass(frozen=True, slots=True, eq=False)
class Assign:
    """`patterns = value`: names that take the value, or unpack it.

    a = … has one target and the patterns (0,); a, (b, c) = … three targets and ((0, (1, 2)),); a = b = …
    two targets and (0, 1).
    """

    pos: Pos
    targets: tuple[Target, ...]
    value: Expr
    patterns: tuple[Pattern, ...] = (0,)


@dataclass(frozen=True, slots=True, eq=False)
class Return:
    """`return value`."""

    pos: Pos
    value: Expr


@dataclass(frozen=True, slots=True, eq=False)
class For:
    """`for targets in stacks carrying names collecting names:`."""

    pos: Pos
    targets: tuple[Target, ...]
    stacks: Expr
    carrying: tuple[Target, ...]
    collecting: tuple[Target, ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True, eq=False)
class While:
    """`while condition carrying names:`, decided while running."""

    pos: Pos
    condition: Expr
    carrying: tuple[Target, ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True, eq=False)
class If:
    """`if condition: … elif condition: … else: …`, decided while compiling."""

    pos: Pos
    branches: tuple[tuple[Expr, tuple[Statement, ...]], ...]
    otherwise: tuple[Statement, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Assert:
    """`assert condition, message`, checked while compiling."""

    pos: Pos
    condition: Expr
    message: Expr | None


@dataclass(frozen=True, slots=True, eq=False)
class Docstring:
    """A text as the first statement of a function."""

    pos: Pos
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Show:
    """`print("h", h)` or `breakpoint(h)`: a call that shows values and gives none."""

    pos: Pos
    call: Call


@dataclass(frozen=True, slots=True, eq=False)
class Decorator:
    """`@shard_map` or `@shard_map(axes=(i,))`."""

    pos: Pos
    name: str
    args: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Parameter:
    """`x: f32[B@data, D]` of a function, `eps=1e-5`; `named`: given by name only. Also a record's field."""

    pos: Pos
    name: str
    type: AnyType | None
    default: Expr | None = None
    named: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Function:
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
