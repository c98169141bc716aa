"""A gather at one place that is known -> the slice that it takes.

%0 = stablehlo.constant dense<3> : tensor<1xi32>          ->    %1 = stablehlo.slice %x [0:8, 3:4]
%1 = "stablehlo.gather"(%x, %0) {…}                             %2 = stablehlo.reshape %1
"""

from __future__ import annotations

from math import prod
from typing import cast

from xdsl.ir import Operation, SSAValue

from shardc.dialects.build import IRBuilder
from shardc.dialects.convert import python_of
from shardc.dialects.types import type_of
from shardc.graph import GatherDims, TensorType
from shardc.ops import hlo
from shardc.rewrite.constants import splat_of


def slice_of_gather(op: Operation, builder: IRBuilder) -> SSAValue | None:
    """The slice, before it; None for all else. Its start is clamped as the gather's is."""
    if op.name != hlo.gather.name:
        return None
    table, places = op.operands
    attrs = {key: python_of(attr) for key, attr in op.properties.items()}
    dims = cast(GatherDims, attrs["dimension_numbers"])
    vectors = [n for dim, n in enumerate(type_of(places.type).shape) if dim != dims.index_vector_dim]
    place = splat_of(places)
    if place is None or prod(vectors) != 1 or dims.operand_batching_dims:
        return None
    type, sizes = type_of(table.type), cast("tuple[int, ...]", attrs["slice_sizes"])
    starts = tuple(
        min(max(int(place), 0), type.shape[dim] - size) if dim in dims.start_index_map else 0
        for dim, size in enumerate(sizes)
    )
    builder.before(op)
    taken = builder.one(
        hlo.slice_.name,
        table,
        result=TensorType(sizes, type.dtype),
        start_indices=starts,
        limit_indices=tuple(start + size for start, size in zip(starts, sizes, strict=True)),
        strides=(1,) * len(sizes),
    )
    return builder.one(hlo.reshape.name, taken, result=type_of(op.results[0].type))
