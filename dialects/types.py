"""Tensor types of the IR and of the graph, each from the other.

`tensor<4x8xbf16>` is `TensorType((4, 8), "bf16")`. Types that are no tensors (tokens, tuples), and tensors
whose sizes are not all known, stand in a graph as a scalar whose dtype is their MLIR text; element types
outside `graph.types.DTYPES` keep their spelling.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    ComplexType,
    Float8E3M4Type,
    Float8E4M3B11FNUZType,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E4M3Type,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    Signedness,
    TensorType,
    i1,
)
from xdsl.ir import Attribute

from shardc.graph.types import DTYPES, MLIR
from shardc.graph.types import TensorType as GraphType
from shardc.layout.limits import dtype_of_name

_DTYPE_OF_TEXT = {spelling: name for name, spelling in MLIR.items()}
_UNSIGNED = Signedness.UNSIGNED

ELEMENTS: dict[str, Attribute] = {
    "f64": Float64Type(),
    "f32": Float32Type(),
    "bf16": BFloat16Type(),
    "f16": Float16Type(),
    "f8e4m3fn": Float8E4M3FNType(),
    "f8e5m2": Float8E5M2Type(),
    "f8e4m3": Float8E4M3Type(),
    "f8e3m4": Float8E3M4Type(),
    "f8e4m3fnuz": Float8E4M3FNUZType(),
    "f8e5m2fnuz": Float8E5M2FNUZType(),
    "f8e4m3b11fnuz": Float8E4M3B11FNUZType(),
    "f8e8m0fnu": Float8E8M0FNUType(),
    **{f"i{width}": IntegerType(width) for width in (64, 32, 16, 8, 4)},
    **{f"u{width}": IntegerType(width, _UNSIGNED) for width in (64, 32, 16, 8, 4)},
    "bool": i1,
    "c64": ComplexType(Float32Type()),
    "c128": ComplexType(Float64Type()),
}

_OTHER_NUMPY = {"index": "int64", "i2": "int2", "ui2": "uint2", "f4E2M1FN": "float4_e2m1fn"}


def is_dynamic(attr: Attribute) -> bool:
    """Whether it is the type of a tensor whose sizes are not all known."""
    return isinstance(attr, TensorType) and DYNAMIC_INDEX in attr.get_shape()


@lru_cache(maxsize=1 << 14)
def type_of(attr: Attribute) -> GraphType:
    """The graph's type for an IR type."""
    if is_dynamic(attr) or not isinstance(attr, TensorType):
        return GraphType((), str(attr))
    text = str(attr.element_type)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    return GraphType(attr.get_shape(), _DTYPE_OF_TEXT.get(text, text))


@lru_cache(maxsize=1 << 14)
def attr_of_type(type: GraphType) -> TensorType[Attribute]:
    """The IR's type for a graph type; ValueError for dtypes outside DTYPES."""
    if type.dtype not in ELEMENTS:
        raise ValueError(f"{type.dtype} is no element type; the element types are {', '.join(ELEMENTS)}")
    return TensorType(ELEMENTS[type.dtype], type.shape)


def numpy_of(element: Attribute) -> np.dtype:
    """The NumPy type of an element type; ValueError if there is none."""
    text = str(element)
    if text in _DTYPE_OF_TEXT:
        return DTYPES[_DTYPE_OF_TEXT[text]][1]
    if text in _OTHER_NUMPY:
        return dtype_of_name(_OTHER_NUMPY[text])
    raise ValueError(f"constants of {text} are not supported")
