"""Meshes, shardings, and which device holds which slice. No IR, no JAX."""

from shardc.layout.axes import Axis, cut, merge, size_of
from shardc.layout.mesh import LayoutError, Mesh
from shardc.layout.sharding import (
    KINDS,
    Dim,
    Sharding,
    axis_named,
    replicated,
    shared,
    text_of,
    unconstrained,
)

__all__ = [
    "KINDS",
    "Axis",
    "Dim",
    "LayoutError",
    "Mesh",
    "Sharding",
    "axis_named",
    "cut",
    "merge",
    "replicated",
    "shared",
    "size_of",
    "text_of",
    "unconstrained",
]
