"""The syntax tree of a .shard program: frozen records, each with the place where it begins.

Nothing is resolved yet: sizes are names, axes are names, types are as written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias


class Pos(NamedTuple):
    """Line and column, from 1."""

    line: int
    col: int


class SyntaxProblem(Exception):
    """A text that is no program. The parser turns it into a ShardcError that names the file."""

    def __init__(self, message: str, pos: Pos, hint: str | None = None) -> None:
        super().__init__(message)
        self.message, self.pos, self.hint = message, pos, hint


# ---- expressions


@dataclass(frozen=True, slots=True)
class Name:
    pos: Pos
    id: str


@dataclass(frozen=True, slots=True)
class Number:
    pos: Pos
    value: int | float


@dataclass(frozen=True, slots=True)
class String:
    pos: Pos
    value: str


@dataclass(frozen=True, slots=True)
class Dots:
    """`...` in a subscript."""

    pos: Pos


@dataclass(frozen=True, slots=True)
class Sequence:
    """`(a, b)` or `[a, b]`; the two mean the same."""

    pos: Pos
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Comprehension:
    """`[item for targets in source]`."""

    pos: Pos
    item: Expr
    targets: tuple[Target, ...]
    source: Expr


@dataclass(frozen=True, slots=True)
class Record:
    """`{name=value, …}`: the attributes of op(…)."""

    pos: Pos
    entries: tuple[Keyword, ...]


@dataclass(frozen=True, slots=True)
class Unary:
    pos: Pos
    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary:
    """`pos` is where the left operand begins, `op_pos` where the operator stands."""

    pos: Pos
    op: str
    op_pos: Pos
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Attribute:
    pos: Pos
    value: Expr
    name: str


@dataclass(frozen=True, slots=True)
class Keyword:
    pos: Pos
    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Call:
    pos: Pos
    function: Expr
    args: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]


@dataclass(frozen=True, slots=True)
class Slice:
    pos: Pos
    start: Expr | None
    stop: Expr | None
    step: Expr | None


@dataclass(frozen=True, slots=True)
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
    | Comprehension
    | Record
    | Unary
    | Binary
    | Attribute
    | Call
    | Index
)

# ---- types


@dataclass(frozen=True, slots=True)
class AxisRef:
    """An axis, or with `part` = (pre, size) a part of it: data, data:(1)2."""

    pos: Pos
    name: str
    part: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class DimType:
    """One dimension of a type. Not `annotated` is the bare `64`."""

    pos: Pos
    size: Expr
    annotated: bool = False
    axes: tuple[AxisRef, ...] = ()
    open: bool = False
    priority: int | None = None


@dataclass(frozen=True, slots=True)
class Replicated:
    """`replicated`, or with axes `replicated(model)`."""

    pos: Pos
    axes: tuple[AxisRef, ...] | None


@dataclass(frozen=True, slots=True)
class Partial:
    """`partial(sum: model)`."""

    pos: Pos
    kind: str
    axes: tuple[AxisRef, ...]


@dataclass(frozen=True, slots=True)
class On:
    """`on pod`."""

    pos: Pos
    mesh: str


@dataclass(frozen=True, slots=True)
class Type:
    """`f32[B@data, D] partial(sum: model) on pod`, as written."""

    pos: Pos
    dtype: str
    dims: tuple[DimType, ...]
    suffixes: tuple[Replicated | Partial | On, ...] = ()


# ---- statements


@dataclass(frozen=True, slots=True)
class Target:
    """The left of an assignment; a type makes it a sharding constraint too."""

    pos: Pos
    name: str
    type: Type | None = None


@dataclass(frozen=True, slots=True)
class Assign:
    pos: Pos
    targets: tuple[Target, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class Return:
    pos: Pos
    value: Expr


@dataclass(frozen=True, slots=True)
class For:
    """`for targets in stacks carrying names:`."""

    pos: Pos
    targets: tuple[Target, ...]
    stacks: Expr
    carrying: tuple[Target, ...]
    body: tuple[Statement, ...]


Statement: TypeAlias = Assign | Return | For

# ---- the program


@dataclass(frozen=True, slots=True)
class MeshDef:
    pos: Pos
    name: str
    axes: tuple[tuple[str, Expr], ...]
    devices: tuple[int, ...] | None
    processes: int | None


@dataclass(frozen=True, slots=True)
class SizeDef:
    pos: Pos
    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Decorator:
    """`@shard_map` or `@shard_map(axes=(i,))`."""

    pos: Pos
    name: str
    args: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]


@dataclass(frozen=True, slots=True)
class Parameter:
    pos: Pos
    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Function:
    """`results` is None where `->` is left out; `several` tells (f32[4],) from f32[4]."""

    pos: Pos
    name: str
    decorator: Decorator | None
    parameters: tuple[Parameter, ...]
    results: tuple[Type, ...] | None
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Program:
    file: str
    meshes: tuple[MeshDef, ...]
    sizes: tuple[SizeDef, ...]
    functions: tuple[Function, ...]
