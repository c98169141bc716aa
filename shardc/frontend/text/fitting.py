"""Values as the types of parameters, results and targets want them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from shardc.frontend.text import syntax as s
from shardc.frontend.text.annotations import Annotated
from shardc.frontend.text.scope import Scope
from shardc.frontend.text.typed import Fixed, Typed, TypedRecord, described
from shardc.frontend.text.values import Number, RecordValue, Tensor, Value, describe
from shardc.graph.types import TensorType, is_complex, is_inexact

Misfit = Callable[[TensorType], tuple[str, str | None]]
"""Of the type that a value has: why it should have another, and a hint."""


def fit(
    scope: Scope, typed: Typed, value: Value, what: str, pos: s.Pos, why: Iterator[Misfit] | None = None
) -> Value:
    """A value as a type wants it, tuples and records by their items. `why` has one for each tensor."""
    if isinstance(typed, Annotated):
        return as_type(scope, value, typed.type, what, pos, next(why) if why else None)
    if isinstance(typed, Fixed):
        return typed.value
    fields = typed.fields if isinstance(typed, TypedRecord) else tuple(enumerate(typed))
    items = _items(typed, value)
    if len(items) != len(fields):
        raise scope.e.error(f"{what} is {describe(value)}, and should be {described(typed)}", pos=pos)
    noun = "field" if isinstance(typed, TypedRecord) else "item"
    fitted = tuple(
        fit(scope, one, item, f"{noun} {name} of {what}", pos, why)
        for (name, one), item in zip(fields, items, strict=True)
    )
    if isinstance(typed, TypedRecord):
        return RecordValue(typed.name, tuple((n, v) for (n, _), v in zip(typed.fields, fitted, strict=True)))
    return fitted


def _items(typed: Typed, value: Value) -> tuple[Value, ...]:
    """The items of a tuple, or of a record of that name; none of anything else."""
    if isinstance(value, RecordValue) and isinstance(typed, TypedRecord) and value.name == typed.name:
        return tuple(item for _, item in value.fields)
    return value if isinstance(value, tuple) else ()


def as_type(
    scope: Scope, value: Value, type: TensorType, what: str, pos: s.Pos, why: Misfit | None = None
) -> Tensor:
    """A value as a tensor of exactly this type: numbers and weak dtypes adapt, nothing else does.

    `why` says of a type of another shape why it should be this one, and what would help.
    """
    e = scope.e
    with e.at(pos):
        if isinstance(value, Number):
            if type.shape == () and _holds(type.dtype, value):
                return e.splat(value, type)
            raise e.error(f"{what} is the number {value}, and should be {type}")
        if not isinstance(value, Tensor):
            raise e.error(f"{what} is {describe(value)}, and should be {type}")
        if value.shape == type.shape and (value.dtype == type.dtype or _adapts(value, type.dtype)):
            return e.cast(value, type.dtype)
        reason, hint = "", f"astype(x, {type.dtype}) converts"
        if is_complex(value.dtype) and not is_complex(type.dtype):
            hint = "real(x) is its real part"
        if value.shape != type.shape:
            reason, hint = why(value.type) if why else ("", None)
        raise e.error(f"{what} is {value.type}, and should be {type}{reason}", hint)


def _holds(dtype: str, value: Number) -> bool:
    """Whether a number is one of the dtype's kind."""
    if isinstance(value, complex):
        return is_complex(dtype)
    return is_inexact(dtype) or not isinstance(value, float)


def _adapts(value: Tensor, dtype: str) -> bool:
    """Whether a weak dtype may become this one: i32 any number, f32 any float or complex, c64 complex."""
    if not value.weak or is_complex(value.dtype):
        return value.weak and is_complex(dtype)
    return is_inexact(dtype) or (value.dtype == "i32" and dtype != "bool")
