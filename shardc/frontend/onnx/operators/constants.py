"""Tensors from nothing."""

from __future__ import annotations

import numpy as np

from shardc.frontend.onnx.dtypes import DTYPES
from shardc.frontend.onnx.model import array_of
from shardc.frontend.onnx.node import Lower, Node
from shardc.frontend.onnx.operators.casts import target
from shardc.frontend.onnx.operators.maths import add, compare, iota, mul
from shardc.frontend.onnx.values import Value
from shardc.frontend.text.values import Tensor
from shardc.graph.types import TensorType
from shardc.ops import hlo

_NUMBERS = {
    "value_float": np.float32,
    "value_floats": np.float32,
    "value_int": np.int64,
    "value_ints": np.int64,
}


def _constant(n: Node) -> Value:
    for name, kind in _NUMBERS.items():
        if name in n.attributes:
            return n.bodies.known(n.outputs[0], np.array(n.attributes[name], kind))
    if "value" not in n.attributes:
        raise n.unsupported("of " + ", ".join(n.attributes))
    tensor = type(n.attributes["value"])()
    tensor.CopyFrom(n.attributes["value"])
    tensor.name = n.outputs[0]
    return n.bodies.stored(tensor)


def _constant_of_shape(n: Node) -> Tensor:
    shape = n.numbers(0)
    if "value" not in n.attributes:
        return n.e.splat(0.0, TensorType(shape, "f32"))
    value = n.attributes["value"]
    if value.data_type not in DTYPES:
        raise n.unsupported(f"of element type {value.data_type}")
    number = array_of(value, None).reshape(-1)[0].item()
    return n.e.splat(number, TensorType(shape, DTYPES[value.data_type]))


def _eye_like(n: Node) -> Tensor:
    e, type = n.e, n.type(0)
    dtype = target(n, "dtype") if "dtype" in n.attributes else type.dtype
    rows, columns = (iota(e, type.shape, dim) for dim in (0, 1))
    return e.cast(compare(e, "EQ", columns, add(e, rows, n.int("k"))), dtype)


def _range(n: Node) -> Tensor:
    """start, start + step, …; ceil((limit - start) / step) of them."""
    first, last, step = (n.known(i).reshape(-1)[0].item() for i in range(3))
    count = max(0, int(np.ceil((last - first) / step)))
    type = TensorType((count,), n.type(0).dtype)
    n.e.check_size(type)
    return add(n.e, mul(n.e, iota(n.e, (count,), 0, type.dtype), step), first)


def _shape(n: Node) -> Value:
    shape = n.type(0).shape
    start, end = n.int("start"), n.attributes.get("end")
    return n.bodies.known(n.outputs[0], np.array(shape[start : None if end is None else int(end)], np.int64))


def _size(n: Node) -> Value:
    return n.bodies.known(n.outputs[0], np.array(n.type(0).size, np.int64))


def _one_hot(n: Node) -> Tensor:
    """values[1] where the class is that of the index, values[0] elsewhere; negative indices count back."""
    e, indices = n.e, n.x(0)
    depth = int(n.known(1).reshape(-1)[0])
    rank = indices.rank + 1
    dim = n.int("axis", -1) % rank
    shape = (*indices.shape[:dim], depth, *indices.shape[dim:])
    whole = e.cast(indices, "i64")
    wrapped = e.op(hlo.select.name, compare(e, "LT", whole, 0), add(e, whole, depth), whole)
    wanted = e.broadcast_in_dim(wrapped, shape, tuple(i for i in range(rank) if i != dim))
    same = compare(e, "EQ", wanted, iota(e, shape, dim, "i64"))
    values = n.x(2)
    low, high = (
        e.reshape(e.op(hlo.slice_.name, values, start_indices=(i,), limit_indices=(i + 1,), strides=(1,)), ())
        for i in (0, 1)
    )
    return e.op(hlo.select.name, same, e.broadcast_to(high, shape), e.broadcast_to(low, shape))


OPERATORS: dict[str, Lower] = {
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "EyeLike": _eye_like,
    "Range": _range,
    "Shape": _shape,
    "Size": _size,
    "OneHot": _one_hot,
}
