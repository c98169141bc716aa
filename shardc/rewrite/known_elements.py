"""What a value is everywhere, where operations on constants alone make it.

    %0 = stablehlo.compare EQ, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>     // constants
    %1 = stablehlo.reduce(%0 init: %false) applies stablehlo.or across dimensions = []
    %2 = stablehlo.convert %1 : (tensor<i1>) -> tensor<i32>                          // 0 or 1

Nothing is rewritten: who asks is told before constants are computed. What a program becomes must not depend
on which floats it has (graph/any_number.py), so only those count that have a meaning of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.ir import Operation, SSAValue

from shardc.dialects.types import type_of
from shardc.graph.any_number import is_any
from shardc.ops import hlo
from shardc.rewrite.constants import EXACT, element_made, splat_of

_IDEMPOTENT = (hlo.and_.name, hlo.or_.name, hlo.maximum.name, hlo.minimum.name)


def known_element(value: SSAValue, given: Mapping[SSAValue, Any] | None = None) -> Any:
    """The element of a value, of NumPy's type; None where data decide, or a float that is any number, or it
    is rounded. `given` has those of values that nothing else tells, as of the arguments of a region."""
    known, left = dict(given or {}), [value]
    while left:
        if left[-1] in known:
            left.pop()
            continue
        element, op = splat_of(left[-1]), left[-1].owner
        if element is not None and is_any(element):
            return None
        if element is None:
            computes = _computes(op) if isinstance(op, Operation) else None
            if computes is None or not isinstance(op, Operation):
                return None
            unknown = [operand for operand in op.operands if operand not in known]
            if unknown:
                left += unknown
                continue
            element = element_made(computes, [known[operand] for operand in op.operands])
            if element is None:
                return None
        known[left.pop()] = element
    return known[value]


def _computes(op: Operation) -> Operation | None:
    """The operation on the elements of an operation's operands; None of what is not exact."""
    computes = _combination(op) if op.name == hlo.reduce.name else op
    return computes if computes is not None and computes.name in EXACT else None


def _combination(op: Operation) -> Operation | None:
    """The operation by which elements are combined, if twice the same is that again."""
    combine, end = op.regions[0].block.first_op, op.regions[0].block.last_op
    some = len(op.results) == 1 and type_of(op.operands[0].type).size
    if not some or combine is None or end is None or combine.name not in _IDEMPOTENT:
        return None
    plain = set(combine.operands) == set(op.regions[0].block.args) and [*end.operands] == [*combine.results]
    return combine if plain else None
