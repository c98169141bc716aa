"""A gather at one known place -> the slice that it takes; an update at one -> the box that it writes.

%0 = stablehlo.constant dense<3> : tensor<1xi32>          ->    %1 = stablehlo.slice %x [0:8, 3:4]
%1 = "stablehlo.gather"(%x, %0) {…}                             %2 = stablehlo.reshape %1
"""

from __future__ import annotations

from math import prod
from typing import cast

from msgspec import Struct
from xdsl.ir import Operation, SSAValue

from shardc.dialects.build import IRBuilder
from shardc.dialects.convert import python_of
from shardc.dialects.types import type_of
from shardc.graph import GatherDims, ScatterDims, TensorType
from shardc.ops import Trait, has, hlo
from shardc.rewrite.constants import splat_of
from shardc.rewrite.unindexed import component


def slice_of_gather(op: Operation, builder: IRBuilder) -> SSAValue | None:
    """The slice, before it; None for all else. Its start is clamped as the gather's is."""
    if op.name != hlo.gather.name:
        return None
    table, places = op.operands
    attrs = {key: python_of(attr) for key, attr in op.properties.items()}
    dims = cast(GatherDims, attrs["dimension_numbers"])
    vectors = [n for dim, n in enumerate(type_of(places.type).shape) if dim != dims.index_vector_dim]
    if prod(vectors) != 1 or dims.operand_batching_dims:
        return None
    type, sizes = type_of(table.type), cast("tuple[int, ...]", attrs["slice_sizes"])
    starts = [0] * type.rank
    for number, dim in enumerate(dims.start_index_map):
        place = component(places, number, dims.index_vector_dim)
        if place is None:
            return None
        starts[dim] = min(max(place, 0), type.shape[dim] - sizes[dim])
    builder.before(op)
    taken = builder.one(
        hlo.slice_.name,
        table,
        result=TensorType(sizes, type.dtype),
        start_indices=tuple(starts),
        limit_indices=tuple(start + size for start, size in zip(starts, sizes, strict=True)),
        strides=(1,) * len(sizes),
    )
    result = type_of(op.results[0].type)
    return taken if type_of(taken.type) == result else builder.one(hlo.reshape.name, taken, result=result)


class Box(Struct, frozen=True):
    """A box of a tensor at a known place, and the update that it gets, of as many dimensions.

    `combine` is the operation of an element and what comes to it; None where that takes its place.
    """

    tensor: SSAValue
    update: SSAValue
    starts: tuple[int, ...]
    combine: str | None = None


def box_of(op: Operation) -> Box | None:
    """The box that dynamic_update_slice or a scatter of all dimensions writes; None for all else."""
    if op.name == hlo.dynamic_update_slice.name:
        tensor, update, *given = op.operands
        places = [splat_of(place) for place in given]
        sizes = zip(type_of(tensor.type).shape, type_of(update.type).shape, strict=True)
        if any(place is None for place in places):
            return None
        starts = [min(max(int(n), 0), size - part) for n, (size, part) in zip(places, sizes, strict=True)]
        return Box(tensor, update, tuple(starts))
    return _scattered(op) if op.name == hlo.scatter.name and len(op.results) == 1 else None


def _scattered(op: Operation) -> Box | None:
    tensor, indices, update = op.operands
    dims = cast(ScatterDims, python_of(op.properties["scatter_dimension_numbers"]))
    type, shape = type_of(tensor.type), type_of(update.type).shape
    vectors = [n for dim, n in enumerate(type_of(indices.type).shape) if dim != dims.index_vector_dim]
    if vectors or dims.update_window_dims != tuple(range(type.rank)):
        return None
    starts = [0] * type.rank
    for number, dim in enumerate(dims.scatter_dims_to_operand_dims):
        place = component(indices, number, dims.index_vector_dim)
        if place is None or not 0 <= place <= type.shape[dim] - shape[dim]:
            return None  # what does not fit is left out
        starts[dim] = place
    (block,) = op.regions[0].blocks
    *made, end = block.ops
    if end.operands[0] is block.args[1]:
        return Box(tensor, update, tuple(starts))
    combines = len(made) == 1 and has(made[0].name, Trait.ELEMENTWISE) and end.operands[0] in made[0].results
    if not combines or [*made[0].operands] != [*block.args]:
        return None
    return Box(tensor, update, tuple(starts), made[0].name)
