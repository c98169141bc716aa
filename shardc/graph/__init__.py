"""The IR-free program: types, values, operations, regions."""

from shardc.graph.attrs import LETTERS, ConvDims, Dense, DotDims, GatherDims, ScatterDims
from shardc.graph.program import Function, Graph, Node, Op, Region, Value, walk
from shardc.graph.types import (
    DTYPES,
    UNKNOWN,
    Location,
    TensorType,
    identity,
    is_complex,
    is_float,
    is_inexact,
    is_integer,
)

__all__ = [
    "DTYPES",
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
    "identity",
    "is_complex",
    "is_float",
    "is_inexact",
    "is_integer",
    "walk",
]
