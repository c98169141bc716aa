"""Arrays without data: what is done to them becomes operations of a Graph, by NumPy's rules.

A Recorded is a value of the graph that is built. Python numbers take their dtype from the array they meet;
operands are broadcast as NumPy does, by broadcast_in_dim. What NumPy would do and no operation here says
raises Beyond, as does a program of more than MOST_OPERATIONS; what NumPy would refuse raises Refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from shardc.analysis.build import GraphBuilder
from shardc.graph import Dense, TensorType, is_integer
from shardc.graph.types import DTYPES, name_of
from shardc.ops import OpDef, ShapeError, hlo
from shardc.proof.reading.ranges import range_of
from shardc.proof.values import Beyond, Refused, Unfit

MOST_OPERATIONS = 1 << 15

_REFUSED = (hlo.concatenate, hlo.dot_general, hlo.reshape, hlo.transpose)
"""Operations that NumPy has too and, on arrays of one dtype, refuses where they do not fit."""


def short(dtype: object) -> str:
    """f32, of a NumPy dtype. Raises Beyond where there is none."""
    found = name_of(np.dtype(cast(Any, dtype)))
    if found is None:
        raise Beyond(f"arrays of {dtype}")
    return found


def broadcast_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of arrays together. Raises Refused where they do not fit."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        raise Refused(str(error)) from error


def dim_of(axis: int, rank: int) -> int:
    """A dimension, which may be counted from the end. Raises Refused where there is none."""
    if not -rank <= axis < rank:
        raise Refused(f"axis {axis} of an array of {rank} dimensions")
    return axis % rank


class Recorder:
    """Builds the graph; one for each text that is read.

    roots: whether 1.0 / np.sqrt(x) is read as rsqrt, which is written so. rooted: what square roots are taken
    of; bounds: the least and the greatest number that integers can be, where the text says so (ranges.py).
    """

    def __init__(self, roots: bool = False) -> None:
        self.builder = GraphBuilder()
        self.roots = roots
        self.count = 0
        self.rooted: dict[int, Recorded] = {}
        self.bounds: dict[int, tuple[int, int]] = {}

    def op(self, definition: OpDef, *operands: Recorded, **given: Any) -> list[Recorded]:
        """One operation; see GraphBuilder.op."""
        self.count += 1
        if self.count > MOST_OPERATIONS:
            raise Beyond(f"texts that run more than {MOST_OPERATIONS} operations")
        try:
            values = self.builder.op(definition.name, *(operand.value for operand in operands), **given)
        except ShapeError as error:
            one = len({operand.type.dtype for operand in operands}) == 1
            if definition.name.startswith("spmd.") or (definition in _REFUSED and one):
                raise Refused(str(error)) from error
            raise Unfit(str(error)) from error
        if definition is hlo.sqrt:
            self.rooted[values[0]] = operands[0]
        known = [self.bounds.get(operand.value) for operand in operands]
        if values and (found := range_of(definition, known, given, self.builder.type_of(values[0]))):
            self.bounds[values[0]] = found
        return [Recorded(self, value) for value in values]

    def one(self, definition: OpDef, *operands: Recorded, **given: Any) -> Recorded:
        (result,) = self.op(definition, *operands, **given)
        return result

    def constant(self, value: object, dtype: str, shape: tuple[int, ...] | None = None) -> Recorded:
        """An array that the text writes out, or with a shape one that is full of a number."""
        data = np.asarray(value).astype(DTYPES[dtype][1])
        if any(size < 0 for size in shape or ()):
            raise Refused(f"an array of the shape {shape}")
        return self.one(hlo.constant, value=Dense(data, data.shape if shape is None else shape))

    def lifted(self, value: object, dtype: str) -> Recorded:
        """An operand: arrays as they are, numbers in the dtype."""
        return value if isinstance(value, Recorded) else self.constant(value, dtype)

    def alike(self, *values: object) -> list[Recorded]:
        """Operands in the dtype and shape that NumPy finds for them together."""
        met = [v.type.numpy if isinstance(v, Recorded) else v for v in values]
        dtype = short(np.result_type(*cast(Any, met)))
        return self.broadcast(*(self.converted(self.lifted(value, dtype), dtype) for value in values))

    def broadcast(self, *operands: Recorded) -> list[Recorded]:
        shape = broadcast_shape(*(operand.shape for operand in operands))
        return [self.spread(operand, shape) for operand in operands]

    def spread(self, operand: Recorded, shape: tuple[int, ...]) -> Recorded:
        """np.broadcast_to."""
        if operand.shape == shape:
            return operand
        if broadcast_shape(operand.shape, shape) != shape:
            raise Refused(f"an array {operand.type} where {shape} is wanted")
        places = tuple(range(len(shape) - operand.type.rank, len(shape)))
        result = operand.type.with_shape(shape)
        return self.one(hlo.broadcast_in_dim, operand, results=[result], broadcast_dimensions=places)

    def converted(self, operand: Recorded, dtype: str) -> Recorded:
        if operand.type.dtype == dtype:
            return operand
        return self.one(hlo.convert, operand, results=[operand.type.with_dtype(dtype)])

    def reshaped(self, operand: Recorded, shape: tuple[int, ...]) -> Recorded:
        if operand.shape == shape:
            return operand
        return self.one(hlo.reshape, operand, results=[operand.type.with_shape(shape)])

    def elementwise(self, definition: OpDef, *values: object, **attrs: object) -> Recorded:
        """An operation of operands that are broadcast."""
        return self.one(definition, *self.alike(*values), **attrs)


class Recorded:
    """One array of the text: a value of the graph. It has the methods that emitted texts use."""

    __array_ufunc__ = None  # NumPy's own numbers leave operators to this class

    def __init__(self, recorder: Recorder, value: int) -> None:
        self.recorder, self.value = recorder, value

    @property
    def type(self) -> TensorType:
        return self.recorder.builder.type_of(self.value)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def T(self) -> Recorded:
        return self.transpose(*reversed(range(self.type.rank)))

    def transpose(self, *order: int) -> Recorded:
        dims = tuple(dim_of(dim, self.type.rank) for dim in order)
        return self.recorder.one(hlo.transpose, self, permutation=dims)

    def reshape(self, *shape: Any) -> Recorded:
        sizes = cast("Sequence[int]", shape[0] if isinstance(shape[0], tuple) else shape)
        if -1 in sizes:
            raise Beyond("sizes that NumPy finds")
        return self.recorder.reshaped(self, tuple(sizes))

    def astype(self, dtype: Any) -> Recorded:
        return self.recorder.converted(self, dtype.name)

    def __getitem__(self, items: Any) -> Recorded:
        several = cast("tuple[object, ...]", items) if isinstance(items, tuple) else (items,)
        return indexed(self, several)

    def __neg__(self) -> Recorded:
        return self.recorder.one(hlo.negate, self)

    def __invert__(self) -> Recorded:
        return self.recorder.one(hlo.not_, self)

    def __truediv__(self, other: object) -> Recorded:
        return divided(self.recorder, self, other)

    def __rtruediv__(self, other: object) -> Recorded:
        return divided(self.recorder, other, self)

    def __mod__(self, other: object) -> Recorded:
        return modulo(self.recorder, self, other)

    def __floordiv__(self, other: object) -> Recorded:
        left, right = self.recorder.alike(self, other)
        return divided(self.recorder, left - modulo(self.recorder, left, right), right, whole=True)

    def __bool__(self) -> bool:
        raise Beyond("decisions of Python on data")

    __index__ = __int__ = __float__ = __iter__ = __len__ = __bool__  # pyright: ignore[reportAssignmentType]

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    # What _operators adds.
    def __add__(self, other: object) -> Recorded: ...
    def __sub__(self, other: object) -> Recorded: ...
    def __mul__(self, other: object) -> Recorded: ...
    def __lt__(self, other: object) -> Recorded: ...
    def __and__(self, other: object) -> Recorded: ...
    def __ne__(self, other: object) -> Recorded: ...  # pyright: ignore[reportIncompatibleMethodOverride]


def indexed(array: Recorded, items: tuple[Any, ...]) -> Recorded:
    """NumPy's basic indexing. A place that is a value of the program is to be known as inside the dimension
    (ranges.py). Raises Beyond for others, where NumPy counts from the end.
    """
    bounds = [(0, size, 1) for size in array.shape]
    places: dict[int, Recorded] = {}
    shape: list[int] = []
    dim = 0
    for item in items:
        if item is None:
            shape.append(1)
            continue
        if dim == len(bounds):
            raise Refused("more indices than dimensions")
        size = bounds[dim][1]
        if isinstance(item, slice):
            start, stop, step = item.indices(size)
            if step < 1:
                raise Beyond("slices that go backwards")
            bounds[dim] = (start, max(start, stop), step)
            shape.append(len(range(start, stop, step)))
        elif isinstance(item, int):
            place = dim_of(item, size)
            bounds[dim] = (place, place + 1, 1)
        else:
            low, high = array.recorder.bounds.get(item.value, (-1, size))
            if low < 0 or high >= size:
                raise Beyond("places that may be outside of their dimension")
            places[dim] = item
        dim += 1
    shape += array.shape[dim:]
    return array.recorder.reshaped(_dynamic(_static(array, bounds), places), tuple(shape))


def _static(array: Recorded, bounds: list[tuple[int, int, int]]) -> Recorded:
    if all(bound == (0, size, 1) for bound, size in zip(bounds, array.shape, strict=True)):
        return array
    starts, limits, strides = zip(*bounds, strict=True)
    return array.recorder.one(hlo.slice_, array, start_indices=starts, limit_indices=limits, strides=strides)


def _dynamic(array: Recorded, places: dict[int, Recorded]) -> Recorded:
    if not places:
        return array
    dtype = next(iter(places.values())).type.dtype
    zero = array.recorder.constant(0, dtype)
    starts = [places.get(dim, zero) for dim in range(array.type.rank)]
    sizes = tuple(1 if dim in places else size for dim, size in enumerate(array.shape))
    return array.recorder.one(hlo.dynamic_slice, array, *starts, slice_sizes=sizes)


def divided(recorder: Recorder, left: object, right: object, whole: bool = False) -> Recorded:
    """left / right; of integers NumPy's would be another dtype, unless the quotient is whole."""
    inside = recorder.rooted.get(right.value) if isinstance(right, Recorded) else None
    if recorder.roots and isinstance(left, float) and left == 1.0 and inside is not None:
        return recorder.one(hlo.rsqrt, inside)
    operands = recorder.alike(left, right)
    if not whole and operands[0].type.dtype[0] not in "fbc":
        raise Beyond("quotients of integers")
    return recorder.one(hlo.divide, *operands)


def modulo(recorder: Recorder, left: object, right: object) -> Recorded:
    """Python's %: what is left has the divisor's sign."""
    a, b = recorder.alike(left, right)
    if not is_integer(a.type.dtype):
        raise Beyond("% of floats")
    rest = recorder.one(hlo.remainder, a, b)
    mended = (rest < 0).__ne__(b < 0) & rest.__ne__(0)
    return recorder.one(hlo.select, mended, rest + b, rest)


def _operators() -> None:
    """The operators that are one operation, with either operand first."""
    for name, definition in {
        "add": hlo.add, "sub": hlo.subtract, "mul": hlo.multiply, "and": hlo.and_, "or": hlo.or_,
        "xor": hlo.xor, "pow": hlo.power,
    }.items():  # fmt: skip
        _define(f"__{name}__", definition)
        _define(f"__r{name}__", definition, swapped=True)
    for direction in ("EQ", "NE", "LT", "LE", "GT", "GE"):
        _define(f"__{direction.lower()}__", hlo.compare, comparison_direction=direction)


def _define(name: str, definition: OpDef, swapped: bool = False, **attrs: object) -> None:
    def method(self: Recorded, other: object) -> Recorded:
        operands = (other, self) if swapped else (self, other)
        return self.recorder.elementwise(definition, *operands, **attrs)

    setattr(Recorded, name, method)


_operators()
