"""The syntax tree of a .shard program: frozen records, each with the place where it begins.

A node equals itself alone: no two are at the same place, and nothing compares them by their parts.
Nothing is resolved yet: sizes are names, axes are names, types are as written. Expressions,
statements and types have files of their own; all of the tree is named here.
"""

from __future__ import annotations

from msgspec import Struct

from shardc.frontend.text.places import Pos, SyntaxProblem
from shardc.frontend.text.syntax_expressions import (
    Attribute,
    Binary,
    Call,
    Choice,
    Comprehension,
    Dots,
    Evaluated,
    Expr,
    Index,
    Keyword,
    Lambda,
    Name,
    Number,
    Record,
    Sequence,
    Slice,
    Starred,
    String,
    Unary,
)
from shardc.frontend.text.syntax_statements import (
    RULES,
    Assert,
    Assign,
    Decorator,
    Docstring,
    For,
    Function,
    If,
    Parameter,
    Pattern,
    Return,
    Show,
    Statement,
    While,
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
    "RULES",
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
    "Evaluated",
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
    "Pattern",
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
    "Starred",
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


class Import(Struct, frozen=True, eq=False):
    """`import "layers.shard" as layers`, or with `names` `from "layers.shard" import norm as unit`."""

    pos: Pos
    path: str
    module: Target | None
    names: tuple[tuple[Target, Target], ...] = ()
    """What the file calls it, and what this one does."""


class MeshDef(Struct, frozen=True, eq=False):
    """`mesh pod[data=2, model=4]`; the order of devices and the processes are None if not stated."""

    pos: Pos
    name: str
    axes: tuple[tuple[str, Expr], ...]
    devices: tuple[int, ...] | None
    processes: int | None


class SizeDef(Struct, frozen=True, eq=False):
    """`size B = 32`."""

    pos: Pos
    name: str
    value: Expr


class ConstDef(Struct, frozen=True, eq=False):
    """`const EPS = 1e-5`."""

    pos: Pos
    name: str
    value: Expr


class RecordDef(Struct, frozen=True, eq=False):
    """`record Layer:` and its fields."""

    pos: Pos
    name: str
    fields: tuple[Parameter, ...]
    doc: str | None = None


class LogicalDef(Struct, frozen=True, eq=False):
    """`axes embed = (x, y)`."""

    pos: Pos
    name: str
    axes: tuple[AxisRef, ...]


class Program(Struct, frozen=True, eq=False):
    """A file: its declarations by kind, each in the order of the text. about: its docstring."""

    file: str
    meshes: tuple[MeshDef, ...]
    sizes: tuple[SizeDef, ...]
    functions: tuple[Function, ...]
    constants: tuple[ConstDef, ...] = ()
    records: tuple[RecordDef, ...] = ()
    assertions: tuple[Assert, ...] = ()
    imports: tuple[Import, ...] = ()
    logical: tuple[LogicalDef, ...] = ()
    about: str | None = None
