"""Parts without elements, as a scan in a tree (jax.lax.associative_scan) has of short arrays -> nothing.

%0 = stablehlo.concatenate %x, %none, dim = 0             ->    %x
%1 = stablehlo.pad %none, %c, low = [2], high = [6], …          %c, eight times
%2 = stablehlo.reduce(%none init: %c) …                         %c, as often as it has elements
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import Operation, SSAValue

from shardc.dialects.build import IRBuilder
from shardc.dialects.convert import python_of
from shardc.dialects.types import type_of
from shardc.ops import hlo
from shardc.rewrite.constants import repeated, splat_of


def of_the_others(op: Operation, builder: IRBuilder) -> SSAValue | None:
    """What is joined, padded or reduced without the operands that have no elements; None for all else."""
    element = element_around_nothing(op)
    if element is not None:
        return repeated(op, element, builder)
    if op.name != hlo.concatenate.name:
        return None
    parts = [value for value in op.operands if type_of(value.type).size]
    if len(parts) in (0, len(op.operands)):
        return None
    if len(parts) == 1:
        return parts[0]
    builder.before(op)
    return builder.one(hlo.concatenate.name, *parts, dimension=python_of(op.properties["dimension"]))


def element_around_nothing(op: Operation) -> Any:
    """The constant with which an operand without elements is padded, or a reduction of it begins; None of
    others.
    """
    if op.name not in (hlo.pad.name, hlo.reduce.name) or len(op.operands) != 2:
        return None
    return None if type_of(op.operands[0].type).size else splat_of(op.operands[1])
