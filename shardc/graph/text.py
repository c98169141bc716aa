"""Types with shardings, as JAX prints them: `f32[16@data, 64] partial(sum: model)`."""

from __future__ import annotations

from shardc.graph.types import TensorType
from shardc.layout import Dim, Sharding, text_of


def sharded_text(type: TensorType, sharding: Sharding) -> str:
    """A global type with the axes that split each dimension, and what is partial."""
    sizes = ", ".join(dim_text(n, dim, sharding) for n, dim in zip(type.shape, sharding.dims, strict=True))
    partial = ", ".join(text_of(axis, sharding.mesh) for axis in sharding.unreduced)
    return f"{type.dtype}[{sizes}]" + (f" partial({sharding.kind}: {partial})" if partial else "")


def dim_text(size: int, dim: Dim, sharding: Sharding) -> str:
    """`64`, `64@data` or `64@(data, model)`."""
    names = [text_of(axis, sharding.mesh) for axis in dim.axes]
    if not names:
        return str(size)
    return f"{size}@{names[0]}" if len(names) == 1 else f"{size}@({', '.join(names)})"
