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
    """A variable, a size, an axis or a function, by its name."""

    pos: Pos
    id: str


@dataclass(frozen=True, slots=True)
class Number:
    """`3`, `0.5`, `1e-6`."""

    pos: Pos
    value: int | float


@dataclass(frozen=True, slots=True)
class String:
    """`"ij,jk->ik"`."""

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
class Choice:
    """`yes if condition else no`, decided while compiling."""

    pos: Pos
    condition: Expr
    yes: Expr
    no: Expr


@dataclass(frozen=True, slots=True)
class Lambda:
    """`lambda x, y: body`."""

    pos: Pos
    parameters: tuple[Target, ...]
    body: Expr


@dataclass(frozen=True, slots=True)
class Unary:
    """`-x`, `+x`, `~x`."""

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
    """`x.T`, `jnp.tanh`."""

    pos: Pos
    value: Expr
    name: str


@dataclass(frozen=True, slots=True)
class Keyword:
    """`axis=0` in a call."""

    pos: Pos
    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Call:
    """`function(args, keywords)`."""

    pos: Pos
    function: Expr
    args: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]


@dataclass(frozen=True, slots=True)
class Slice:
    """`start:stop:step` in a subscript; None for a part that is left out."""

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
    | Choice
    | Lambda
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
class Rest:
    """`*B`: any number of dimensions, which the call binds."""

    pos: Pos
    name: str


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
class Notated:
    """`P("data", None)`, `(S(0), B)`: a sharding in the words of another system."""

    pos: Pos
    written: Expr


Suffix: TypeAlias = Replicated | Partial | On | Notated


@dataclass(frozen=True, slots=True)
class Type:
    """`f32[B@data, D] partial(sum: model) on pod`, as written."""

    pos: Pos
    dtype: str
    dims: tuple[DimType | Rest, ...]
    suffixes: tuple[Suffix, ...] = ()


@dataclass(frozen=True, slots=True)
class NamedType:
    """`Layer`, a record; or `int`, `float`, `str`, `bool`: a value known while compiling."""

    pos: Pos
    name: str


@dataclass(frozen=True, slots=True)
class TupleType:
    """`(f32[4], Layer)`."""

    pos: Pos
    items: tuple[AnyType, ...]


AnyType: TypeAlias = Type | NamedType | TupleType
"""A type of a parameter or a result. The name before the brackets of a Type may be that of a record."""

# ---- statements


@dataclass(frozen=True, slots=True)
class Target:
    """The left of an assignment; a type makes it a sharding constraint too."""

    pos: Pos
    name: str
    type: AnyType | None = None


@dataclass(frozen=True, slots=True)
class Assign:
    """`targets = value`; several targets unpack it."""

    pos: Pos
    targets: tuple[Target, ...]
    value: Expr


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


Statement: TypeAlias = Assign | Return | For | If | Assert | Docstring

# ---- the program


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
    """`results` is None where `->` is left out; a tuple of them is a TupleType."""

    pos: Pos
    name: str
    decorator: Decorator | None
    parameters: tuple[Parameter, ...]
    results: tuple[AnyType, ...] | None
    body: tuple[Statement, ...]
    doc: str | None = None


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
