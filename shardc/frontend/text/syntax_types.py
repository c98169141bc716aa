"""Types of the syntax tree, as written, and names with types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from shardc.frontend.text.places import Pos
from shardc.frontend.text.syntax_expressions import Expr


@dataclass(frozen=True, slots=True, eq=False)
class AxisRef:
    """An axis, or with `part` = (pre, size) a part of it: data, data:(1)2."""

    pos: Pos
    name: str
    part: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class DimType:
    """One dimension of a type. Not `annotated` is the bare `64`."""

    pos: Pos
    size: Expr
    annotated: bool = False
    axes: tuple[AxisRef, ...] = ()
    open: bool = False
    priority: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Rest:
    """`*B`: any number of dimensions, which the call binds."""

    pos: Pos
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Replicated:
    """`replicated`, or with axes `replicated(model)`."""

    pos: Pos
    axes: tuple[AxisRef, ...] | None


@dataclass(frozen=True, slots=True, eq=False)
class Partial:
    """`partial(sum: model)`."""

    pos: Pos
    kind: str
    axes: tuple[AxisRef, ...]


@dataclass(frozen=True, slots=True, eq=False)
class On:
    """`on pod`."""

    pos: Pos
    mesh: str


@dataclass(frozen=True, slots=True, eq=False)
class Notated:
    """`P("data", None)`, `(S(0), B)`: a sharding in the words of another system."""

    pos: Pos
    written: Expr


Suffix: TypeAlias = Replicated | Partial | On | Notated


@dataclass(frozen=True, slots=True, eq=False)
class Type:
    """`f32[B@data, D] partial(sum: model) on pod`, as written."""

    pos: Pos
    dtype: str
    dims: tuple[DimType | Rest, ...]
    suffixes: tuple[Suffix, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class NamedType:
    """`Layer`, a record; or `int`, `float`, `str`, `bool`: a value known while compiling."""

    pos: Pos
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class TupleType:
    """`(f32[4], Layer)`."""

    pos: Pos
    items: tuple[AnyType, ...]


AnyType: TypeAlias = Type | NamedType | TupleType
"""A type of a parameter or a result. The name before the brackets of a Type may be that of a record."""


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """The left of an assignment; a type makes it a sharding constraint too.

    `rest`: `*name`, which takes what the names beside it leave.
    """

    pos: Pos
    name: str
    type: AnyType | None = None
    rest: bool = False
