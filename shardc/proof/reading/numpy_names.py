"""What stands for `np` while an emitted text is read: the functions that such texts call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from shardc.graph import DotDims, GatherDims, identity, is_integer
from shardc.graph.types import DTYPES, NUMPY, TensorType, is_complex, is_inexact
from shardc.ops import OpDef, chlo, hlo
from shardc.proof.reading.fourier_names import FourierNames
from shardc.proof.reading.recorded import Recorded, Recorder, broadcast_shape, dim_of
from shardc.proof.reading.regions import argument, combination, less_than
from shardc.proof.reading.wide_sums import summed
from shardc.proof.values import Beyond, Refused

Axes = int | tuple[int, ...] | None

UNARY: dict[str, OpDef] = {
    "abs": hlo.abs_, "cbrt": hlo.cbrt, "ceil": hlo.ceil, "cos": hlo.cosine, "exp": hlo.exponential,
    "expm1": hlo.exponential_minus_one, "floor": hlo.floor, "isfinite": hlo.is_finite, "log": hlo.log,
    "log1p": hlo.log_plus_one, "rint": hlo.round_nearest_even, "sign": hlo.sign, "sin": hlo.sine,
    "sqrt": hlo.sqrt, "square": chlo.square, "tan": hlo.tan, "tanh": hlo.tanh,
    "real": hlo.real, "imag": hlo.imag, "conj": chlo.conj,
    "sinh": chlo.sinh, "cosh": chlo.cosh, "arcsinh": chlo.asinh, "arctan": chlo.atan,
    "arccos": chlo.acos, "arccosh": chlo.acosh, "arcsin": chlo.asin, "arctanh": chlo.atanh,
}  # fmt: skip
"""Functions of one array that mean one operation."""

BINARY: dict[str, OpDef] = {
    "maximum": hlo.maximum, "minimum": hlo.minimum, "arctan2": hlo.atan2, "nextafter": chlo.next_after,
}  # fmt: skip

RUNNING = {"maximum": "max", "minimum": "min"}
"""Functions that have an `accumulate`, and what that combines."""


MOST_WRITTEN = 1 << 26
"""The most elements that a constant of a text has."""


class DType:
    """np.float32: called with a number it is a constant, with an array the array converted."""

    def __init__(self, recorder: Recorder, name: str) -> None:
        self.recorder, self.name = recorder, name

    def __call__(self, value: object) -> Recorded:
        if isinstance(value, Recorded):
            return self.recorder.converted(value, self.name)
        return self.recorder.constant(value, self.name)


class Kind(DType):
    """np.dtype(np.float32), which functions of `ops` take, and no class."""


class Function:
    """np.maximum, say: an operation of arrays; `accumulate` is of all elements up to each along an axis."""

    def __init__(self, names: NumpyNames, name: str) -> None:
        self._names, self._name = names, name

    def __call__(self, *arrays: object) -> Recorded:
        return self._names.recorder.elementwise((UNARY | BINARY)[self._name], *arrays)

    def accumulate(self, array: Recorded, axis: int) -> Recorded:
        if self._name not in RUNNING:
            raise Beyond(f"np.{self._name}.accumulate in an emitted text")
        return self._names.running(RUNNING[self._name], array, axis)


class NumpyNames:
    """`np`. A name that is not here raises Beyond."""

    nan, inf = np.nan, np.inf
    errstate = staticmethod(nullcontext)

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.fft = FourierNames(recorder)
        for name, numpy in NUMPY.items():
            setattr(self, numpy, DType(recorder, name))

    def __getattr__(self, name: str) -> Callable[..., Recorded]:
        if name in UNARY or name in BINARY:
            return Function(self, name)
        raise Beyond(f"the name np.{name} in an emitted text")

    def dtype(self, dtype: DType) -> Kind:
        return Kind(self.recorder, dtype.name)

    def isnan(self, array: Recorded) -> Recorded:
        if is_complex(array.type.dtype):
            raise Beyond("np.isnan of complex numbers in an emitted text")
        return array != array

    def where(self, mask: Recorded, then: object, other: object) -> Recorded:
        operands = self.recorder.alike(then, other)
        return self.recorder.one(hlo.select, *self.recorder.broadcast(mask, *operands))

    def clip(self, array: Recorded, low: object, high: object) -> Recorded:
        x, least, most = self.recorder.alike(array, low, high)
        return self.recorder.one(hlo.clamp, least, x, most)

    # arrays of numbers that the text says

    def array(self, values: Sequence[Any], dtype: DType) -> Recorded:
        return self.recorder.constant(values, dtype.name)

    def frombuffer(self, data: bytes, dtype: DType) -> Recorded:
        return self.recorder.constant(np.frombuffer(data, DTYPES[dtype.name][1]), dtype.name)

    def tri(self, rows: int, columns: int, diagonal: int, dtype: DType) -> Recorded:
        if rows * columns > MOST_WRITTEN:
            raise Beyond("such large triangles in an emitted text")
        return self.recorder.constant(np.tri(rows, columns, diagonal), dtype.name)

    def arange(self, size: int, dtype: DType | None = None) -> Recorded:
        type = TensorType((size,), "i64" if dtype is None else dtype.name)
        return self.recorder.one(hlo.iota, results=[type], iota_dimension=0)

    def full(self, shape: tuple[int, ...], value: object, dtype: DType) -> Recorded:
        return self.recorder.constant(value, dtype.name, shape)

    def zeros(self, shape: tuple[int, ...], dtype: DType) -> Recorded:
        return self.full(shape, 0, dtype)

    def ones(self, shape: tuple[int, ...], dtype: DType) -> Recorded:
        return self.full(shape, 1, dtype)

    # elements that move

    def broadcast_to(self, array: Recorded, shape: tuple[int, ...]) -> Recorded:
        return self.recorder.spread(array, shape)

    def concatenate(self, arrays: Sequence[Recorded], axis: int) -> Recorded:
        dim = dim_of(axis, arrays[0].type.rank)
        return self.recorder.one(hlo.concatenate, *arrays, dimension=dim)

    def flip(self, array: Recorded, axis: Axes) -> Recorded:
        return self.recorder.one(hlo.reverse, array, dimensions=_dims(array, axis))

    def pad(self, array: Recorded, widths: Any, constant_values: object = 0) -> Recorded:
        low, high = zip(*widths, strict=True)
        fill = self.recorder.lifted(constant_values, array.type.dtype)
        none = (0,) * len(low)
        return self.recorder.one(
            hlo.pad, array, fill, edge_padding_low=low, edge_padding_high=high, interior_padding=none
        )

    def take(self, table: Recorded, places: Recorded, axis: int, mode: str) -> Recorded:
        """Whole slices at the places along a dimension, which are clamped."""
        if mode != "clip":
            raise Beyond(f"np.take by {mode}")
        axis = dim_of(axis, table.type.rank)
        rank, more = table.type.rank, places.type.rank
        dims = GatherDims(
            offset_dims=(*range(axis), *range(axis + more, rank - 1 + more)),
            collapsed_slice_dims=(axis,),
            start_index_map=(axis,),
            index_vector_dim=more,
        )
        sizes = tuple(1 if dim == axis else size for dim, size in enumerate(table.shape))
        return self.recorder.one(hlo.gather, table, places, dimension_numbers=dims, slice_sizes=sizes)

    def sort(self, array: Recorded, axis: int, kind: str) -> Recorded:
        dim, less = dim_of(axis, array.type.rank), less_than(self.recorder, array)
        return self.recorder.one(hlo.sort, array, regions=[less], dimension=dim)

    # what combines elements

    def sum(self, array: Recorded, axis: Axes = None, dtype: DType | None = None, **keep: Any) -> Recorded:
        return summed(array, dtype, lambda each: self._reduced("sum", each, axis, **keep))

    def prod(self, array: Recorded, axis: Axes = None, dtype: DType | None = None, **keep: Any) -> Recorded:
        return summed(array, dtype, lambda each: self._reduced("prod", each, axis, **keep))

    def max(self, array: Recorded, axis: Axes = None, **keep: Any) -> Recorded:
        return self._reduced("max", array, axis, **keep)

    def min(self, array: Recorded, axis: Axes = None, **keep: Any) -> Recorded:
        return self._reduced("min", array, axis, **keep)

    def any(self, array: Recorded, axis: Axes = None, **keep: Any) -> Recorded:
        return self._reduced("or", array, axis, **keep)

    def all(self, array: Recorded, axis: Axes = None, **keep: Any) -> Recorded:
        return self._reduced("and", array, axis, **keep)

    def mean(self, array: Recorded, axis: Axes = None, **keep: Any) -> Recorded:
        count = int(np.prod([array.shape[dim] for dim in _dims(array, axis)]))
        return self.sum(array, axis, **keep) / count

    def argmax(self, array: Recorded, axis: int) -> Recorded:
        return argument(self.recorder, array, dim_of(axis, array.type.rank), "GT")

    def argmin(self, array: Recorded, axis: int) -> Recorded:
        return argument(self.recorder, array, dim_of(axis, array.type.rank), "LT")

    def cumsum(self, array: Recorded, axis: int, dtype: DType | None = None) -> Recorded:
        return summed(array, dtype, lambda each: self.running("sum", each, axis))

    def cumprod(self, array: Recorded, axis: int, dtype: DType | None = None) -> Recorded:
        return summed(array, dtype, lambda each: self.running("prod", each, axis))

    def _reduced(
        self, kind: str, array: Recorded, axis: Axes, keepdims: bool = False, initial: object = None
    ) -> Recorded:
        dims, dtype = _dims(array, axis), array.type.dtype
        if kind in ("and", "or"):
            neutral: object = kind == "and"
        else:
            neutral = identity(kind, dtype)
        start = self.recorder.lifted(neutral if initial is None else initial, dtype)
        region = combination(self.recorder, kind, dtype)
        result = self.recorder.one(hlo.reduce, array, start, regions=[region], dimensions=dims)
        kept = tuple(1 if dim in dims else size for dim, size in enumerate(array.shape))
        return self.recorder.reshaped(result, kept) if keepdims else result

    def running(self, kind: str, array: Recorded, axis: int) -> Recorded:
        axis = dim_of(axis, array.type.rank)
        ones, size = (1,) * array.type.rank, array.shape[axis]
        return self.recorder.one(
            hlo.reduce_window,
            array,
            self.recorder.constant(identity(kind, array.type.dtype), array.type.dtype),
            regions=[combination(self.recorder, kind, array.type.dtype)],
            window_dimensions=tuple(size if dim == axis else 1 for dim in range(array.type.rank)),
            window_strides=ones,
            base_dilations=ones,
            window_dilations=ones,
            padding=tuple((size - 1 if dim == axis else 0, 0) for dim in range(array.type.rank)),
        )

    def einsum(self, text: str, left: Recorded, right: Recorded, *, optimize: bool = False) -> Recorded:
        sides, out = text.split("->")
        first, second = sides.split(",")
        return contracted(self.recorder, left, right, first, second, out)

    def matmul(self, left: Recorded, right: Recorded) -> Recorded:
        return matmul(self.recorder, left, right)


def matmul(recorder: Recorder, left: Recorded, right: Recorded) -> Recorded:
    """left @ right: of vectors, matrices, and stacks of them; one may have fewer dimensions in front."""
    stacks = [array.type.shape[:-2] for array in (left, right)]
    shared = min(map(len, stacks))
    if 0 in (left.type.rank, right.type.rank):
        raise Refused(f"{left.type} @ {right.type}")
    if len({stack[len(stack) - shared :] for stack in stacks}) > 1:
        broadcast_shape(*stacks)
        raise Beyond(f"{left.type} @ {right.type}")
    batch = "".join(chr(ord("a") + at) for at in range(max(map(len, stacks))))
    before = [batch[len(batch) - len(stack) :] for stack in stacks]
    row, column = "x" * (left.type.rank > 1), "y" * (right.type.rank > 1)
    first, second, out = f"{before[0]}{row}k", f"{before[1]}k{column}", batch + row + column
    return contracted(recorder, left, right, first, second, out)


def contracted(
    recorder: Recorder, left: Recorded, right: Recorded, first: str, second: str, out: str
) -> Recorded:
    """An einsum of two arrays whose letters are those of both and of the result, or of both alone."""
    if (len(first), len(second)) != (left.type.rank, right.type.rank):
        raise Refused(f"the subscripts {first},{second} of {left.type} and {right.type}")
    both = [letter for letter in first if letter in second]
    batch = [letter for letter in both if letter in out]
    summed = [letter for letter in both if letter not in out]
    made = [*batch, *(letter for letter in first + second if letter not in both)]
    if sorted(made) != sorted(out):
        raise Beyond(f"the subscripts {first},{second}->{out}")
    dims = DotDims(
        tuple(map(first.index, batch)), tuple(map(second.index, batch)),
        tuple(map(first.index, summed)), tuple(map(second.index, summed)),
    )  # fmt: skip
    if left.type.dtype != right.type.dtype or not (
        is_inexact(left.type.dtype) or is_integer(left.type.dtype)
    ):
        raise Beyond(f"products of {left.type.dtype} and {right.type.dtype}")
    result = recorder.one(hlo.dot_general, left, right, dot_dimension_numbers=dims)
    order = tuple(made.index(letter) for letter in out)
    return result if order == tuple(range(len(order))) else result.transpose(*order)


Recorded.__matmul__ = lambda self, other: matmul(self.recorder, self, other)  # pyright: ignore


def _dims(array: Recorded, axis: Axes) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(array.type.rank))
    return tuple(dim_of(dim, array.type.rank) for dim in ((axis,) if isinstance(axis, int) else axis))
