"""A product of ones and an array in which nothing is summed -> the array, repeated.

%0 = stablehlo.dot_general %ones, %x, …    ->    %0 = stablehlo.broadcast_in_dim %x, dims = [2]

It is what the derivative of a sum gives where what is summed is a product.
"""

from __future__ import annotations

from typing import cast

from xdsl.ir import Operation, SSAValue

from shardc.dialects.build import IRBuilder
from shardc.dialects.convert import python_of
from shardc.dialects.types import type_of
from shardc.graph import DotDims
from shardc.ops import hlo
from shardc.rewrite.constants import is_splat


def repeated_array(op: Operation, builder: IRBuilder) -> SSAValue | None:
    """The array, repeated along the dimensions of the ones; None for all else."""
    if (
        op.name != hlo.dot_general.name
        or len({type_of(v.type).dtype for v in (*op.operands, *op.results)}) > 1
    ):
        return None
    dims = cast(DotDims, python_of(op.properties["dot_dimension_numbers"]))
    if dims.lhs_contracting:
        return None
    (left, right), result = op.operands, type_of(op.results[0].type)
    if is_splat(left, 1):
        array, batching = right, dims.rhs_batching
    elif is_splat(right, 1):
        array, batching = left, dims.lhs_batching
    else:
        return None
    rank, count = len(type_of(array.type).shape), len(dims.lhs_batching)
    free = [dim for dim in range(rank) if dim not in batching]
    first = len(result.shape) - len(free) if array is right else count
    place = {dim: at for at, dim in enumerate(batching)} | {dim: first + at for at, dim in enumerate(free)}
    builder.before(op)
    return builder.one(
        hlo.broadcast_in_dim.name,
        array,
        result=result,
        broadcast_dimensions=tuple(place[dim] for dim in range(rank)),
    )
