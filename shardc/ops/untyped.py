"""What an inference function sees of an operation, and the error it raises.

Its accessors read attributes with a type; a missing or ill-typed one is a ShapeError that names it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, combinations
from typing import Any, TypeVar, cast

from msgspec import Struct

from shardc.graph.types import TensorType
from shardc.layout import Axis

A = TypeVar("A")
Types = tuple[TensorType, ...]
_REQUIRED = object()


class ShapeError(ValueError):
    """Operands, attributes or results that don't fit the operation; the text says which and why."""


class UntypedOp(Struct, frozen=True):
    """An operation before its result types are known.

    `given` are the result types the program states, if it does. `region_results` are, per region, the
    types its terminator returns; () where the caller does not know them, and then they are not checked.
    """

    name: str
    operands: Types
    attrs: Mapping[str, object]
    given: Types | None = None
    region_results: tuple[Types, ...] = ()

    @property
    def short(self) -> str:
        """The name without its dialect, as error texts have it."""
        return self.name.partition(".")[2]

    def error(self, text: str) -> ShapeError:
        """A ShapeError that begins with the operation's name."""
        return ShapeError(f"{self.short} {text}")

    def arity(self, *counts: int) -> Types:
        """The operands, if there are as many as one of `counts`."""
        if len(self.operands) not in counts:
            wanted = " or ".join(map(str, counts))
            raise self.error(f"takes {wanted} operands, got {len(self.operands)}")
        return self.operands

    def one(self) -> TensorType:
        """The only operand."""
        return self.arity(1)[0]

    def stated(self) -> TensorType:
        """The only result type the program states, for operations whose operands don't tell it."""
        if self.given is None:
            raise self.error("cannot infer its result type: state it (result=)")
        if len(self.given) != 1:
            raise self.error(f"has 1 result, got {len(self.given)}")
        return self.given[0]

    def result_dtype(self, default: str, index: int = 0) -> str:
        """The dtype the program states for a result, for operations that may widen; else `default`."""
        return self.given[index].dtype if self.given and index < len(self.given) else default

    def get(self, key: str, kind: type[A], default: object = _REQUIRED) -> A:
        """The attribute `key`, which is a `kind`."""
        value = self.attrs.get(key, default)
        if value is _REQUIRED:
            raise self.error(f"needs the attribute {key}")
        if not isinstance(value, kind):
            raise self.error(f"needs {key} to be {kind.__name__}, got {value!r}")
        return value

    def integer(self, key: str, default: object = _REQUIRED) -> int:
        """An integer attribute."""
        return self.get(key, int, default)

    def integers(self, key: str, default: object = _REQUIRED) -> tuple[int, ...]:
        """A tuple of integers."""
        return self.tuple_of(key, int, default)

    def axes(self, key: str) -> tuple[Axis, ...]:
        """A tuple of mesh axes, none of which overlap."""
        axes = self.tuple_of(key, Axis)
        for one, other in combinations(axes, 2):
            if one.overlaps(other):
                raise self.error(f"runs along {one} and {other}, which overlap")
        return axes

    def pairs(self, key: str, default: object = _REQUIRED) -> tuple[tuple[int, int], ...]:
        """A tuple of pairs of integers, as padding is."""
        pairs = cast("tuple[object, ...]", self.get(key, tuple, default))
        for pair in () if _are_pairs(pairs) else pairs:
            match pair:
                case (int(), int()):
                    continue
                case _:
                    raise self.error(f"needs {key} to hold pairs of integers, got {pair!r}")
        return cast("tuple[tuple[int, int], ...]", pairs)

    def tuple_of(self, key: str, kind: type[A], default: object = _REQUIRED) -> tuple[A, ...]:
        """A tuple whose items are `kind`s."""
        items = cast("tuple[object, ...]", self.get(key, tuple, default))
        for item in items:
            if not isinstance(item, kind):
                raise self.error(f"needs {key} to hold {kind.__name__}, got {item!r}")
        return cast("tuple[A, ...]", items)

    def dimension(self, key: str, rank: int, default: object = _REQUIRED) -> int:
        """An attribute that is a dimension of a tensor of rank `rank`."""
        dim = self.integer(key, default)
        self.check_dims(key, (dim,), rank)
        return dim

    def dimensions(self, key: str, rank: int) -> tuple[int, ...]:
        """An attribute that lists distinct dimensions of a tensor of rank `rank`."""
        dims = self.integers(key)
        self.check_dims(key, dims, rank)
        return dims

    def check_dims(self, key: str, dims: Sequence[int], rank: int) -> None:
        """Raise unless `dims` are distinct and below `rank`."""
        for dim in dims:
            if not 0 <= dim < rank:
                raise self.error(f"has {key} {dim}, which is no dimension of a tensor of rank {rank}")
        if len(set(dims)) != len(dims):
            raise self.error(f"has {key} {list(dims)}, which names a dimension twice")

    def check_length(self, key: str, values: Sequence[object], length: int) -> None:
        """Raise unless the attribute has one entry for each of `length` dimensions."""
        if len(values) != length:
            raise self.error(f"needs {length} entries in {key}, got {len(values)}")

    def check_region(self, index: int, expected: Types) -> None:
        """Raise unless region `index` returns `expected`, where what it returns is known."""
        if index < len(self.region_results) and self.region_results[index] != expected:
            raise self.error(
                f"needs its region {index} to return {types_text(expected)}, "
                f"got {types_text(self.region_results[index])}"
            )


MANY = 1_000
"""Pairs that are looked through once, not each time that an operation has them."""

_MANY: deque[tuple[Any, ...]] = deque(maxlen=32)
"""The last of those, themselves: equal ones may be of floats."""


def _are_pairs(items: tuple[Any, ...]) -> bool:
    """Whether they are, of integers that are no booleans: seen soon, since a permute may have thousands."""
    if any(items is known for known in _MANY):
        return True
    if {*map(type, items)} != {tuple} or {*map(len, items)} != {2}:
        return not items
    found = {*map(type, chain.from_iterable(items))} == {int}
    if found and len(items) > MANY:
        _MANY.append(items)
    return found


Rule = Callable[[UntypedOp], Types]
"""Result types of an operation; raises ShapeError."""


def types_text(types: Sequence[TensorType]) -> str:
    """f32[2, 3] and f32[3]; nothing where there are none."""
    return " and ".join(map(str, types)) or "nothing"
