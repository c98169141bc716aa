"""Making records: Layer(up=u, down=d), and Layer[L](…) of stacks. Values have the shapes of the fields."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from shardc.diagnostics import listed
from shardc.frontend.text import syntax as s
from shardc.frontend.text.annotations import Annotated, Types
from shardc.frontend.text.fitting import fit
from shardc.frontend.text.generic import Binder, Bound
from shardc.frontend.text.scope import Scope
from shardc.frontend.text.trees import leaves
from shardc.frontend.text.typed import Typed, TypedRecord, annotated_leaves, resolved, stacked
from shardc.frontend.text.values import RecordValue, Tensor, Value, plural
from shardc.graph.types import TensorType
from shardc.layout.sharding import Dim

_STACK = "…"
"""What the dimensions in front of all fields are bound to, where the call does not say which they are."""


def record_of(scope: Scope, function: s.Expr) -> tuple[s.RecordDef, tuple[s.DimType | s.Rest, ...]] | None:
    """The record that `Layer` or `Layer[L]` names, and the dimensions in front of its fields."""
    name, subscripts = function, ()
    if isinstance(function, s.Index):
        name, subscripts = function.value, function.subscripts
    if isinstance(name, s.Attribute):
        name = scope.imported(name)
    records = scope.program.records
    if not isinstance(name, s.Name) or name.id in scope.names or name.id not in records:
        return None
    dims = tuple(s.DimType(one.pos, one) for one in subscripts if not isinstance(one, s.Slice))
    return records[name.id], dims if isinstance(function, s.Index) else (s.Rest(function.pos, _STACK),)


def construct(
    scope: Scope, record: s.RecordDef, dims: tuple[s.DimType | s.Rest, ...], expr: s.Call
) -> RecordValue:
    """A record of the arguments of a call. Raises ShardcError."""
    names = [field.name for field in record.fields]
    if len(expr.args) > len(names):
        raise scope.e.error(f"{record.name} has {plural(len(names), 'field')}", pos=expr.pos)
    given: dict[str, s.Expr] = dict(zip(names, expr.args, strict=False))
    for keyword in expr.keywords:
        if keyword.name not in names:
            hint = listed(keyword.name, names, "its fields are")
            raise scope.e.error(f"{record.name} has no field {keyword.name}", hint, keyword.pos)
        if keyword.name in given:
            raise scope.e.error(f"{record.name}: {keyword.name} is given twice", pos=keyword.pos)
        given[keyword.name] = keyword.value
    missing = [name for name in names if name not in given]
    if missing:
        raise scope.e.error(f"{record.name} is made without {', '.join(missing)}", pos=expr.pos)
    values = [(scope.value(given[name]), given[name].pos) for name in names]
    plain = [value for value, _ in values]
    fitted = plain if _of_axes(record, dims, plain) else _fitted(scope, record, dims, values)
    return RecordValue(record.name, tuple(zip(names, fitted, strict=True)))


def _of_axes(record: s.RecordDef, dims: tuple[s.DimType | s.Rest, ...], values: Sequence[Value]) -> bool:
    """Whether a record has an axis or None for each of its fields, as vmap takes it: Layer(0, None).

    A record whose fields are all scalars is one of those numbers.
    """
    if not any(isinstance(dim, s.Rest) and dim.name == _STACK for dim in dims):
        return False
    if not all(leaf is None or type(leaf) is int for value in values for leaf in leaves(value)):
        return False
    return not all(_takes(field.type, value) for field, value in zip(record.fields, values, strict=True))


def _takes(written: s.AnyType | None, value: Value) -> bool:
    """Whether a type is that of a scalar where the value is a number, and so for each item of a tuple."""
    if isinstance(written, s.TupleType):
        items = value if isinstance(value, tuple) else ()
        return len(items) == len(written.items) and all(map(_takes, written.items, items))
    return isinstance(written, s.Type) and not written.dims and isinstance(value, int)


def _fitted(
    scope: Scope,
    record: s.RecordDef,
    dims: tuple[s.DimType | s.Rest, ...],
    values: list[tuple[Value, s.Pos]],
) -> list[Value]:
    """The values as the types of the fields want them, all with the same dimensions in front."""
    types, records = scope.program.types, scope.program.records
    bound = Bound(dict(types.bound), dict(types.rests))
    declared = f"{record.name} is declared at {scope.e.place(record.pos)}"
    written = [stacked(field.type, dims) for field in record.fields if field.type is not None]
    for field, type, (value, pos) in zip(record.fields, written, values, strict=True):
        if isinstance(value, Tensor) and isinstance(field.type, s.Type) and value.rank < len(field.type.dims):
            continue  # which is said below, of the type as it is written
        name = f"{field.name} of {record.name}"
        Binder(types, records, bound, name, pos, declared, "field").bind(type, value)
    bound.rests.setdefault(_STACK, ())

    def why(_: TensorType) -> tuple[str, str]:
        said = [f"{name} is {bound.rests[name]}" for name in bound.places if name in bound.rests]
        named = [one.replace(f"{_STACK} is", "what is stacked is") for one in said if "()" not in one]
        return "", "; ".join([*named, declared])

    fitted: list[Value] = []
    with _naming(types, bound):
        for field, type, (value, pos) in zip(record.fields, written, values, strict=True):
            typed = _of_blocks(scope, resolved(types, records, type, "allowed"))
            reasons = iter([why] * len(list(annotated_leaves(typed))))
            fitted.append(fit(scope, typed, value, f"field {field.name} of {record.name}", pos, reasons))
    return fitted


@contextmanager
def _naming(types: Types, bound: Bound) -> Generator[None]:
    """Inside, types may name what the values have bound."""
    old = types.bound, types.rests
    types.bound, types.rests = bound.sizes, bound.rests
    try:
        yield
    finally:
        types.bound, types.rests = old


def _of_blocks(scope: Scope, typed: Typed) -> Typed:
    """In per-device code, the types of the blocks."""
    if isinstance(typed, tuple):
        return tuple(_of_blocks(scope, one) for one in typed)
    if isinstance(typed, TypedRecord):
        return replace(typed, fields=tuple((name, _of_blocks(scope, one)) for name, one in typed.fields))
    if not isinstance(typed, Annotated) or typed.sharding is None or scope.manual is None:
        return typed
    _, manual = scope.manual
    parts = [Dim(tuple(a for a in dim.axes if a.name in manual)).parts for dim in typed.sharding.dims]
    shape = tuple(-(-n // p) for n, p in zip(typed.type.shape, parts, strict=True))
    return replace(typed, type=typed.type.with_shape(shape))
