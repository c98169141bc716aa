"""Sums of what is placed into zeros -> sums of what is placed.

%1 = stablehlo.dynamic_update_slice %zeros, %v, %i       ->    %4 = stablehlo.reduce(%v init: 0) applies add
%2 = stablehlo.subtract %1, %w                                 %5 = stablehlo.reduce(%w init: 0) applies add
%3 = stablehlo.reduce(%2 init: 0) applies add                  %3 = stablehlo.subtract %4, %5

A device that holds a block of a tensor, and a partial sum of another, adds the block where it belongs. Where
all is summed, it does not matter where that is.
"""

from __future__ import annotations

from typing import cast

from xdsl.ir import Block, Operation, SSAValue

from shardc.dialects.build import IRBuilder
from shardc.dialects.convert import attribute_of, python_of
from shardc.dialects.locations import location_of
from shardc.dialects.types import type_of
from shardc.graph.marks import PARTIAL_OVER
from shardc.ops import hlo
from shardc.rewrite.constants import is_splat

_LINEAR = (hlo.add.name, hlo.subtract.name)


def sum_of_placed(op: Operation, builder: IRBuilder) -> SSAValue | None:
    """The sum, before it, without zeros; None where nothing is placed into zeros for it."""
    if op.name != hlo.reduce.name or len(op.operands) != 2:
        return None
    if not _adds(op) or not is_splat(op.operands[1], 0):
        return None
    dims = cast("tuple[int, ...]", python_of(op.properties["dimensions"]))
    summed = op.operands[0]
    placed = _placed(summed, dims)
    if placed is not None:
        return _sum(op, placed, summed)
    linear = summed.owner
    if not isinstance(linear, Operation) or linear.name not in _LINEAR or not summed.has_one_use():
        return None
    sides = [_placed(side, dims) for side in linear.operands]
    if sides == [None, None]:
        return None
    pairs = zip(sides, linear.operands, strict=True)
    terms = [_sum(op, own) if side is None else _sum(op, side, own) for side, own in pairs]
    builder.before(op)
    with builder.at(location_of(linear.location)):
        return builder.one(linear.name, *terms)


def _adds(op: Operation) -> bool:
    """Whether it combines by addition, in either order."""
    body = op.regions[0].block
    combine, end = body.first_op, body.last_op
    if combine is None or end is None or combine.name != hlo.add.name:
        return False
    return set(combine.operands) == set(body.args) and [*end.operands] == [*combine.results]


def _placed(value: SSAValue, dims: tuple[int, ...]) -> SSAValue | None:
    """What lies in a tensor of zeros that is used once, and is as large as that but in the dimensions."""
    owner = value.owner
    if not isinstance(owner, Operation) or owner.name != hlo.dynamic_update_slice.name:
        return None
    whole, update = owner.operands[0], owner.operands[1]
    sizes = zip(type_of(whole.type).shape, type_of(update.type).shape, strict=True)
    fits = all(size == own or dim in dims for dim, (size, own) in enumerate(sizes))
    return update if fits and value.has_one_use() and is_splat(whole, 0) else None


def _sum(op: Operation, value: SSAValue, whole: SSAValue | None = None) -> SSAValue:
    """The sum of another value, before the operation, over the same dimensions.

    It is partial where that is, and where the tensor is that the value is placed in.
    """
    made = op.clone()
    made.operands[0] = value
    over = [*_partial_over(op), *(_partial_over(whole.owner) if whole is not None else ())]
    if over:
        made.attributes[PARTIAL_OVER] = attribute_of(PARTIAL_OVER, tuple(dict.fromkeys(over)))
    block = op.parent_block()
    assert block is not None
    block.insert_op_before(made, op)
    return made.results[0]


def _partial_over(op: Operation | Block) -> tuple[str, ...]:
    """The axes over which an operation makes something partial."""
    held = op.attributes.get(PARTIAL_OVER) if isinstance(op, Operation) else None
    return () if held is None else cast("tuple[str, ...]", python_of(held))
