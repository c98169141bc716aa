"""Arithmetic on tensors as operators need it: any mix of tensors and Python numbers, broadcast."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shardc.frontend.onnx.errors import Invalid
from shardc.frontend.onnx.values import Array
from shardc.frontend.text.builtins.elementwise import comparison, where
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Operand, Tensor
from shardc.graph.attrs import Dense
from shardc.graph.types import DTYPES, TensorType, is_float, name_of
from shardc.ops import hlo
from shardc.ops.definition import OpDef


def calc(e: Emitter, op: OpDef, *operands: Operand) -> Tensor:
    """An elementwise operation on operands of one dtype; numbers take the tensors' dtype."""
    dtype = next(operand.dtype for operand in operands if isinstance(operand, Tensor))
    numbers = [_as(operand, dtype) for operand in operands]
    return e.op(op.name, *e.together(*numbers, dtype=dtype))


def _as(operand: Operand, dtype: str) -> Operand:
    if isinstance(operand, Tensor | complex) or not is_float(dtype):
        return operand
    return float(operand)


def add(e: Emitter, x: Operand, y: Operand) -> Tensor:
    return calc(e, hlo.add, x, y)


def sub(e: Emitter, x: Operand, y: Operand) -> Tensor:
    return calc(e, hlo.subtract, x, y)


def mul(e: Emitter, x: Operand, y: Operand) -> Tensor:
    return calc(e, hlo.multiply, x, y)


def div(e: Emitter, x: Operand, y: Operand) -> Tensor:
    return calc(e, hlo.divide, x, y)


def compare(e: Emitter, direction: str, x: Operand, y: Operand) -> Tensor:
    """EQ, NE, LT, LE, GT or GE, as bool."""
    dtype = next(operand.dtype for operand in (x, y) if isinstance(operand, Tensor))
    left, right = e.together(_as(x, dtype), _as(y, dtype), dtype=dtype)
    return comparison(e, left, right, direction)


def choose(e: Emitter, condition: Tensor, x: Operand, y: Operand) -> Tensor:
    """x where the condition holds, else y."""
    dtype = next((operand.dtype for operand in (x, y) if isinstance(operand, Tensor)), "f32")
    return where(e, condition, _tensor(e, x, dtype), _tensor(e, y, dtype))


def _tensor(e: Emitter, operand: Operand, dtype: str) -> Tensor:
    return operand if isinstance(operand, Tensor) else e.splat(_as(operand, dtype), TensorType((), dtype))  # pyright: ignore[reportArgumentType]


def literal(e: Emitter, array: Array) -> Tensor:
    """A constant of the program; a splat where all elements are the same."""
    dtype = name_of(array.dtype)
    if dtype is None:
        raise Invalid(f"a constant of {array.dtype}")
    type = TensorType(tuple(array.shape), dtype)
    data = array
    if array.size and (array.tobytes() == array.reshape(-1)[:1].tobytes() * array.size):
        data = np.array(array.reshape(-1)[0], array.dtype)
    return e.op(
        hlo.constant.name,
        value=Dense(np.ascontiguousarray(data).reshape(data.shape), type.shape),
        result=type,
        weak=False,
    )


def vector(e: Emitter, values: Sequence[int] | Array, dtype: str = "i32") -> Tensor:
    """A constant of one dimension."""
    return literal(e, np.asarray(values).astype(DTYPES[dtype][1]))


def along(e: Emitter, tensor: Tensor, dim: int, shape: tuple[int, ...]) -> Tensor:
    """A vector laid along dimension `dim` of a shape."""
    return e.broadcast_in_dim(tensor, shape, (dim,))


def axis(value: int, rank: int) -> int:
    """An axis counted from 0; Invalid if the tensor has none such."""
    if not -rank <= value < rank:
        raise Invalid(f"axis {value} is outside a tensor of {rank} dimensions")
    return value % rank


def axes(values: Sequence[int], rank: int) -> tuple[int, ...]:
    """Axes counted from 0, ascending, each once."""
    found = sorted(axis(value, rank) for value in values)
    if len(set(found)) < len(found):
        raise Invalid(f"axes {list(values)} name one twice")
    return tuple(found)


def iota(e: Emitter, shape: tuple[int, ...], dim: int, dtype: str = "i32") -> Tensor:
    """Each element's place along a dimension."""
    return e.op(hlo.iota.name, result=TensorType(shape, dtype), iota_dimension=dim)


def sqrt(e: Emitter, x: Tensor) -> Tensor:
    return e.op(hlo.sqrt.name, x)


def abs_(e: Emitter, x: Tensor) -> Tensor:
    return x if x.dtype == "bool" or x.dtype[0] == "u" else e.op(hlo.abs_.name, x)


def slice_(e: Emitter, x: Tensor, dim: int, start: int, stop: int, step: int = 1) -> Tensor:
    """x[start:stop:step] along one dimension; nothing is emitted for all of it."""
    if (start, stop, step) == (0, x.shape[dim], 1):
        return x
    starts = tuple(start if i == dim else 0 for i in range(x.rank))
    stops = tuple(stop if i == dim else size for i, size in enumerate(x.shape))
    steps = tuple(step if i == dim else 1 for i in range(x.rank))
    return e.op(hlo.slice_.name, x, start_indices=starts, limit_indices=stops, strides=steps)


def row(e: Emitter, x: Tensor, dim: int, place: int) -> Tensor:
    """x[place] along one dimension, which goes."""
    part = slice_(e, x, dim, place, place + 1)
    return e.reshape(part, x.shape[:dim] + x.shape[dim + 1 :])


def transpose(e: Emitter, x: Tensor, order: Sequence[int]) -> Tensor:
    """Dimensions in another order; nothing is emitted for the same."""
    if tuple(order) == tuple(range(x.rank)):
        return x
    return e.op(hlo.transpose.name, x, permutation=tuple(order))


def concat(e: Emitter, tensors: Sequence[Tensor], dim: int) -> Tensor:
    """Tensors one after another."""
    if len(tensors) == 1:
        return tensors[0]
    return e.op(hlo.concatenate.name, *tensors, dimension=dim)


def wide(e: Emitter, x: Tensor) -> Tensor:
    """What sums are computed in: f32 for shorter floats."""
    return e.cast(x, "f32") if x.dtype in ("f16", "bf16") else x


def pad(e: Emitter, x: Tensor, value: Operand, low: Sequence[int], high: Sequence[int]) -> Tensor:
    """stablehlo.pad with one value; negative widths cut."""
    if not any(low) and not any(high):
        return x
    filler = value if isinstance(value, Tensor) else _tensor(e, value, x.dtype)
    return e.op(
        hlo.pad.name,
        x,
        filler,
        edge_padding_low=tuple(low),
        edge_padding_high=tuple(high),
        interior_padding=(0,) * x.rank,
    )
