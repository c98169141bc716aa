"""Sums of an integer and two numbers -> of the integer and one number.

%1 = stablehlo.subtract %7, %i : tensor<i32>         ->    %2 = stablehlo.subtract %6, %i : tensor<i32>
%2 = stablehlo.subtract %1, %1_0 : tensor<i32>

Integers wrap around, so that the order of sums makes no difference. What is used elsewhere, too,
stays as it is.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from xdsl.ir import Operation, SSAValue

from shardc.dialects.build import IRBuilder
from shardc.dialects.locations import location_of
from shardc.dialects.types import type_of
from shardc.graph import is_integer
from shardc.ops import hlo
from shardc.rewrite.constants import repeated, splat_of

_SIGNS = {hlo.add.name: 1, hlo.subtract.name: -1}


class _Sum(Struct, frozen=True):
    """number + sign * value"""

    number: int
    sign: int
    value: SSAValue


def sum_of_numbers(op: Operation, builder: IRBuilder) -> SSAValue | None:
    """A sum or difference of a number and of what is such a sum itself, as one; None for all others."""
    outer = _sum(op)
    if outer is None or not isinstance(inner := outer.value.owner, Operation):
        return None
    found = _sum(inner) if outer.value.has_one_use() else None
    if found is None:
        return None
    number, sign = outer.number + outer.sign * found.number, outer.sign * found.sign
    if (number, sign) == (0, 1):
        return found.value
    name = hlo.add.name if sign > 0 and number > 0 else hlo.subtract.name
    type = type_of(op.results[0].type)
    size = np.asarray(-number if sign > 0 and number < 0 else number).astype(type.numpy)
    operands = [repeated(op, size, builder), found.value]
    with builder.at(location_of(op.location)):
        made = builder.one(name, *(operands[::-1] if sign > 0 else operands), result=type)
    assert isinstance(made.owner, Operation)
    made.owner.attributes.update(op.attributes)
    return made


def _sum(op: Operation) -> _Sum | None:
    """An operation on integers of a type with signs as the sum that it is, of a number and another value."""
    sign = _SIGNS.get(op.name)
    if sign is None or not is_integer(dtype := type_of(op.results[0].type).dtype) or dtype.startswith("u"):
        return None
    first, second = op.operands
    before, after = splat_of(first), splat_of(second)
    if before is not None and after is None:
        return _Sum(int(before), sign, second)
    return _Sum(sign * int(after), 1, first) if after is not None and before is None else None
