"""What an expression of the language may be worth: a tensor, or something known while compiling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import Struct
from xdsl.ir import SSAValue

from shardc.diagnostics import Location
from shardc.graph.types import TensorType
from shardc.layout import Sharding
from shardc.layout.axes import Axis


class Tensor(Struct, frozen=True, eq=False):
    """A value of the program that is built. `weak`: its dtype came from Python numbers only (promotion.py).

    `sharding` is the annotation it was last given, if any.
    """

    value: SSAValue
    type: TensorType
    weak: bool = False
    sharding: Sharding | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def dtype(self) -> str:
        return self.type.dtype

    @property
    def rank(self) -> int:
        return self.type.rank


class Dtype(Struct, frozen=True):
    """A dtype's name where a value is expected: astype(x, bf16)."""

    name: str


LAMBDA = "this lambda"
"""The name of a function without one."""


class FunctionName(Struct, frozen=True):
    """A function of the program, or a lambda, where a value is expected: op(…, body=add).

    `apply` builds its body, of values. `parameters` is None if it takes arguments of any type.
    """

    name: str
    parameters: tuple[TensorType, ...] | None
    apply: Callable[..., Value]
    captured: tuple[Value, ...] = ()
    """What the body uses besides its arguments: the values of its names where it was written."""
    over: Callable[[tuple[Value, ...]], FunctionName] | None = None
    """The same function with other values captured."""
    named: bool = False
    """Whether `apply` takes arguments by name."""


class RecordValue(Struct, frozen=True):
    """A value of `record name`: its fields in their order."""

    name: str
    fields: tuple[tuple[str, Value], ...]


class At(Struct, frozen=True):
    """`x.at`"""

    tensor: Tensor


class Chosen(Struct, frozen=True):
    """`x.at[…]`, with the subscripts as they are evaluated."""

    tensor: Tensor
    subscripts: tuple[Any, ...]


class Dots:
    """`...`"""


class Fields(Struct, frozen=True):
    """`{name=value, …}`"""

    entries: tuple[tuple[str, Value], ...]


Scalar: TypeAlias = bool | int | float
Number: TypeAlias = bool | int | float | complex
"""What a program may write as a number; Scalar has those with an order."""

Operand: TypeAlias = Tensor | bool | int | float | complex
MeshAxes: TypeAlias = tuple[Axis, ...]
"""An axis_name argument: mesh axes, major to minor."""

NamedAxes: TypeAlias = tuple[Axis, ...]
"""The same, of a function that may stand outside of per-device code."""

Dims: TypeAlias = int | tuple[int, ...] | None
"""An axis argument: one dimension, several, or all."""

Known: TypeAlias = (
    Tensor
    | bool
    | int
    | float
    | complex
    | str
    | Dtype
    | TensorType
    | FunctionName
    | RecordValue
    | At
    | Chosen
    | Dots
    | Fields
    | None
)

Value: TypeAlias = "Known | tuple[Value, ...]"
"""What an expression may be worth."""


BlockTree: TypeAlias = "Operand | tuple[BlockTree, ...]"
"""What a collective takes: a tensor, or a tuple of them."""


class Placed(Struct, frozen=True):
    """An argument, with its place for errors."""

    value: Value
    loc: Location


def describe(value: Value) -> str:
    """What a value is, for error messages."""
    match value:
        case Tensor():
            return str(value.type)
        case None:
            return "None"
        case bool() | int() | float() | complex():
            return f"the number {value}" if not isinstance(value, bool) else str(value)
        case str():
            return f'the text "{value}"'
        case Dtype():
            return f"the dtype {value.name}"
        case TensorType():
            return f"the type {value}"
        case FunctionName():
            return LAMBDA if value.name == LAMBDA else f"the function {value.name}"
        case tuple():
            more = ["…"] if len(value) > 4 else []
            return f"the tuple ({', '.join([*map(describe, value[:4]), *more])})"
        case At() | Chosen():
            return "x.at" if isinstance(value, At) else "x.at[…]"
        case Dots():
            return "..."
        case Fields():
            return "a record {…}"
        case RecordValue():
            return f"a {value.name}"


def plural(count: int, noun: str) -> str:
    """1 value, 2 values"""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def shape_text(shape: tuple[int, ...]) -> str:
    """(2, 4), as NumPy writes it; (2,) for one dimension."""
    return str(tuple(shape))
