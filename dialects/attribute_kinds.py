"""The kinds of attribute that `Syntax.attrs` names: which IR attribute holds them, and how one is made.

`int` is a 64-bit integer, `i32` one of 32 bits, `ints` and `bools` dense arrays, `symbol` the name of a
function, `text` a list of strings, `pairs` and `dense` constant tensors, `groups` such a tensor or axes of a
mesh, `unit` a mark that is there or not, `any` whatever is written. Every attribute class is a kind by its
name: GatherAttr is `gather`.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from msgspec import Struct
from xdsl.dialects.builtin import (
    I1,
    I32,
    I64,
    ArrayAttr,
    BytesAttr,
    DenseArrayBase,
    DictionaryAttr,
    FlatSymbolRefAttrConstr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    UnitAttr,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute

from shardc.dialects import chlo_attributes, sdy_attributes
from shardc.dialects.dense import DenseAttr, pairs_attr
from shardc.dialects.stablehlo import attributes
from shardc.dialects.stablehlo.enums import WORDS, PrecisionAttr
from shardc.dialects.stablehlo.mesh_groups import MeshGroupsAttr
from shardc.ops import ShapeError

Write = Callable[[Any], Attribute]

DIRECTIONS = ("NONE", "FORWARD", "BACKWARD", "BOTH")
"""What an edge lets through, in the order of the numbers that stand for them."""


class AttributeKind(Struct, frozen=True):
    """What an attribute of an operation must be, as xDSL states it, and how a Python value becomes one.

    write is None where the value's type tells (dimension numbers, shardings), or its mesh is needed.
    """

    constraint: Any = Attribute
    write: Write | None = None


def integers(value: Any) -> Attribute:
    """`array<i64: 1, 2>`; ShapeError for numbers that need more than 64 bits."""
    return _int_array(tuple(map(int, value)))


@lru_cache(maxsize=1 << 14)
def _int_array(value: tuple[int, ...]) -> Attribute:
    for number in value:
        if not -(1 << 63) <= number < 1 << 63:
            raise ShapeError(f"{number} is no integer of 64 bits")
    return DenseArrayBase(i64, BytesAttr(struct.pack(f"<{len(value)}q", *value)))


@lru_cache(maxsize=1 << 14)
def integer(value: int, type: IntegerType) -> Attribute:
    """`8 : i64`."""
    return IntegerAttr(value, type)


def bools(value: Any) -> Attribute:
    """`array<i1: true, false>`."""
    return DenseArrayBase.from_list(i1, [int(item) for item in value])


def precisions(value: Any) -> Attribute:
    """`[DEFAULT, HIGHEST]`."""
    return ArrayAttr([PrecisionAttr(word) for word in value])


def _strings(value: Any) -> Attribute:
    return ArrayAttr([StringAttr(word) for word in value])


def _name(cls: type[Attribute]) -> str:
    """DotAlgorithmAttr -> dot_algorithm."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__.removesuffix("Attr")).lower()


KINDS: dict[str, AttributeKind] = {
    **{
        _name(cls): AttributeKind(cls)
        for cls in (chlo_attributes.RaggedDotAttr, *sdy_attributes.ATTRIBUTES, *attributes.ATTRIBUTES)
    },
    **{_name(cls): AttributeKind(cls, cls) for cls in WORDS},
    "int": AttributeKind(IntegerAttr[I64], lambda value: integer(int(value), i64)),
    "i32": AttributeKind(IntegerAttr[I32], lambda value: integer(int(value), i32)),
    "direction": AttributeKind(IntegerAttr[I32], lambda value: integer(DIRECTIONS.index(value), i32)),
    "bool": AttributeKind(IntegerAttr[I1], lambda value: integer(int(bool(value)), i1)),
    "float": AttributeKind(FloatAttr),
    "str": AttributeKind(StringAttr, StringAttr),
    "ints": AttributeKind(DenseArrayBase[I64], integers),
    "bools": AttributeKind(DenseArrayBase[I1], bools),
    "text": AttributeKind(ArrayAttr[StringAttr], _strings),
    "symbol": AttributeKind(FlatSymbolRefAttrConstr, SymbolRefAttr),
    "name": AttributeKind(SymbolNameConstraint(), StringAttr),
    "unit": AttributeKind(UnitAttr, lambda value: UnitAttr()),
    "pairs": AttributeKind(DenseAttr, pairs_attr),
    "groups": AttributeKind(DenseAttr | MeshGroupsAttr, pairs_attr),
    "dense": AttributeKind(DenseAttr),
    "dict": AttributeKind(DictionaryAttr),
    "array": AttributeKind(ArrayAttr[Attribute]),
    "aliases": AttributeKind(
        ArrayAttr[attributes.AliasAttr], lambda value: ArrayAttr(map(attributes.AliasAttr, value))
    ),
    "precision_config": AttributeKind(ArrayAttr[PrecisionAttr], precisions),
    "chlo_precision_config": AttributeKind(ArrayAttr[chlo_attributes.PrecisionAttr]),
    "channel": AttributeKind(attributes.ChannelAttr, attributes.ChannelAttr),
    "any": AttributeKind(),
}
"""Kind -> what it is."""
