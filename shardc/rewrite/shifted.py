"""A slice to which as many constants are put at the other end -> the tensor, moved by some elements.

    %0 = stablehlo.slice %x [0:7] : (tensor<8xf32>) -> tensor<7xf32>
    %1 = stablehlo.concatenate %zeros, %0, dim = 0 : (tensor<1xf32>, tensor<7xf32>) -> tensor<8xf32>

->  %1 = stablehlo.pad %x, %zero, low = [1], high = [-1], interior = [0] : … -> tensor<8xf32>

So sequences are moved by a token, and the derivative of that is the slice, padded.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from msgspec import Struct
from xdsl.ir import Operation, SSAValue

from shardc.dialects.build import IRBuilder
from shardc.dialects.convert import python_of
from shardc.dialects.makers import made_by, owner
from shardc.dialects.types import type_of
from shardc.graph import Dense
from shardc.ops import hlo
from shardc.rewrite.constants import splat_of
from shardc.rewrite.remade import made_before
from shardc.rewrite.slice_ranges import WIDTHS, Ints, Range


def shifted(op: Operation, split: frozenset[int], builder: IRBuilder) -> SSAValue | None:
    """The padding, made before a concatenation or a pad of a slice; None of others, of one that is longer or
    shorter than what was sliced, and of one that moves along none of the dimensions that are `split`."""
    around = _joined(op) if op.name == hlo.concatenate.name else _padded(op)
    if around is None or not made_by(around.inside, hlo.slice_.name):
        return None
    part = owner(around.inside)
    taken, whole = Range.of(part), part.operands[0]
    type = type_of(whole.type)
    if taken is None or type.shape != type_of(op.results[0].type).shape:
        return None
    cut = tuple(size - limit for size, limit in zip(type.shape, taken.limits, strict=True))
    ends = [*zip(around.low, taken.starts, strict=True), *zip(around.high, cut, strict=True)]
    if any(more and less for more, less in ends):
        return None  # an end is cut off and another put there
    low, high = (tuple(more - less for more, less in ends[at : at + type.rank]) for at in (0, type.rank))
    if not any(low[dim] for dim in split):
        return None
    amounts = dict(zip(WIDTHS, (low, high, (0,) * type.rank), strict=True))
    moved = made_before(op, hlo.pad, [whole, around.scalar(op, builder)], type, **amounts)
    moved.name_hint = op.results[0].name_hint
    return moved


class _Around(Struct, frozen=True):
    """A value with one element around it, in each dimension so often below and above. `fill` is that element,
    or a constant of it alone."""

    inside: SSAValue
    fill: SSAValue
    low: Ints
    high: Ints

    def scalar(self, op: Operation, builder: IRBuilder) -> SSAValue:
        """The element, before an operation."""
        type = type_of(self.fill.type)
        if not type.rank:
            return self.fill
        builder.before(op)
        element = Dense(np.asarray(splat_of(self.fill)), ())
        return builder.one(hlo.constant.name, result=type.with_shape(()), value=element)


def _joined(op: Operation) -> _Around | None:
    """Of a concatenation of a value and a constant."""
    if len(op.operands) != 2:
        return None
    at = int(splat_of(op.operands[0]) is None)  # the constant's place
    if splat_of(op.operands[at]) is None:
        return None
    type, dim = type_of(op.operands[at].type), cast(int, python_of(op.properties["dimension"]))
    width = tuple(type.shape[dim] if each == dim else 0 for each in range(type.rank))
    none = (0,) * type.rank
    low, high = (none, width) if at else (width, none)
    return _Around(op.operands[1 - at], op.operands[at], low, high)


def _padded(op: Operation) -> _Around | None:
    """Of a pad that cuts nothing."""
    if op.name != hlo.pad.name:
        return None
    low, high, interior = (cast(Ints, python_of(op.properties[key])) for key in WIDTHS)
    if any(interior) or min((*low, *high), default=0) < 0:
        return None
    return _Around(op.operands[0], op.operands[1], low, high)
