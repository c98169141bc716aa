"""The IR-free program: types, values, operations, regions."""

from shardc.graph.attrs import LETTERS, ConvDims, Dense, DotDims, GatherDims, ScatterDims
from shardc.graph.program import Function, Graph, Node, Op, Region, Value, captured, walk
from shardc.graph.types import (
    DTYPES,
    FP8,
    UNKNOWN,
    Location,
    TensorType,
    has_infinities,
    identity,
    is_builtin,
    is_complex,
    is_float,
    is_inexact,
    is_integer,
    is_narrow,
)

__all__ = [
    "DTYPES",
    "FP8",
    "LETTERS",
    "UNKNOWN",
    "ConvDims",
    "Dense",
    "DotDims",
    "Function",
    "GatherDims",
    "Graph",
    "Location",
    "Node",
    "Op",
    "Region",
    "ScatterDims",
    "TensorType",
    "Value",
    "captured",
    "has_infinities",
    "identity",
    "is_builtin",
    "is_complex",
    "is_float",
    "is_inexact",
    "is_integer",
    "is_narrow",
    "walk",
]
