"""Statements of the syntax tree: frozen records, each with the place where it begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from shardc.frontend.text.places import Pos
from shardc.frontend.text.syntax_expressions import Call, Expr
from shardc.frontend.text.syntax_types import Target

Nested: TypeAlias = "tuple[int | Nested, ...]"
"""Numbers of targets, as tuples in tuples."""


@dataclass(frozen=True, slots=True)
class Assign:
    """`targets = value`; several targets unpack it.

    `nested` says how: a, (b, c) = … has three targets and is (0, (1, 2)); None for targets side by side.
    """

    pos: Pos
    targets: tuple[Target, ...]
    value: Expr
    nested: Nested | None = None


@dataclass(frozen=True, slots=True)
class Return:
    """`return value`."""

    pos: Pos
    value: Expr


@dataclass(frozen=True, slots=True)
class For:
    """`for targets in stacks carrying names collecting names:`."""

    pos: Pos
    targets: tuple[Target, ...]
    stacks: Expr
    carrying: tuple[Target, ...]
    collecting: tuple[Target, ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class While:
    """`while condition carrying names:`, decided while running."""

    pos: Pos
    condition: Expr
    carrying: tuple[Target, ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class If:
    """`if condition: … elif condition: … else: …`, decided while compiling."""

    pos: Pos
    branches: tuple[tuple[Expr, tuple[Statement, ...]], ...]
    otherwise: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Assert:
    """`assert condition, message`, checked while compiling."""

    pos: Pos
    condition: Expr
    message: Expr | None


@dataclass(frozen=True, slots=True)
class Docstring:
    """A text as the first statement of a function."""

    pos: Pos
    text: str


@dataclass(frozen=True, slots=True)
class Show:
    """`print("h", h)` or `breakpoint(h)`: a call that shows values and gives none."""

    pos: Pos
    call: Call


Statement: TypeAlias = Assign | Return | For | While | If | Assert | Docstring | Show
