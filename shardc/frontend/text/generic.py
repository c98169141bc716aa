"""Functions for any shape: what a call binds, and the types that its parameters have then.

def norm(x: f32[*B, N], g: f32[N])      norm(f32[2, 8, 4], f32[4])      B = (2, 8), N = 4
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from shardc.diagnostics import ShardcError
from shardc.frontend.text import syntax as s
from shardc.frontend.text.annotations import Types
from shardc.frontend.text.depth import children
from shardc.frontend.text.printer import type_text
from shardc.frontend.text.typed import KNOWN, Records, stacked
from shardc.frontend.text.values import RecordValue, Tensor, Value, describe


class Bound(Struct):
    """The names that the dimensions of arguments have given a size, and where each was."""

    sizes: dict[str, int] = {}
    rests: dict[str, tuple[int, ...]] = {}
    places: dict[str, str] = {}

    def why(self) -> str:
        """`N is 4 by x, B is (2, 8) by x`."""
        values: dict[str, object] = {**self.rests, **self.sizes}
        return ", ".join(f"{name} is {values[name]} by {place}" for name, place in self.places.items())


def is_generic(function: s.Function, records: Records, sizes: Mapping[str, object]) -> bool:
    """Whether a function is built for each form of its arguments."""
    return any(
        parameter.type is None or is_open(parameter.type, records, sizes) for parameter in function.parameters
    )


def is_open(written: s.AnyType, records: Records, sizes: Mapping[str, object]) -> bool:
    """Whether a type leaves something to the call: a dimension's name, or a value known while compiling."""
    if isinstance(written, s.TupleType):
        return any(is_open(item, records, sizes) for item in written.items)
    if isinstance(written, s.NamedType):
        return written.name in KNOWN
    return any(isinstance(dim, s.Rest) or _names(dim.size, sizes) for dim in written.dims)


def _names(expr: s.Expr | s.Slice, sizes: Mapping[str, object]) -> bool:
    todo = [expr]
    while todo:
        node = todo.pop()
        if isinstance(node, s.Name) and node.id not in sizes:
            return True
        todo += children(node)
    return False


class Binder:
    """Learns from one argument what the names in its parameter's type mean, or from a field's value."""

    def __init__(
        self,
        types: Types,
        records: Records,
        bound: Bound,
        name: str,
        place: s.Pos,
        of: str,
        noun: str = "argument",
    ) -> None:
        self.types, self.records, self.bound = types, records, bound
        self.name, self.place, self.of, self.noun = name, place, of, noun

    def bind(self, written: s.AnyType, value: Value) -> None:
        """Bind what is free in the type. Raises ShardcError for a tensor of another rank."""
        if isinstance(written, s.TupleType):
            if isinstance(value, tuple) and len(value) == len(written.items):
                for item, one in zip(written.items, value, strict=True):
                    self.bind(item, one)
        elif isinstance(written, s.Type) and written.dtype in self.records:
            self._record(written, value)
        elif isinstance(written, s.Type) and isinstance(value, Tensor):
            self._dims(written, value)

    def _record(self, written: s.Type, value: Value) -> None:
        """Layer[L]: each field has the dimensions L in front of its own."""
        if isinstance(value, RecordValue):
            for field_, (_, item) in zip(self.records[written.dtype].fields, value.fields, strict=False):
                assert field_.type is not None
                self.bind(stacked(field_.type, written.dims), item)

    def _dims(self, written: s.Type, value: Tensor) -> None:
        types, bound, shape = self.types, self.bound, value.shape
        rests = [i for i, dim in enumerate(written.dims) if isinstance(dim, s.Rest)]
        if len(rests) > 1:
            raise types.e.error("a type has one *name", pos=written.dims[rests[1]].pos)
        many = len(shape) - (len(written.dims) - 1) if rests else 0
        if many < 0 or (not rests and len(shape) != len(written.dims)):
            what = f"{self.noun} {self.name} is {value.type}, and should be {type_text(written)}"
            raise types.e.error(what, self.of, self.place)
        at = 0
        for dim in written.dims:
            if isinstance(dim, s.Rest):
                if dim.name not in bound.rests:
                    bound.rests[dim.name], bound.places[dim.name] = shape[at : at + many], self.name
                at += many
                continue
            size = dim.size
            if isinstance(size, s.Name) and not {size.id} & {*types.sizes, *types.constants, *bound.sizes}:
                bound.sizes[size.id], bound.places[size.id] = shape[at], self.name
            at += 1


def check_known(types: Types, written: s.NamedType, value: Value, what: str, pos: s.Pos) -> None:
    """An error unless the argument of a parameter like `k: int` is a number, a text or a bool."""
    fits = isinstance(value, KNOWN[written.name]) and isinstance(value, bool) == (written.name == "bool")
    if not fits:
        raise types.e.error(
            f"{what} is {describe(value)}, and should be {_A[written.name]} known while compiling", pos=pos
        )


_A = {"int": "a whole number", "float": "a number", "str": "a text", "bool": "True or False"}


def called_from(error: ShardcError, name: str, place: str, args: str) -> ShardcError:
    """An error in a function that was built for a call, with the place of the call."""
    told = error.diagnostic
    note = f"in {name}({args}), called at {place}"
    if told.hint and told.hint.endswith(note):
        return error  # it calls itself, by the same call
    return ShardcError(told.message, told.loc, f"{told.hint}\n    note: {note}" if told.hint else note)
