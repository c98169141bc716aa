"""What the types of parameters and results mean: tensors, and tuples and records of them.

record Layer:                        Layer[L] is the record of stacks:
    w: f32[D, F@model]               w: f32[L, D, F@model]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from shardc.diagnostics import did_you_mean
from shardc.frontend.text import syntax as s
from shardc.frontend.text.annotations import Annotated, Types, Uneven
from shardc.frontend.text.promotion import DTYPES, SPELLED
from shardc.frontend.text.values import LAMBDA, Dtype, FunctionName, RecordValue, Tensor, Value
from shardc.graph.trees import Branch, Tree
from shardc.graph.types import TensorType


class Fixed(Struct, frozen=True):
    """A parameter that is known while compiling, with its value."""

    value: Value


class TypedRecord(Struct, frozen=True):
    """The types of a record's fields."""

    name: str
    fields: tuple[tuple[str, Typed], ...]


Typed: TypeAlias = "Annotated | Fixed | TypedRecord | tuple[Typed, ...]"
"""What a parameter or a result is."""

Records: TypeAlias = Mapping[str, s.RecordDef]

KNOWN: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "str": (str,), "bool": (bool,)}
"""Types of values that are known while compiling."""


def resolved(types: Types, records: Records, written: s.AnyType, uneven: Uneven) -> Typed:
    """The meaning of a written type. Raises ShardcError."""
    return _resolved(types, records, written, uneven, ())


def _resolved(
    types: Types, records: Records, written: s.AnyType, uneven: Uneven, outer: tuple[str, ...]
) -> Typed:
    if isinstance(written, s.TupleType):
        return tuple(_resolved(types, records, item, uneven, outer) for item in written.items)
    if isinstance(written, s.Type) and written.dtype not in records:
        return types.resolve(written, uneven)
    name = written.dtype if isinstance(written, s.Type) else written.name
    if name not in records:
        raise types.e.error(*_no_type(name, records), written.pos)
    record = records[name]
    if record.name in outer:
        raise types.e.error(f"record {record.name} contains itself", pos=written.pos)
    dims = written.dims if isinstance(written, s.Type) else ()
    if isinstance(written, s.Type) and written.suffixes:
        raise types.e.error("what stands after a type is said of the fields of a record", pos=written.pos)
    fields: list[tuple[str, Typed]] = []
    for field in record.fields:
        assert field.type is not None
        inner = stacked(field.type, dims)
        fields.append((field.name, _resolved(types, records, inner, uneven, (*outer, record.name))))
    return TypedRecord(record.name, tuple(fields))


def _no_type(name: str, records: Records) -> tuple[str, str | None]:
    """What is said of a name that is no type here."""
    if name in SPELLED:
        return f"{name} is a dtype", f"the type of a scalar is written with brackets: {name}[]"
    if name in KNOWN:
        return f"{name} is the type of an argument known while compiling", "f32[] is a tensor"
    return f"unknown type {name}", did_you_mean(name, (*records, *KNOWN, *(f"{one}[]" for one in DTYPES)))


def stacked(written: s.AnyType, dims: tuple[s.DimType | s.Rest, ...]) -> s.AnyType:
    """A type with these dimensions in front."""
    if not dims:
        return written
    if isinstance(written, s.TupleType):
        return replace(written, items=tuple(stacked(item, dims) for item in written.items))
    if isinstance(written, s.NamedType):
        return s.Type(written.pos, written.name, dims)
    return replace(written, dims=(*dims, *written.dims))


def annotated_leaves(typed: Typed) -> Iterator[Annotated]:
    """The tensors of a type, in order."""
    if isinstance(typed, tuple):
        for item in typed:
            yield from annotated_leaves(item)
    elif isinstance(typed, TypedRecord):
        for _, item in typed.fields:
            yield from annotated_leaves(item)
    elif isinstance(typed, Annotated):
        yield typed


def filled(typed: Typed, tensors: Iterator[Tensor]) -> Value:
    """A value of that type, made of these tensors."""
    if isinstance(typed, tuple):
        return tuple(filled(item, tensors) for item in typed)
    if isinstance(typed, TypedRecord):
        return RecordValue(typed.name, tuple((name, filled(item, tensors)) for name, item in typed.fields))
    if isinstance(typed, Fixed):
        return typed.value
    return next(tensors)


def typed_of(value: Value, pos: s.Pos) -> Typed:
    """The type of a value that was given for a parameter without one."""
    if isinstance(value, tuple):
        return tuple(typed_of(item, pos) for item in value)
    if isinstance(value, RecordValue):
        return TypedRecord(value.name, tuple((name, typed_of(item, pos)) for name, item in value.fields))
    if isinstance(value, Tensor):
        return Annotated(value.type, None, written_as(value.type, pos), value.weak)
    return Fixed(value)


def written_as(type: TensorType, pos: s.Pos) -> s.Type:
    """The type as it would be written."""
    dims = tuple(s.DimType(pos, s.Number(pos, size)) for size in type.shape)
    return s.Type(pos, type.dtype, dims)


def described(typed: Typed) -> str:
    """f32[4], (f32[4], Layer), 0.5: for messages."""
    if isinstance(typed, tuple):
        return f"({', '.join(map(described, typed))}{',' * (len(typed) == 1)})"
    if isinstance(typed, TypedRecord):
        return typed.name
    return _written(typed.value) if isinstance(typed, Fixed) else str(typed.type)


def _written(value: Value) -> str:
    """0.5, "mean", f32, tanh, a lambda: what is known while compiling, as a call has it."""
    match value:
        case FunctionName():
            return "a lambda" if value.name == LAMBDA else value.name
        case Dtype():
            return value.name
        case str():
            return f'"{value}"'
        case _:
            return str(value)


def tree_of_type(typed: Typed) -> Tree:
    """Which tensors of a type are the items of its tuples and records."""
    if isinstance(typed, tuple):
        return Branch(tuple(map(tree_of_type, typed)))
    if isinstance(typed, TypedRecord):
        names, items = zip(*typed.fields, strict=True)
        return Branch(tuple(map(tree_of_type, items)), typed.name, names)
    return None


def leaf_names(typed: Typed, name: str) -> list[str]:
    """What the tensors of a parameter are called: layer_wq, pair_0."""
    if isinstance(typed, tuple):
        return [one for i, item in enumerate(typed) for one in leaf_names(item, f"{name}_{i}")]
    if isinstance(typed, TypedRecord):
        return [one for field, item in typed.fields for one in leaf_names(item, f"{name}_{field}")]
    return [name] if isinstance(typed, Annotated) else []
