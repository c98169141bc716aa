"""join-padded: sums of padded tensors that fill a dimension together -> their concatenation.

    %0 = stablehlo.pad %x, %zero, low = [7], high = [0], interior = [0] : (tensor<1xf32>, …) -> tensor<8xf32>
    %1 = stablehlo.pad %y, %zero, low = [0], high = [1], interior = [0] : (tensor<7xf32>, …) -> tensor<8xf32>
    %2 = stablehlo.add %0, %1 : tensor<8xf32>

becomes

    %0 = stablehlo.concatenate %y, %x, dim = 0 : (tensor<7xf32>, tensor<1xf32>) -> tensor<8xf32>
    %2 = stablehlo.add %0, %zeros : tensor<8xf32>              // -0.0 + 0.0 is 0.0; integers have no such sum

The derivative of a roll is written so, and of what is cut into parts. Padded, each part is sent to its
place by itself, and most of what is added is zeros. Of slices that are joined `join-slices` sees the roll.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from msgspec import Struct
from xdsl.ir import Operation, SSAValue

from shardc.dialects.build import IRBuilder
from shardc.dialects.convert import python_of
from shardc.dialects.locations import location_of
from shardc.dialects.makers import erase_unused, made_by, owner
from shardc.dialects.shared_graph import SharedGraph
from shardc.dialects.types import type_of
from shardc.graph import TensorType, is_integer
from shardc.ops import hlo
from shardc.passes.graph_pass import GraphPass
from shardc.rewrite.constants import is_splat, repeated
from shardc.rewrite.slice_ranges import WIDTHS
from shardc.rewrite.zeros import is_negative_zero


class JoinPadded(GraphPass):
    """Put concatenations in the place of sums of padded tensors."""

    name = "join-padded"

    def rewrite(self, shared: SharedGraph) -> bool:
        sums = [op for op in shared.snapshot().ops if op.name == hlo.add.name]
        builder, changed = IRBuilder(shared.module), False
        for op in sums:
            places = _places(op)
            if places and _fill(places, type_of(op.results[0].type)):
                _replace(op, places, builder)
                changed = True
        return changed


class _Place(Struct, frozen=True):
    """Where a padded tensor lies in one dimension of a sum, from the first element to behind the last."""

    dim: int
    start: int
    end: int
    tensor: SSAValue


def _places(op: Operation) -> list[_Place]:
    """The places of the terms of a sum of sums that nobody else uses, in order; none if one has none."""
    found, left = list[_Place](), [*op.operands]
    while left:
        value = left.pop()
        if made_by(value, hlo.add.name) and value.has_one_use():
            left = [*owner(value).operands, *left]  # last, since most sums have another term
            continue
        place = _place(value)
        if place is None:
            return []
        found.append(place)
    return sorted(found, key=lambda place: (place.start, place.end))


def _place(term: SSAValue) -> _Place | None:
    """The place of a tensor that is padded with zeros in one dimension, for a sum alone; None of others."""
    if not made_by(term, hlo.pad.name) or not term.has_one_use():
        return None
    pad = owner(term)
    tensor, zero = pad.operands
    low, high, interior = (cast("tuple[int, ...]", python_of(pad.properties[key])) for key in WIDTHS)
    dims = [dim for dim, widths in enumerate(zip(low, high, strict=True)) if any(widths)]
    if len(dims) != 1 or any(interior) or not is_splat(zero, 0) or is_negative_zero(zero):
        return None
    (dim,) = dims
    return _Place(dim, low[dim], low[dim] + type_of(tensor.type).shape[dim], tensor)


def _fill(places: list[_Place], type: TensorType) -> bool:
    """Whether tensors fill one dimension of a sum, each element once."""
    borders = [0, *(place.end for place in places)]
    if type.dtype == "bool" or len({place.dim for place in places}) != 1:
        return False
    return borders[:-1] == [place.start for place in places] and borders[-1] == type.shape[places[0].dim]


def _replace(op: Operation, places: list[_Place], builder: IRBuilder) -> None:
    """Put the concatenation, with what becomes of -0.0 in a sum, in the place of the sum."""
    result, type = op.results[0], type_of(op.results[0].type)
    parts = [place.tensor for place in places]
    builder.before(op)
    with builder.at(location_of(op.location)):
        joined = builder.one(hlo.concatenate.name, *parts, dimension=places[0].dim)
        owner(joined).attributes.update(op.attributes)
        if not is_integer(type.dtype):
            zeros = repeated(op, np.zeros((), type.numpy), builder)
            joined = builder.one(hlo.add.name, joined, zeros)
            owner(joined).attributes.update(op.attributes)
    joined.name_hint = result.name_hint
    result.replace_all_uses_with(joined)
    erase_unused(result)
