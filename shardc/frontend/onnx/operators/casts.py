"""Changes of element type."""

from __future__ import annotations

from shardc.frontend.onnx.dtypes import DTYPES, dtype_name
from shardc.frontend.onnx.node import Lower, Node
from shardc.frontend.onnx.operators.maths import compare
from shardc.frontend.text.emitter import Emitter
from shardc.frontend.text.values import Tensor
from shardc.graph.types import TensorType
from shardc.ops import hlo


def cast_to(e: Emitter, x: Tensor, dtype: str) -> Tensor:
    """Anything but zero is true; floats lose their fraction."""
    if dtype == "bool" and x.dtype != "bool":
        return compare(e, "NE", x, 0)
    return e.cast(x, dtype)


def target(n: Node, attribute: str = "to") -> str:
    """The dtype that an attribute names; Unsupported if there is none."""
    number = n.int(attribute)
    if number not in DTYPES:
        raise n.unsupported(f"to {dtype_name(number)}")
    return DTYPES[number]


def _cast(n: Node) -> Tensor:
    return cast_to(n.e, n.x(0), target(n))


def _cast_like(n: Node) -> Tensor:
    return cast_to(n.e, n.x(0), n.type(1).dtype)


def _bit_cast(n: Node) -> Tensor:
    x, dtype = n.x(0), target(n)
    if TensorType((), dtype).nbytes != TensorType((), x.dtype).nbytes:
        raise n.unsupported(f"from {x.dtype} to {dtype}, of another width")
    if x.dtype == dtype:
        return x
    if x.dtype == "bool":
        return n.e.cast(x, dtype)
    if dtype == "bool":
        raise n.unsupported("to bool")
    return n.e.op(hlo.bitcast_convert.name, x, result=x.type.with_dtype(dtype))


OPERATORS: dict[str, Lower] = {"Cast": _cast, "CastLike": _cast_like, "BitCast": _bit_cast}
