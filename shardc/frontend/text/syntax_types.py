"""Types of the syntax tree, as written, and names with types."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from shardc.frontend.text.places import Pos
from shardc.frontend.text.syntax_expressions import Expr


class AxisRef(Struct, frozen=True, eq=False):
    """An axis, or with `part` = (pre, size) a part of it: data, data:(1)2."""

    pos: Pos
    name: str
    part: tuple[int, int] | None = None


class DimType(Struct, frozen=True, eq=False):
    """One dimension of a type. Not `annotated` is the bare `64`."""

    pos: Pos
    size: Expr
    annotated: bool = False
    axes: tuple[AxisRef, ...] = ()
    open: bool = False
    priority: int | None = None


class Rest(Struct, frozen=True, eq=False):
    """`*B`: any number of dimensions, which the call binds."""

    pos: Pos
    name: str


class Replicated(Struct, frozen=True, eq=False):
    """`replicated`, or with axes `replicated(model)`."""

    pos: Pos
    axes: tuple[AxisRef, ...] | None


class Partial(Struct, frozen=True, eq=False):
    """`partial(sum: model)`."""

    pos: Pos
    kind: str
    axes: tuple[AxisRef, ...]


class On(Struct, frozen=True, eq=False):
    """`on pod`."""

    pos: Pos
    mesh: str


class Notated(Struct, frozen=True, eq=False):
    """`P("data", None)`, `(S(0), B)`: a sharding in the words of another system."""

    pos: Pos
    written: Expr


Suffix: TypeAlias = Replicated | Partial | On | Notated


class Type(Struct, frozen=True, eq=False):
    """`f32[B@data, D] partial(sum: model) on pod`, as written."""

    pos: Pos
    dtype: str
    dims: tuple[DimType | Rest, ...]
    suffixes: tuple[Suffix, ...] = ()


class NamedType(Struct, frozen=True, eq=False):
    """`Layer`, a record; or `int`, `float`, `str`, `bool`: a value known while compiling."""

    pos: Pos
    name: str


class TupleType(Struct, frozen=True, eq=False):
    """`(f32[4], Layer)`."""

    pos: Pos
    items: tuple[AnyType, ...]


AnyType: TypeAlias = Type | NamedType | TupleType
"""A type of a parameter or a result. The name before the brackets of a Type may be that of a record."""


class Target(Struct, frozen=True, eq=False):
    """The left of an assignment; a type makes it a sharding constraint too.

    `rest`: `*name`, which takes what the names beside it leave.
    """

    pos: Pos
    name: str
    type: AnyType | None = None
    rest: bool = False
