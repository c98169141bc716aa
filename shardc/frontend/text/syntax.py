"""The syntax tree of a .shard program: frozen records, each with the place where it begins.

Nothing is resolved yet: sizes are names, axes are names, types are as written. Expressions and types have
files of their own; all of the tree is named here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from shardc.frontend.text.places import Pos, SyntaxProblem
from shardc.frontend.text.syntax_expressions import (
    Attribute,
    Binary,
    Call,
    Choice,
    Comprehension,
    Dots,
    Expr,
    Index,
    Keyword,
    Lambda,
    Name,
    Number,
    Record,
    Sequence,
    Slice,
    String,
    Unary,
)
from shardc.frontend.text.syntax_types import (
    AnyType,
    AxisRef,
    DimType,
    NamedType,
    Notated,
    On,
    Partial,
    Replicated,
    Rest,
    Suffix,
    Target,
    TupleType,
    Type,
)

__all__ = [
    "AnyType",
    "Assert",
    "Assign",
    "Attribute",
    "AxisRef",
    "Binary",
    "Call",
    "Choice",
    "Comprehension",
    "ConstDef",
    "Decorator",
    "DimType",
    "Docstring",
    "Dots",
    "Expr",
    "For",
    "Function",
    "If",
    "Import",
    "Index",
    "Keyword",
    "Lambda",
    "MeshDef",
    "Name",
    "NamedType",
    "Notated",
    "Number",
    "On",
    "Parameter",
    "Partial",
    "Pos",
    "Program",
    "Record",
    "RecordDef",
    "Replicated",
    "Rest",
    "Return",
    "Sequence",
    "Show",
    "SizeDef",
    "Slice",
    "Statement",
    "String",
    "Suffix",
    "SyntaxProblem",
    "Target",
    "TupleType",
    "Type",
    "Unary",
    "While",
]

# ---- statements


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

# ---- the program


@dataclass(frozen=True, slots=True)
class Import:
    """`import "layers.shard" as layers`, or with `names` `from "layers.shard" import norm as unit`."""

    pos: Pos
    path: str
    module: Target | None
    names: tuple[tuple[Target, Target], ...] = ()
    """What the file calls it, and what this one does."""


@dataclass(frozen=True, slots=True)
class MeshDef:
    """`mesh pod[data=2, model=4]`; the order of devices and the processes are None if not stated."""

    pos: Pos
    name: str
    axes: tuple[tuple[str, Expr], ...]
    devices: tuple[int, ...] | None
    processes: int | None


@dataclass(frozen=True, slots=True)
class SizeDef:
    """`size B = 32`."""

    pos: Pos
    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class ConstDef:
    """`const EPS = 1e-5`."""

    pos: Pos
    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class RecordDef:
    """`record Layer:` and its fields."""

    pos: Pos
    name: str
    fields: tuple[Parameter, ...]


@dataclass(frozen=True, slots=True)
class Decorator:
    """`@shard_map` or `@shard_map(axes=(i,))`."""

    pos: Pos
    name: str
    args: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]


@dataclass(frozen=True, slots=True)
class Parameter:
    """`x: f32[B@data, D]` of a function, `eps=1e-5`; `named`: given by name only. Also a record's field."""

    pos: Pos
    name: str
    type: AnyType | None
    default: Expr | None = None
    named: bool = False


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class LogicalDef:
    """`axes embed = (x, y)`."""

    pos: Pos
    name: str
    axes: tuple[AxisRef, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A file: its declarations by kind, each in the order of the text."""

    file: str
    meshes: tuple[MeshDef, ...]
    sizes: tuple[SizeDef, ...]
    functions: tuple[Function, ...]
    constants: tuple[ConstDef, ...] = ()
    records: tuple[RecordDef, ...] = ()
    assertions: tuple[Assert, ...] = ()
    imports: tuple[Import, ...] = ()
    logical: tuple[LogicalDef, ...] = ()
